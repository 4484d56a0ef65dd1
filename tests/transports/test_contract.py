"""Every transport of ours keeps the contract that `dragoman.testing.check_transport` holds others to."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.protocol.actions import Listen, Performable, Send
from dragoman.testing.transports import CHECKS, PEER_PROGRAM, Make, respond
from dragoman.transports.base import Closed, Received, Report, Sink, StreamEnded, Transport
from dragoman.transports.http import HttpTransport
from dragoman.transports.memory import MemoryTransport, memory_pair
from dragoman.transports.sse_legacy import SseTransport
from dragoman.transports.stdio import StdioTransport
from dragoman.transports.tcp import TcpTransport
from dragoman.transports.unix import UnixTransport
from dragoman.transports.websocket import WebSocketTransport
from dragoman.wire.tcp import TcpAddress
from tests.transports.loopback import Exchange, loopback
from tests.transports.unix_peer import listening, listening_on_a_port
from tests.transports.ws_peer import answering, serving

VERSION = (("MCP-Protocol-Version", "2025-11-25"),)
SESSION = "s1"


class MemoryPeer:
    """Answers on the other end of a pair as ``respond`` says."""

    def __init__(self, end: MemoryTransport) -> None:
        self.end = end
        self.tasks: set[asyncio.Task[None]] = set()
        self.inbox: asyncio.Queue[bytes] = asyncio.Queue()

    def __call__(self, report: Report) -> None:
        if isinstance(report, Received):
            self.inbox.put_nowait(bytes(report.message))
        elif isinstance(report, Closed):
            for task in self.tasks:
                task.cancel()

    async def start(self) -> None:
        await self.end.open(self)
        self.tasks.add(asyncio.create_task(self.serve()))

    async def serve(self) -> None:
        while (answers := respond(await self.inbox.get())) is not None:
            for answer in answers:
                await self.end.perform(Send(answer))
        await self.end.close()


class InSession(HttpTransport):
    """As the engine uses it in the legacy era: a session is begun first, a GET stream is open, and every message belongs to the session."""

    async def open(self, report: Sink) -> None:
        begun = asyncio.Event()

        def sink(said: Report) -> None:
            if getattr(said, "via", None) == "begin":
                if isinstance(said, StreamEnded):
                    begun.set()
            elif not (isinstance(said, StreamEnded) and said.via is None):
                report(said)

        await super().open(sink)
        message = b'{"jsonrpc":"2.0","id":"begin","method":"initialize","params":{}}'
        await super().perform(Send(message, "begin", (), "opens"))
        async with asyncio.timeout(10):
            await begun.wait()
        await super().perform(Listen(VERSION))

    async def perform(self, action: Performable) -> None:
        if isinstance(action, Send):
            action = msgspec.structs.replace(action, headers=VERSION, session="within")
        await super().perform(action)


async def post_peer(exchange: Exchange) -> None:
    """A stateless endpoint: a lone answer to an even id is JSON, everything else is a stream of events."""
    answers = respond(exchange.body)
    if answers is None:
        exchange.drop()
    elif exchange.message["method"] == "never":
        exchange.start_events()
        await exchange.gone.wait()
    elif not answers:
        exchange.reply("202 Accepted")
    elif len(answers) == 1 and exchange.message["id"] % 2 == 0:
        exchange.reply("200 OK", answers[0], "application/json")
    else:
        exchange.start_events()
        for answer in answers:
            exchange.chunk(b"data: " + answer + b"\n\n")
        exchange.finish()


async def session_peer(exchange: Exchange) -> None:
    """The same within a session."""
    if exchange.line.startswith("DELETE"):
        exchange.reply("200 OK")
    elif exchange.line.startswith("POST") and exchange.message["method"] == "initialize":
        exchange.reply("200 OK", respond(exchange.body)[0], "application/json", Mcp_Session_Id=SESSION)  # type: ignore[index]
    elif exchange.header("Mcp-Session-Id") != SESSION or exchange.header("MCP-Protocol-Version") != "2025-11-25":
        exchange.reply("400 Bad Request", b"no session")
    elif exchange.line.startswith("GET"):
        exchange.start_events()
        await exchange.gone.wait()
    else:
        await post_peer(exchange)


def stream_peer() -> Callable[[Exchange], Awaitable[None]]:
    """An endpoint of 2024-11-05."""
    streams: list[Exchange] = []

    async def handler(exchange: Exchange) -> None:
        if exchange.line.startswith("GET"):
            streams.append(exchange)
            exchange.start_events()
            exchange.chunk(b"event: endpoint\ndata: /messages?sid=%d\n\n" % (len(streams) - 1))
            return
        stream = streams[int(exchange.line.split()[1].rpartition("=")[2])]
        exchange.reply("202 Accepted", b"Accepted", "text/plain")
        answers = respond(exchange.body)
        if answers is None:
            stream.finish()
            stream.drop()
            return
        for answer in answers:
            stream.chunk(b"data: " + answer + b"\n\n")

    return handler


@pytest.fixture(params=["stdio", "memory", "unix", "tcp", "http", "http in a session", "sse", "websocket"])
async def make(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Make]:
    """What makes a transport of each kind, with a peer at its other end."""
    async with AsyncExitStack() as stack:

        async def stdio(frame_limit: int) -> Transport:
            return StdioTransport(
                [sys.executable, "-I", "-u", "-c", PEER_PROGRAM], env={"PATH": os.environ["PATH"]}, frame_limit=frame_limit
            )

        async def memory(frame_limit: int) -> Transport:
            ours, theirs = memory_pair(frame_limit=frame_limit)
            await MemoryPeer(theirs).start()
            return ours

        async def unix(frame_limit: int) -> Transport:
            return UnixTransport(await stack.enter_async_context(listening(tmp_path, respond)), frame_limit=frame_limit)

        async def tcp(frame_limit: int) -> Transport:
            port = await stack.enter_async_context(listening_on_a_port(respond))
            return TcpTransport(TcpAddress("127.0.0.1", port), frame_limit=frame_limit)

        async def websocket(frame_limit: int) -> Transport:
            return WebSocketTransport(await stack.enter_async_context(serving(answering(respond))), frame_limit=frame_limit)

        def at(kind: Any, handler: Callable[[Exchange], Awaitable[None]]) -> Make:
            async def http(frame_limit: int) -> Transport:
                made: Transport = kind((await stack.enter_async_context(loopback(handler))).url, frame_limit=frame_limit)
                return made

            return http

        kinds: dict[str, Make] = {
            "stdio": stdio,
            "memory": memory,
            "unix": unix,
            "tcp": tcp,
            "http": at(HttpTransport, post_peer),
            "http in a session": at(InSession, session_peer),
            "websocket": websocket,
            "sse": at(SseTransport, stream_peer()),
        }
        yield kinds[request.param]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_transport_keeps_the_contract(check: Callable[[Make], Awaitable[None]], make: Make) -> None:
    """The contract of ``transports/base.py``."""
    await check(make)


async def test_every_transport_of_ours_is_held_to_the_contract() -> None:
    """A new one is added to the list above, or this fails."""
    folder = Path(__file__).parents[2] / "src" / "dragoman" / "transports"
    declared = {
        line.split("(")[0].split(":")[0].removeprefix("class ")
        for path in folder.glob("*.py")
        for line in path.read_text().splitlines()
        if line.startswith("class ") and "Transport" in line and "(Protocol)" not in line
    }
    lines = {"StdioTransport", "UnixTransport", "TcpTransport", "StreamTransport"}
    kept = {"RecordingTransport", "ReplayTransport"}  # around another, and out of a file
    assert declared == lines | kept | {"MemoryTransport", "HttpTransport", "SseTransport", "WebSocketTransport"}
