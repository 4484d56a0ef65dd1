"""Guards made of a configuration, and those that a program brings along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import parse
from dragoman.errors import ConfigError, Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.base import Guarded
from dragoman.policy.guards.range import RangeGuard
from dragoman.service.assemble import Host, rules_of

_CALL = Call(id="c", name="t")
_ALL = """
[servers.s]
command = ["x"]
[servers.s.tools.t.guards]
sql = { argument = "q", dialect = "sqlite", limit = 5 }
path = { argument = "p", roots = ["data"] }
url = { argument = "u", hosts = ["*.example.com"] }
email = { argument = "e", domains = ["example.com"] }
shell = { argument = "c", commands = ["git status"] }
regex = { argument = "r", pattern = "[a-z]+" }
range = { argument = "n", min = 1, max = 9 }
[servers.s.tools."n*".guards]
range = { argument = "n", max = 5 }
"""


def test_every_kind_of_the_file_becomes_its_guard(tmp_path: Path) -> None:
    """What ``policy explain`` says of each; roots count from the file."""
    rules = rules_of(parse(_ALL, tmp_path / "dragoman.toml").servers["s"])
    assert [guarded.describe() for guarded in rules.settings("t").guards] == [
        "sql on q (sqlite, SELECT only, LIMIT 5)",
        f"path on p (below {tmp_path}/data)",
        "url on u (https, http; *.example.com; public addresses only)",
        "email on e (addresses at example.com)",
        "shell on c (git status)",
        "regex on r (the whole text matches [a-z]+)",
        "range on n (at least 1 and at most 9)",
    ]
    assert [guarded.exact for guarded in rules.settings("next").guards] == [False]


async def test_a_relative_path_starts_where_the_server_starts(tmp_path: Path) -> None:
    """Its ``cwd``, else the folder of the file."""
    text = '[servers.s]\ncommand = ["x"]\ncwd = "data"\n[servers.s.tools.t.guards]\npath = { argument = "p", roots = ["data"] }\n'
    guard = rules_of(parse(text, tmp_path / "dragoman.toml").servers["s"]).settings("t").guards[0].guard
    assert await guard.check("a.txt", _CALL) == str(tmp_path / "data" / "a.txt")
    assert isinstance(await guard.check("../a.txt", _CALL), Problem)


def test_guards_of_the_program_stand_beside_those_of_the_file(tmp_path: Path) -> None:
    """The seam of ``Host.from_config``."""
    server = parse(_ALL, tmp_path / "dragoman.toml").servers["s"]
    own: dict[str, Any] = {"s.n*": [Guarded(RangeGuard(2), "n")], "other.n": [Guarded(RangeGuard(3), "n")]}
    found = rules_of(server, own).settings("next").guards
    assert [guarded.describe() for guarded in found] == ["range on n (at most 5)", "range on n (at least 2)"]
    assert not any(guarded.exact for guarded in found)


@pytest.mark.parametrize("key", ["t", "nowhere.t", "s.", ".t"])
def test_guards_for_a_server_that_is_not_there_are_refused(tmp_path: Path, key: str) -> None:
    """They would guard nothing, in silence."""
    file = tmp_path / "dragoman.toml"
    file.write_text('[servers.s]\ncommand = ["x"]\n')
    with pytest.raises(ConfigError, match="no such server"):
        Host.from_config(file, guards={key: [Guarded(RangeGuard(1), "n")]})
