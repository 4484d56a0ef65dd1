"""L3 on and off: by its name, on a terminal, and then asked about twice."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from .program import LEGACY, Terminal, run

TOOL = "h.echo"


def _config(folder: Path, tool: str = '{ tier = "L3" }', more: str = "") -> None:
    words = ", ".join(f'"{word}"' for word in LEGACY)
    (folder / "dragoman.toml").write_text(f"[servers.h]\ncommand = [{words}]\n{more}\n[servers.h.tools]\necho = {tool}\n")


def _run(*words: str, cwd: Path) -> Any:
    return run("--config", "dragoman.toml", *words, cwd=cwd)


def _tools(folder: Path) -> Any:
    return tomllib.loads((folder / "dragoman.toml").read_text())["servers"]["h"]["tools"]


def test_an_l3_tool_is_switched_on_by_typing_its_name_and_off_by_a_command(tmp_path: Path) -> None:
    """Our contract: a terminal, the name, a record; off again needs neither."""
    _config(tmp_path)
    with Terminal("--config", "dragoman.toml", "tier", "--enable", TOOL, cwd=tmp_path) as terminal:
        terminal.expect("Type the tool's name")
        terminal.type("echo")
        assert terminal.end() == 0
    assert _tools(tmp_path) == {"echo": {"tier": "L3", "enabled": True}}
    assert _run("tier", "--disable", TOOL, cwd=tmp_path).code == 0
    assert _tools(tmp_path) == {"echo": {"tier": "L3"}}
    notes = [
        record for record in run("audit", "tail", "--json", cwd=tmp_path).json["records"] if record["event"].startswith("tool switched")
    ]
    said = {record["event"]: (record["tool"], record["detail"]["how"], record["detail"]["terminal"]) for record in notes}
    assert said == {"tool switched on": ("echo", "terminal", True), "tool switched off": ("echo", "command", False)}


def test_nothing_is_switched_on_without_a_terminal_with_yes_or_by_a_wrong_name(tmp_path: Path) -> None:
    """Our contract: exit 3, and the file as it was."""
    _config(tmp_path)
    before = (tmp_path / "dragoman.toml").read_text()
    nobody = _run("tier", "--enable", TOOL, cwd=tmp_path)
    assert (nobody.code, "there is no terminal to ask on" in nobody.err) == (3, True)
    yes = _run("tier", "--enable", TOOL, "--yes", cwd=tmp_path)
    assert (yes.code, "--yes does not cover L3" in yes.err) == (3, True)
    with Terminal("--config", "dragoman.toml", "tier", "--enable", TOOL, cwd=tmp_path) as terminal:
        terminal.expect("Type the tool's name")
        terminal.type("y")
        assert terminal.end() == 3
    assert (tmp_path / "dragoman.toml").read_text() == before


def test_what_is_not_l3_and_what_is_a_pattern_cannot_be_switched_on(tmp_path: Path) -> None:
    """Exit 2: there is nothing to ask a person about."""
    _config(tmp_path, '"L2"')
    for words, says in ((TOOL, "there is nothing to switch on"), ("h.*", "is a pattern")):
        refused = _run("tier", "--enable", words, cwd=tmp_path)
        assert (refused.code, says in refused.err) == (2, True)


def test_a_call_of_l3_is_approved_twice_the_second_time_in_own_words(tmp_path: Path) -> None:
    """Our contract: the arguments, then the intent, which the audit keeps."""
    _config(tmp_path, '{ tier = "L3", enabled = true }')
    with Terminal("--config", "dragoman.toml", "call", TOOL, "text=hello", cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N")
        terminal.type("y")
        terminal.expect("What is it for?")
        terminal.type("y")  # says nothing
        terminal.expect("At least two words")
        terminal.type("settle the bill")
        assert terminal.end() == 0, terminal.seen
    ended = [record for record in run("audit", "tail", "--json", cwd=tmp_path).json["records"] if record["event"] == "ended"][-1]
    approval = ended["detail"]["approval"]
    assert (approval["step"], approval["reason"], approval["how"]) == ("intent", "settle the bill", "terminal")
    assert ended["detail"]["approval_of_arguments"]["verdict"] == "allow"


def test_no_intent_is_no_approval_and_yes_never_covers_l3(tmp_path: Path) -> None:
    """Our contract: nothing is sent."""
    _config(tmp_path, '{ tier = "L3", enabled = true }')
    with Terminal("--config", "dragoman.toml", "call", TOOL, "text=hello", cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N")
        terminal.type("y")
        terminal.expect("What is it for?")
        terminal.type("")
        assert terminal.end() == 3
    yes = _run("call", TOOL, "text=hello", "--yes", cwd=tmp_path)
    assert (yes.code, "--yes does not cover L3" in yes.err) == (3, True)
    events = [record["event"] for record in run("audit", "tail", "--json", cwd=tmp_path).json["records"]]
    assert "sending" not in events


def test_explain_tells_which_rule_raises_a_call(tmp_path: Path) -> None:
    """Our contract: the rule is named, for these arguments."""
    rule = '{ tier = "L0", raise = [{ when = "text contains \'pay\'", tier = "L3" }] }'
    _config(tmp_path, rule)
    plain = _run("policy", "explain", TOOL, "--json", cwd=tmp_path).json
    assert plain["tier"] == "L0"
    raised = _run("policy", "explain", TOOL, "--args", '{"text": "Pay me"}', "--json", cwd=tmp_path).json
    assert (raised["tier"], raised["rule"]) == ("L3", "servers.h.tools.echo.raise[0] (text contains 'pay')")
    assert "switched off" in raised["layers"][1]["here"]
    refused = _run("call", TOOL, "text=pay", cwd=tmp_path)
    assert (refused.code, "raise[0]" in refused.err) == (3, True)
    assert _run("call", TOOL, "text=hello", cwd=tmp_path).out == "hello\n"


def test_little_trust_raises_every_tool_of_a_server(tmp_path: Path) -> None:
    """Our contract: what was L0 is L1, and the reason says so."""
    _config(tmp_path, '"L0"', 'trust = "low"\ndefault_tier = "L1"')
    run("--config", "dragoman.toml", "status", "--check", cwd=tmp_path)
    tools = {tool["name"]: tool for tool in _run("tier", "--json", cwd=tmp_path).json["tools"]}
    assert (tools["echo"]["tier"], tools["search"]["tier"]) == ("L1", "L2")
    assert "servers.h.trust" in tools["echo"]["rule"]
