"""
Client revision × server revision × channel: what really happens, and docs/matrix.md that says so.

`python -m tests.matrix` measures every cell and writes the page; tests/test_matrix.py measures again and says what is right. The servers:
on stdio those of tests/servers and the demo servers; over HTTP the demo servers where they speak just those revisions, and endpoints of
this file otherwise; on the other channels one of this file.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final

import dragoman
import dragoman.demo
from dragoman import ConnectFailed, VersionMismatch
from dragoman.protocol.actions import Send
from dragoman.runtime.eras import RememberedEras
from dragoman.transports.base import Received, Report, Transport
from dragoman.transports.memory import MemoryTransport, memory_pair
from dragoman.wire.revisions import ALL, LEGACY, MODERN
from tests.transports.loopback import Exchange, loopback
from tests.transports.unix_peer import listening, listening_on_a_port
from tests.transports.ws_peer import answering, serving

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "matrix.md"
DEMO: Final = Path(dragoman.demo.__file__).parent
ODD: Final = ROOT / "tests" / "servers"
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENTS: Final = (None, *ALL)
SERVERS: Final[tuple[tuple[str, ...], ...]] = (*((revision,) for revision in ALL), LEGACY, ALL)
CHANNELS: Final = ("stdio", "Unix domain socket", "TCP", "in memory", "Streamable HTTP", "HTTP+SSE", "WebSocket")
AT_ONCE: Final = 6

Json = dict[str, Any]
Target = Sequence[str] | str | Transport
Make = Callable[[], Awaitable[Target]]


# --- one polite server, as a function -----------------------------------------------------------------------------------


def answer_as(speaks: tuple[str, ...], message: Json) -> Json | None:
    """The reply of a server that speaks these revisions; None for what needs none."""
    method, params, legacy = message.get("method"), message.get("params") or {}, [one for one in speaks if one in LEGACY]
    if method is None or "id" not in message:
        return None
    stated = (params.get("_meta") or {}).get(VERSION)
    modern = MODERN[0] in speaks and stated is not None
    head: Json = {"jsonrpc": "2.0", "id": message["id"]}
    if not legacy and not (modern and stated in speaks):
        asked = str(stated or params.get("protocolVersion"))
        error = {"code": -32022, "message": "Unsupported protocol version", "data": {"supported": list(speaks), "requested": asked}}
        return {**head, "error": error}
    info = {"name": "matrix", "version": "1"}
    extra: Json = {"resultType": "complete"} if modern else {}
    cached: Json = {"ttlMs": 0, "cacheScope": "private"} if modern else {}
    match method:
        case "initialize":
            agreed = params["protocolVersion"] if params["protocolVersion"] in legacy else legacy[0]
            return {**head, "result": {"protocolVersion": agreed, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "server/discover" if modern:
            meta = {"io.modelcontextprotocol/serverInfo": info}
            return {**head, "result": {"supportedVersions": list(MODERN), "capabilities": {"tools": {}}, "_meta": meta, **cached, **extra}}
        case "tools/call":
            return {**head, "result": {"content": [{"type": "text", "text": "ok"}], **extra}}
    return {**head, "error": {"code": -32601, "message": f"Method not found: {method}"}}


def lines_of(speaks: tuple[str, ...]) -> Callable[[bytes], list[bytes] | None]:
    def answer(line: bytes) -> list[bytes]:
        reply = answer_as(speaks, json.loads(line))
        return [] if reply is None else [json.dumps(reply).encode()]

    return answer


def posts_of(speaks: tuple[str, ...]) -> Callable[[Exchange], Awaitable[None]]:
    """A Streamable HTTP endpoint; its handshake eras have sessions."""

    async def handler(exchange: Exchange) -> None:
        if exchange.line.startswith("GET"):
            exchange.reply("405 Method Not Allowed")
            return
        if exchange.line.startswith("DELETE"):
            exchange.reply("200 OK")
            return
        message = exchange.message
        stateless = MODERN[0] in speaks and ((message.get("params") or {}).get("_meta") or {}).get(VERSION) is not None
        begins = message.get("method") == "initialize"
        if not stateless and not begins and any(one in LEGACY for one in speaks) and exchange.header("Mcp-Session-Id") is None:
            exchange.reply("400 Bad Request", b"no session")
            return
        reply = answer_as(speaks, message)
        if reply is None:
            exchange.reply("202 Accepted")
        elif "error" in reply and (stateless or speaks == MODERN):
            exchange.reply_json(reply, "404 Not Found" if reply["error"]["code"] == -32601 else "400 Bad Request")
        else:
            more = {"Mcp_Session_Id": "s1"} if begins else {}
            exchange.reply("200 OK", json.dumps(reply).encode(), "application/json", **more)

    return handler


def stream_of(speaks: tuple[str, ...]) -> Callable[[Exchange], Awaitable[None]]:
    """An endpoint of HTTP+SSE."""
    streams: list[Exchange] = []

    async def handler(exchange: Exchange) -> None:
        if exchange.line.startswith("GET"):
            streams.append(exchange)
            exchange.start_events()
            exchange.chunk(b"event: endpoint\ndata: /messages?sid=%d\n\n" % (len(streams) - 1))
        elif "?sid=" not in exchange.line:
            exchange.reply("405 Method Not Allowed")
        else:
            exchange.reply("202 Accepted", b"Accepted", "text/plain")
            if (reply := answer_as(speaks, exchange.message)) is not None:
                streams[int(exchange.line.split()[1].rpartition("=")[2])].event(reply)

    return handler


# --- servers on their channels ------------------------------------------------------------------------------------------


@asynccontextmanager
async def demo(*command: str) -> AsyncIterator[str]:
    """The URL of a demo server."""
    child = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    try:
        yield child.stderr.readline().rpartition(" at ")[2].strip()
    finally:
        child.kill()
        child.communicate(timeout=10)


def command_of(speaks: tuple[str, ...]) -> list[str]:
    if speaks == ALL:
        return [str(ODD / "dual.py")]
    if len(speaks) == 1 and speaks != MODERN:
        return [str(ODD / "version_2024.py"), *speaks]
    return [str(DEMO / ("modern.py" if speaks == MODERN else "legacy.py"))]


async def in_memory(speaks: tuple[str, ...]) -> Target:
    ours, theirs = memory_pair()
    await theirs.open(MemoryPeer(theirs, speaks))
    return ours


class MemoryPeer:
    """The server at the other end of a pair."""

    def __init__(self, end: MemoryTransport, speaks: tuple[str, ...]) -> None:
        self.end, self.answer = end, lines_of(speaks)
        self.tasks: set[asyncio.Task[None]] = set()

    def __call__(self, report: Report) -> None:
        for line in self.answer(bytes(report.message)) or () if isinstance(report, Received) else ():
            task = asyncio.get_running_loop().create_task(self.end.perform(Send(line)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)


async def server_on(channel: str, speaks: tuple[str, ...], stack: AsyncExitStack, folder: Path) -> Make:
    """What makes a target for each client; the server is gone with the stack."""

    async def fixed(target: Target) -> Target:
        return target

    if channel == "stdio":
        return lambda: fixed([sys.executable, *command_of(speaks)])
    if channel == "in memory":
        return lambda: in_memory(speaks)
    if channel == "Unix domain socket":
        url = "unix://" + await stack.enter_async_context(listening(folder, lines_of(speaks)))
    elif channel == "TCP":
        url = f"tcp://127.0.0.1:{await stack.enter_async_context(listening_on_a_port(lines_of(speaks)))}"
    elif channel == "WebSocket":
        url = await stack.enter_async_context(serving(answering(lines_of(speaks))))
    elif channel == "Streamable HTTP":
        if speaks in (MODERN, LEGACY):
            url = await stack.enter_async_context(demo(*command_of(speaks), "--http", "0"))
        else:
            url = (await stack.enter_async_context(loopback(posts_of(speaks)))).url
    elif speaks == LEGACY:
        url = await stack.enter_async_context(demo(*command_of(speaks), "--sse", "0"))
    else:
        url = (await stack.enter_async_context(loopback(stream_of(speaks)))).url
    return lambda: fixed(url)


# --- measuring ----------------------------------------------------------------------------------------------------------

Cell = tuple[str, tuple[str, ...], tuple[str, ...]]
"""``connected`` and its revision; ``mismatch``, ours and theirs; ``not spoken``, with what was asked for; or ``no channel``."""


async def cell(target: Target, revision: str | None) -> Cell:
    """Connect, and call a tool."""
    client = dragoman.Client(target, revision=revision, eras=RememberedEras(), timeout_s=20.0, connect_timeout_s=20.0)
    try:
        async with client:
            result = await client.call_tool("echo", {"text": "ok"})
            assert not result.is_error, result.text
            return "connected", (client.server.revision,), ()
    except VersionMismatch as exc:
        return "mismatch", exc.ours, exc.theirs
    except ConnectFailed as exc:
        asked = (revision,) if revision is not None and f"does not speak {revision}" in exc.message else ()
        return "not spoken" if asked else "no channel", asked, ()


async def section(channel: str) -> dict[tuple[tuple[str, ...], str | None], Cell]:
    """Every cell of one channel, by what the server speaks and what the client is pinned to."""
    found: dict[tuple[tuple[str, ...], str | None], Cell] = {}
    room = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:

            async def fill(speaks: tuple[str, ...], make: Make, revision: str | None) -> None:
                async with room:
                    found[speaks, revision] = await cell(await make(), revision)

            async with asyncio.TaskGroup() as group:
                for speaks in servers_on(channel):
                    make = await server_on(channel, speaks, stack, Path(folder))
                    for revision in CLIENTS:
                        group.create_task(fill(speaks, make, revision))
    return found


def servers_on(channel: str) -> list[tuple[str, ...]]:
    """HTTP+SSE belongs to the handshake eras."""
    return [speaks for speaks in SERVERS if channel != "HTTP+SSE" or MODERN[0] not in speaks]


# --- the page -----------------------------------------------------------------------------------------------------------

HEAD: Final = """# Which client speaks with which server

