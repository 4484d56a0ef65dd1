"""The guards of a tool in a file: which kinds and options there are, and the sentence for each thing that is wrong."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import msgspec
import pytest

from dragoman.config.describe import describe
from dragoman.config.guards import as_written
from dragoman.config.load import parse
from dragoman.config.model import Config, GuardConfig
from dragoman.errors import ConfigError

_HEAD = '[servers.s]\ncommand = ["x"]\n[servers.s.tools.t]\nguards = '


def _parse(guards: str) -> Config:
    return parse(_HEAD + guards + "\n", Path("dragoman.toml"))


def _guards(text: str) -> tuple[GuardConfig, ...]:
    return _parse(text).servers["s"].tools["t"].guards


def test_a_guard_is_read_with_its_options() -> None:
    """DESIGN: the shape of the key."""
    assert _guards('{ sql = { argument = "sql", dialect = "postgres", limit = 1000 } }') == (
        GuardConfig("sql", ("sql",), {"dialect": "postgres", "limit": 1000}),
    )


def test_several_arguments_and_several_guards_of_a_kind() -> None:
    """Our choice: two paths of one tool may have two roots."""
    paths = '{ argument = ["a", "/b/*/c"], roots = ["x"] }, { argument = "d", roots = ["y"], resolve = false }'
    found = _guards(f'{{ path = [{paths}], range = {{ argument = "n", max = 5 }} }}')
    assert [(one.kind, one.arguments) for one in found] == [("path", ("a", "/b/*/c")), ("path", ("d",)), ("range", ("n",))]
    assert found[1].options == {"roots": ("y",), "resolve": False}
    assert as_written(found)["path"][1] == {"argument": ["d"], "roots": ["y"], "resolve": False}


def test_guards_are_shown_and_belong_to_what_was_approved() -> None:
    """A project file that loses a guard has to be approved again."""
    with_guard, without = _parse('{ range = { argument = "n", max = 5 } }'), _parse("{}")
    assert with_guard.servers["s"].launch_hash() != without.servers["s"].launch_hash()
    assert b'"max":5' in msgspec.json.encode(describe(with_guard))
    assert b"guards" not in msgspec.json.encode(describe(without))


@pytest.mark.parametrize(
    ("guards", "complaint"),
    [
        ('{ sqll = { argument = "a" } }', 'did you mean "sql"'),
        ("{ sql = 1 }", "expected a table"),
        ("{ path = [1] }", "expected a table"),
        ("1", "expected a table"),
        ('{ sql = { dialect = "postgres" } }', "needs 'argument'"),
        ('{ sql = { argument = "a" } }', "needs 'dialect'"),
        ('{ sql = { argument = "a", dialect = "klingon" } }', "expected one of postgres, mysql"),
        ('{ sql = { argument = "a", dialect = "postgres", limit = 0 } }', "at least 1"),
        ('{ sql = { argument = "a", dialect = "postgres", kinds = ["drop"] } }', "expected one of select"),
        ('{ sql = { argument = "a", dialect = "postgres", lmit = 5 } }', 'did you mean "limit"'),
        ('{ sql = { argument = "", dialect = "postgres" } }', "empty text"),
        ('{ sql = { argument = [], dialect = "postgres" } }', "empty text"),
        ('{ path = { argument = "a" } }', "needs 'roots'"),
        ('{ path = { argument = "a", roots = [] } }', "cannot be empty"),
        ('{ path = { argument = "a", roots = ["/"] } }', "everything lies below it"),
        ('{ url = { argument = "a", ports = [70000] } }', "list of ports"),
        ('{ url = { argument = "a", private = "no" } }', "true or false"),
        ('{ email = { argument = "a" } }', "needs 'domains'"),
        ('{ regex = { argument = "a" } }', "needs 'pattern'"),
        ('{ range = { argument = "a" } }', "needs 'min' or 'max'"),
        ('{ range = { argument = "a", min = 5, max = 1 } }', "above max"),
        ('{ range = { argument = "a", min = "5" } }', "expected a number"),
    ],
)
def test_what_is_wrong_is_refused_with_its_key(guards: str, complaint: str) -> None:
    """A guard that is not there as it was meant would be worse than none."""
    with pytest.raises(ConfigError, match=complaint) as caught:
        _parse(guards)
    assert (caught.value.key or "").startswith("servers.s.tools.t.guards")


def test_sql_without_its_extra_is_refused_with_the_extras_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs an absent extra is refused, not left out."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs the extra 'sql'") as caught:
        _parse('{ sql = { argument = "a", dialect = "sqlite" } }')
    assert caught.value.hint == "pip install 'dragoman[sql]'"
