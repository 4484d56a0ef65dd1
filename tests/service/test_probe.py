"""Probing a server that nobody configured: the whole report, or one clear error; and it is gone afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, ConnectFailed, DragomanError, SpawnFailed
from dragoman.service.context import Context
from dragoman.service.probe import probe
from dragoman.service.targets import client_for, passed_names, target_of
from tests.service.hosting import demo, odd


@pytest.mark.parametrize(("name", "era", "revision"), [("legacy", "legacy", "2025-11-25"), ("modern", "modern", "2026-07-28")])
async def test_report_says_all_there_is_to_say(name: str, era: str, revision: str, tmp_path: Path) -> None:
    """The documented seven keys, and more after them."""
    context = Context(cwd=tmp_path)
    wire: list[str] = []
    report = await probe(target_of(demo(name), context), context, tap=lambda direction, message: wire.append(direction))
    assert (report.era, report.revision, len(report.tools)) == (era, revision, 15)
    shown = json.loads(json.dumps(report.for_json()))
    assert list(shown)[:7] == ["era", "revision", "server", "capabilities", "instructions", "tools", "timings_ms"]
    assert shown["server"] == {"name": {"legacy": "harbour", "modern": "bazaar"}[name], "version": "1.0.0"}
    assert set(shown["timings_ms"]) == {"connect", "list_tools", "close", "total"}
    assert "PATH" in shown["environment"]
    assert {"→", "←"} == set(wire)
    assert not (tmp_path / "dragoman.toml").exists()


async def test_what_is_wrong_with_a_server_is_in_the_report(tmp_path: Path) -> None:
    """Broken tools set aside, protocol broken: counted, not fatal."""
    context = Context(cwd=tmp_path)
    report = await probe(target_of(odd("broken_tool"), context), context)
    names = {tool.name for tool in report.tools}
    assert names >= {"echo", "nulls", "subs", "draft7"}
    assert len(names) + len(report.flaws) == 10
    noisy = await probe(target_of(odd("banner"), context), context)
    assert sum(noisy.violations.values()) > 0


@pytest.mark.parametrize(
    ("command", "timeout_s", "error", "words"),
    [
        (odd("exits_at_once"), None, SpawnFailed, "HARBOUR_KEY is not set"),
        (odd("hangs"), 0.4, ConnectFailed, "did not answer the handshake within 0.4 s"),
        (["/nonexistent/server"], None, SpawnFailed, "/nonexistent/server"),
    ],
)
async def test_server_that_cannot_be_used_is_one_clear_error(
    command: list[str], timeout_s: float | None, error: type[DragomanError], words: str, tmp_path: Path
) -> None:
    """Its process is gone (the fixture looks)."""
    context = Context(cwd=tmp_path)
    with pytest.raises(error, match=words):
        await probe(target_of(command, context, timeout_s=timeout_s), context)


async def test_state_folder_that_cannot_be_used_is_one_clear_error(tmp_path: Path) -> None:
    """Before anything is started."""
    (tmp_path / "file").write_text("")
    context = Context(env={**os.environ, "DRAGOMAN_HOME": str(tmp_path / "file")}, cwd=tmp_path)
    with pytest.raises(ConfigError, match="cannot create the folder"):
        await probe(target_of(demo("legacy"), context), context)


async def test_target_gets_the_variables_that_are_named_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the context, not of the process; what is shown is what is passed."""
    monkeypatch.setenv("HTTPS_PROXY", "http://leak.invalid")
    env = {"PATH": os.environ["PATH"], "LANG": "C", "SHY": "s", "DRAGOMAN_HOME": os.environ["DRAGOMAN_HOME"]}
    context = Context(env=env, cwd=tmp_path)
    target = target_of(odd("env_dump"), context, env=["SHY", "OWN=1"])
    async with client_for(target, context) as client:
        facts = json.loads((await client.call_tool("echo", {"text": ""})).text)
    given = {
        name: value for name, value in facts["env"].items() if name not in ("LC_CTYPE", "DRAGOMAN_SERVER")
    }  # the interpreter's, and the mark that every server gets
    assert given == {"PATH": env["PATH"], "LANG": "C", "SHY": "s", "OWN": "1"}
    assert passed_names(target, context) == sorted(given)
    assert facts["cwd"] == str(tmp_path)
