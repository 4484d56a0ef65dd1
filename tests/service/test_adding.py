"""Looking at a server before it is added: what is proposed, what would be written, what is warned about."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.load import load_file
from dragoman.errors import ConfigError, ConnectFailed
from dragoman.service.adding import propose, write_down
from dragoman.service.context import Context
from dragoman.service.notes import agreement
from dragoman.service.plumbing import Plumbing
from dragoman.service.policy import set_tier
from tests.transports.loopback import Exchange, loopback

SERVERS = Path(__file__).parent.parent / "servers"
HEAD = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def context(folder: Path, **env: str) -> Context:
    return Context(env={**os.environ, **env}, cwd=folder)


def tool(name: str, **annotations: bool) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, "annotations": annotations}


async def modern(exchange: Exchange) -> None:
    """A stateless server with four tools, which claim different things."""
    message = exchange.message
    tools = [tool("wobble", readOnlyHint=True), tool("wibble", destructiveHint=False), tool("find", destructiveHint=True)]
    result: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **HEAD}
    if message["method"] == "tools/list":
        result = {"tools": [*tools, tool("silent")], **HEAD}
    exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_a_servers_claims_never_make_a_call_easier(tmp_path: Path) -> None:
    """DESIGN: annotations are claims that may only raise the tier, and a new tool is L2."""
    async with loopback(modern) as server:
        proposal = await propose("far", [server.url], context(tmp_path))
    assert {item.tool.name: item.tier for item in proposal.tools} == dict.fromkeys(["wobble", "wibble", "find", "silent"], "L2")
    assert [item.claims for item in proposal.tools] == [("reads only",), ("only adds",), ("destroys",), ()]
    assert proposal.era == "modern"
    assert not proposal.file.exists()


async def several(exchange: Exchange) -> None:
    """A stateless server with a tool of each tier."""
    message = exchange.message
    result: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **HEAD}
    if message["method"] == "tools/list":
        result = {"tools": [tool(name) for name in ("list_notes", "create_note", "delete_note", "drop_database")], **HEAD}
    exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_what_a_person_agrees_to_has_tiers_and_reasons_and_no_l1_without_an_undo(tmp_path: Path) -> None:
    """Our contract: the name speaks for a tier; L1 needs a way back, so without one it is L2, and the proposal says so."""
    here = context(tmp_path)
    async with loopback(several) as server:
        proposal = await propose("far", [server.url], here)
    assert {item.tool.name: (item.tier, item.proposed) for item in proposal.tools} == {
        "list_notes": ("L0", "L0"),
        "create_note": ("L2", "L1"),
        "delete_note": ("L2", "L2"),
        "drop_database": ("L3", "L3"),
    }
    reasons = {item.tool.name: item.reason for item in proposal.tools}
    assert reasons["list_notes"] == '"list" in its name'
    assert reasons["create_note"].endswith("L1 once an undo is named")
    tools = proposal.for_json()["tools"]
    assert isinstance(tools, list)
    assert tools[3] == {"name": "drop_database", "tier": "L3", "proposed": "L3", "reason": '"drop" in its name', "claims": []}
    await write_down(proposal, here, agreement("terminal", terminal=True))
    written = load_file(proposal.file).servers["far"].tools
    assert {name: rule.tier for name, rule in written.items()} == {item.tool.name: item.tier for item in proposal.tools}


async def test_where_nobody_looks_every_tool_is_l2(tmp_path: Path) -> None:
    """Our contract: ``--yes`` writes everything as L2."""
    async with loopback(several) as server:
        proposal = await propose("far", [server.url], context(tmp_path), cautious=True)
    assert {item.tier for item in proposal.tools} == {"L2"}
    assert [item.proposed for item in proposal.tools] == ["L0", "L1", "L2", "L3"]


async def test_a_pattern_takes_the_place_of_what_add_proposed_but_not_of_what_was_stricter(tmp_path: Path) -> None:
    """A pattern is what the person says now; an L3 that they agreed to stays until they name it."""
    here = context(tmp_path)
    async with loopback(several) as server:
        proposal = await propose("far", [server.url], here)
    await write_down(proposal, here, agreement("terminal", terminal=True))
    change = await set_tier("far.*", "L2", context(tmp_path), agreement("command", terminal=False))
    assert set(change.dropped) == {"list_notes", "create_note", "delete_note"}
    assert change.covered == ["drop_database"]


async def test_a_header_by_variable_is_sent_and_written_as_the_variable(tmp_path: Path) -> None:
    """The server is looked at with what its file will say, so that what was written is known to work."""
    here = context(tmp_path, FAR_TOKEN="sesame-open-42")
    async with loopback(modern) as server:
        proposal = await propose("far", [server.url], here, headers=["Authorization: Bearer ${env:FAR_TOKEN}"])
        sent = {request.header("Authorization") for request in server.requests}
    assert sent == {"Bearer sesame-open-42"}
    assert proposal.warnings == ()
    await write_down(proposal, here, agreement("terminal", terminal=True))
    assert load_file(proposal.file).servers["far"].headers == {"Authorization": "Bearer ${env:FAR_TOKEN}"}
    assert "sesame" not in proposal.file.read_text()


async def test_a_secret_by_value_is_warned_about_and_never_shown(tmp_path: Path) -> None:
    """Headers and flags that look secret; a person may still want them in the file."""
    async with loopback(modern) as server:
        proposal = await propose("far", [server.url], context(tmp_path), headers=["X-Api-Key: abcdefgh12345678"])
    assert "X-Api-Key looks like a secret" in proposal.warnings[0]
    assert "abcdefgh" not in repr(proposal.facts) + proposal.warnings[0]
    command = [sys.executable, str(SERVERS / "dual.py"), "--api-key", "abcdefgh12345678"]
    by_flag = await propose("near", command, context(tmp_path))
    assert "--api-key looks like a secret" in by_flag.warnings[0]
    assert "abcdefgh" not in repr(by_flag.facts) + by_flag.warnings[0]


async def test_a_server_that_cannot_be_reached_leaves_nothing_behind(tmp_path: Path) -> None:
    """No file, no health row, no note."""
    here = context(tmp_path)
    with pytest.raises(ConnectFailed):
        await propose("far", ["http://127.0.0.1:9/mcp"], here)
    assert list(tmp_path.iterdir()) == []
    plumbing = Plumbing(here.store_path)
    await plumbing.open()
    try:
        assert await plumbing.store.health(here.scope) == {}
        assert await plumbing.store.tail() == []
    finally:
        await plumbing.close()


@pytest.mark.parametrize(
    ("words", "options", "says"),
    [
        (["ftp://example.org/x"], {}, "expected a URL with http://"),
        (["http://127.0.0.1:9/mcp"], {"env": ["A=b"]}, "--env is for commands"),
        (["python3"], {"headers": ["A: b"]}, "--header is for URLs"),
        (["python3 'unclosed"], {}, "cannot be split"),
        (["python3"], {"timeout_s": -1.0}, "makes no sense"),
    ],
)
async def test_what_makes_no_sense_is_refused_before_anything_starts(
    words: list[str], options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    """Usage errors, with exit code 2."""
    with pytest.raises(ConfigError, match=says):
        await propose("x", words, context(tmp_path), **options)


async def test_names_that_cannot_stand_in_a_file_follow_the_default(tmp_path: Path) -> None:
    """Control and invisible characters, an empty name; the first of two tools of one name counts."""
    here = context(tmp_path)
    proposal = await propose("odd", [sys.executable, str(SERVERS / "tool_names.py")], here)
    left_out = {item.tool.name for item in proposal.tools if not item.written}
    assert left_out == {"", "new\nline", "\x1b[31mred", "zero\u200bwidth"}
    assert sum(item.tool.name == "plain" for item in proposal.tools) == 1
    await write_down(proposal, here, agreement("--yes", terminal=False))
    written = load_file(proposal.file).servers["odd"]
    assert set(written.tools) == {item.tool.name for item in proposal.tools} - left_out
