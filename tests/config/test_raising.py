"""``raise``, ``enabled`` and ``trust`` in a file: what is read, what is refused with file and line, what is written back."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.load import parse
from dragoman.config.model import RaiseConfig
from dragoman.config.write import add_server
from dragoman.errors import ConfigError
from dragoman.service.assemble import rules_of

HEAD = '[servers.s]\ncommand = ["x"]\n'
WHOLE = HEAD + 'trust = "low"\n[servers.s.tools]\npay = { tier = "L1", raise = [{ when = "amount > 100", tier = "L3" }], enabled = true }\n'


def test_rules_are_read_and_name_their_place() -> None:
    """Our file."""
    server = parse(WHOLE, Path("c.toml")).servers["s"]
    assert server.trust == "low"
    assert server.tools["pay"].raises == (RaiseConfig("amount > 100", "L3"),)
    rules = rules_of(server)
    assert rules.raises("pay")[0].rule == "servers.s.tools.pay.raise[0]"
    assert rules.enabled("pay")
    assert rules.decide("pay").tier == "L2"
    assert rules.said("pay").tier == "L1"


def test_what_is_written_is_read_as_the_same(tmp_path: Path) -> None:
    """A server that is moved to another file keeps what makes it stricter."""
    server = parse(WHOLE, Path("c.toml")).servers["s"]
    written = add_server(tmp_path / "d.toml", server).servers["s"]
    assert (written.trust, written.tools) == (server.trust, server.tools)


def test_a_changed_rule_is_a_changed_server() -> None:
    """A project file is approved with its rules, its trust and what it switches on."""
    hashes = {
        parse(text, Path("c.toml")).servers["s"].launch_hash()
        for text in (WHOLE, WHOLE.replace("100", "200"), WHOLE.replace("low", "normal"), WHOLE.replace("true", "false"))
    }
    assert len(hashes) == 4


@pytest.mark.parametrize(
    ("tool", "says"),
    [
        ('{ raise = "x" }', "c.toml:4: servers.s.tools.pay.raise: expected an array of tables"),
        ("{ raise = [3] }", "expected a table with when and tier"),
        ('{ raise = [{ tier = "L3" }] }', "needs a condition"),
        ('{ raise = [{ when = "a > 1" }] }', "needs a tier"),
        ('{ raise = [{ when = "a > 1", tier = "off" }] }', "expected one of L1, L2, L3, got 'off'"),
        ('{ raise = [{ when = "a > 1", tier = "L0" }] }', "expected one of L1, L2, L3, got 'L0'"),
        (
            '{ raise = [{ when = "a >", tier = "L2" }] }',
            "c.toml:4: servers.s.tools.pay.raise[0].when: 'a >' is no condition: expected a number",
        ),
        ('{ raise = [{ when = "a > 1", tier = "L2", then = 1 }] }', "unknown key"),
        ("{ enabled = 1 }", "expected true or false"),
    ],
)
def test_what_is_no_rule_is_refused_with_file_and_line(tool: str, says: str) -> None:
    """Nothing is started then."""
    with pytest.raises(ConfigError) as caught:
        parse(HEAD + f"[servers.s.tools]\npay = {tool}\n", Path("c.toml"))
    assert says in str(caught.value)


def test_a_pattern_switches_nothing_on_and_trust_is_one_of_two_words() -> None:
    """By its name: a pattern would switch on tools that nobody has seen."""
    with pytest.raises(ConfigError, match="for one tool by its name"):
        parse(HEAD + '[servers.s.tools]\n"pay*" = { tier = "L3", enabled = true }\n', Path("c.toml"))
    with pytest.raises(ConfigError, match='expected "normal" or "low", got \'high\''):
        parse(HEAD + 'trust = "high"\n', Path("c.toml"))
