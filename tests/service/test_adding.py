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
    tools = [tool("claims_read", readOnlyHint=True), tool("claims_add", destructiveHint=False), tool("claims_harm", destructiveHint=True)]
    result: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **HEAD}
    if message["method"] == "tools/list":
        result = {"tools": [*tools, tool("silent")], **HEAD}
    exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "result": result})


async def test_a_servers_claims_never_make_a_call_easier(tmp_path: Path) -> None:
    """DESIGN: annotations are claims that may only raise the tier, and a new tool is L2."""
    async with loopback(modern) as server:
        proposal = await propose("far", [server.url], context(tmp_path))
    assert {item.tool.name: item.tier for item in proposal.tools} == dict.fromkeys(
        ["claims_read", "claims_add", "claims_harm", "silent"], "L2"
    )
    assert [item.claims for item in proposal.tools] == [("reads only",), ("only adds",), ("destroys",), ()]
    assert proposal.era == "modern"
    assert not proposal.file.exists()


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
