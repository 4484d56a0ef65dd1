"""A server inside the test, a clock to move by hand, and where the servers that run as processes are."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

import dragoman
from dragoman.protocol.actions import STDIO, Performable, Send
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.handshake import Identity
from dragoman.runtime.driver import Driver
from dragoman.runtime.eras import RememberedEras
from dragoman.transports.base import Closed, Received, Sink
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import LEGACY, MODERN, Era

ODD = Path(__file__).resolve().parents[1] / "servers"
DEMO = Path(dragoman.__file__).parent / "demo"
Json = dict[str, Any]
ECHO: Json = {"name": "echo", "inputSchema": {"type": "object"}}


def odd(name: str, *args: object) -> list[str]:
    """The command of one of the odd servers."""
    return [sys.executable, str(ODD / f"{name}.py"), *map(str, args)]


def demo(name: str) -> list[str]:
    """The command of a demo server."""
    return [sys.executable, str(DEMO / f"{name}.py")]


def client(target: Any, **options: Any) -> dragoman.Client:
    """A client that remembers nothing of other tests."""
    return dragoman.Client(target, **{"eras": RememberedEras(), "connect_timeout_s": 20.0, "timeout_s": 20.0, **options})


def words(text: str) -> Json:
    """A tool result of one text block."""
    return {"content": [{"type": "text", "text": text}]}


class FakeServer:
    """A server as a transport: answers politely what ``on`` leaves to it, and notes everything that is sent.

    Args:
        on: Sees each message first. Returns messages to send back (JSON values, or bytes as they are), or ``None`` to leave it.
        era: What it speaks.

    Attributes:
        sent: What the client sent, as JSON values.
        gate: While cleared, nothing is taken: senders wait.
    """

    traits = STDIO

    def __init__(self, on: Callable[[Json], Iterable[Json | bytes] | None] | None = None, *, era: str = "legacy") -> None:
        self.label = "fake"
        self.sent: list[Json] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()
        self.swallows_cancellation = False
        self.open_error: BaseException | None = None
        self.opens_slowly = self.closes_slowly = False
        self.opened = self.closes = 0
        self.closed = False
        self._on = on
        self._era = era
        self._report: Sink | None = None

    # --- a transport

    async def open(self, report: Sink) -> None:
        self.opened += 1
        if self.open_error is not None:
            raise self.open_error
        if self.opens_slowly:
            await asyncio.Event().wait()
        self._report = report

    async def perform(self, action: Performable) -> None:
        if not isinstance(action, Send):
            return
        if not self.gate.is_set():
            self.waiting.set()
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                if not self.swallows_cancellation:
                    raise
                return
        message = msgspec.json.decode(action.message)
        self.sent.append(message)
        replies = self._on(message) if self._on is not None else None
        if replies is None:
            reply = self.polite(message)
            replies = [] if reply is None else [reply]
        for one in replies:
            self.say(one)

    async def close(self) -> None:
        self.closes += 1
        if self.closes_slowly:
            await asyncio.Event().wait()
        self.end(Closed("closed by us"))

    # --- a server

    def say(self, message: Json | bytes) -> None:
        """Send something, in a later turn of the loop."""
        data = message if isinstance(message, bytes) else msgspec.json.encode({"jsonrpc": "2.0", **message})
        asyncio.get_running_loop().call_soon(self._arrive, data)

    def end(self, how: Closed) -> None:
        """End the connection now."""
        self.closed = True
        report, self._report = self._report, None
        if report is not None:
            report(how)

    def _arrive(self, data: bytes) -> None:
        if self._report is not None:
            self._report(Received(data))

    def methods(self) -> list[str]:
        """What the client sent, by method; answers as ``answer``."""
        return [str(message.get("method", "answer")) for message in self.sent]

    def polite(self, message: Json) -> Json | None:
        """What a plain server answers."""
        method = message.get("method")
        if "id" not in message or method is None:
            return None
        modern = self._era == "modern"
        result: Json
        if method == "initialize" and not modern:
            result = {"protocolVersion": LEGACY[0], "capabilities": ALL_CAPABILITIES, "serverInfo": {"name": "fake", "version": "1"}}
        elif method == "server/discover" and modern:
            result = {"supportedVersions": [MODERN[0]], "capabilities": ALL_CAPABILITIES}
        elif method == "tools/list":
            result = {"tools": [ECHO]}
        elif method == "tools/call":
            result = words(str(message["params"].get("arguments", {}).get("text", "")))
        elif method == "ping" and not modern:
            result = {}
        else:
            return {"id": message["id"], "error": {"code": -32601, "message": f"Method not found: {method}"}}
        return {"id": message["id"], "result": result}


ALL_CAPABILITIES: Json = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}


class Notes:
    """Handlers of a driver that note what comes; ``ask`` may be replaced."""

    def __init__(self) -> None:
        self.notices: list[tuple[str, Any]] = []
        self.asks: list[str] = []
        self.ended: list[str] = []
        self.ask: Callable[[str], Any] | None = None

    def on_notice(self, method: str, params: Raw) -> None:
        self.notices.append((method, msgspec.json.decode(params)))

    def on_ended(self, reason: str) -> None:
        self.ended.append(reason)

    async def on_ask(self, method: str, params: Raw) -> Any:
        self.asks.append(method)
        return {} if self.ask is None else await self.ask(method)


async def opened(server: FakeServer, handlers: Notes | None = None, **options: Any) -> Driver:
    """A driver that is connected to ``server``."""
    driver = driver_for(server, handlers, **options)
    await driver.open(10.0)
    server.sent.clear()
    return driver


def driver_for(server: FakeServer, handlers: Notes | None = None, **options: Any) -> Driver:
    """A driver that is not open yet."""
    known: Era | None = "legacy" if server._era == "legacy" else None
    connection = Connection(Role.CLIENT, Identity(Implementation("t", "1"), {"roots": {}}), known=known)
    return Driver(connection, server, handlers or Notes(), label="fake", **options)


class LoopClock:
    """Moves the time of a loop forward."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._real = loop.time
        self._ahead = 0.0
        loop.time = lambda: self._real() + self._ahead  # type: ignore[method-assign]  # the one seam there is

    async def advance(self, seconds: float) -> None:
        """Let what is due by then happen."""
        self._ahead += seconds
        await turns()


async def turns(count: int = 10) -> None:
    """Let the loop go round a few times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(true: Callable[[], bool]) -> None:
    """Wait, within bounds, until something has become true."""
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110  # what is waited for happens in another process or thread
            await asyncio.sleep(0.002)


def press_ctrl_c() -> None:
    """Interrupt the main thread, also where it waits for a lock: for that the signal must be a real one."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)