Written by `python -m tests.matrix` from what happened when it tried; `tests/test_matrix.py` tries again and compares.

A column is what the client is pinned to (`revision=`, `--revision`, `revision` in the configuration), a row what the server speaks.
A cell holds the revision that was agreed on, after a tool was called in it.
*mismatch* is `VersionMismatch`, which says what was asked and what was answered, and is raised before anything else is sent.
*not spoken* is `ConnectFailed` that says so: an endpoint of HTTP+SSE answers a request of the stateless era as any web server would.
*no channel* is `ConnectFailed` too: a client that is pinned to a revision uses only the HTTP transport which that revision has.
"""


def name_of(speaks: tuple[str, ...]) -> str:
    return speaks[0] if len(speaks) == 1 else f"{speaks[-1]} to {speaks[0]}"


def table(channel: str, cells: dict[tuple[tuple[str, ...], str | None], Cell]) -> str:
    """One channel as Markdown."""
    lines = [
        f"## {channel}",
        "",
        "| server | " + " | ".join(revision or "not pinned" for revision in CLIENTS) + " |",
        "|---|" + "---|" * len(CLIENTS),
    ]
    for speaks in servers_on(channel):
        row = [cells[speaks, revision] for revision in CLIENTS]
        words = [one[1][0] if one[0] == "connected" else f"*{one[0]}*" for one in row]
        lines.append(f"| {name_of(speaks)} | " + " | ".join(words) + " |")
    return "\n".join(lines) + "\n"


async def page() -> str:
    return "\n".join([HEAD, *[table(channel, await section(channel)) for channel in CHANNELS]])


if __name__ == "__main__":
    logging.getLogger("dragoman").setLevel(logging.ERROR)  # mismatches are expected here
    PAGE.write_text(asyncio.run(page()), encoding="utf-8")
