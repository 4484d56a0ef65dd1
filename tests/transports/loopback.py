"""An HTTP server on loopback whose answers a test writes byte by byte, and a transport at its other end."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dragoman.protocol.actions import Send
from dragoman.transports.base import Closed, Oversized, Received, Report, StreamEnded
from dragoman.transports.http import HttpTransport
from dragoman.wire.envelope import RequestId

WAIT_S = 10.0


class Exchange:
    """One request as it arrived, and the means to answer it. Header names are as sent."""

    def __init__(self, line: str, headers: list[tuple[str, str]], body: bytes, connection: int, writer: asyncio.StreamWriter) -> None:
        self.line = line
        self.headers = headers
        self.body = body
        self.connection = connection
        self.writer = writer
        self.gone = asyncio.Event()

    def header(self, name: str) -> str | None:
        """The one value of a header."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None

    @property
    def message(self) -> Any:
        return msgspec.json.decode(self.body)

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def reply(self, status: str, body: bytes = b"", kind: str | None = None, **headers: str) -> None:
        """A whole response with a length."""
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
        if kind is not None:
            lines.append(f"Content-Type: {kind}")
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def reply_json(self, message: Any, status: str = "200 OK") -> None:
        self.reply(status, msgspec.json.encode(message), "application/json")

    def start_events(self) -> None:
        self.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, message: Any) -> None:
        self.chunk(b"event: message\ndata: " + msgspec.json.encode(message) + b"\n\n")

    def finish(self) -> None:
        self.send(b"0\r\n\r\n")

    def drop(self) -> None:
        """Cut the connection."""
        self.writer.close()


Handler = Callable[[Exchange], Awaitable[None]]


class Loopback:
    """The server. ``requests`` holds every request in order; ``connections`` counts what was accepted."""

    def __init__(self, handler: Handler, tls: ssl.SSLContext | None) -> None:
        self.handler = handler
        self.tls = tls
        self.requests: list[Exchange] = []
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/mcp"

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        running: list[asyncio.Task[None]] = []
        current: Exchange | None = None
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                line, *rest = head[:-4].split("\r\n")
                headers = [(name, value.strip()) for name, _, value in (item.partition(":") for item in rest)]
                length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
                body = await reader.readexactly(length)
                current = Exchange(line, headers, body, number, writer)
                self.requests.append(current)
                running.append(asyncio.create_task(self._handle(current)))
        except (asyncio.IncompleteReadError, ConnectionError):
            if current is not None:
                current.gone.set()
        except asyncio.CancelledError:
            pass  # the test is over
        finally:
            for handling in running:
                handling.cancel()
            writer.close()
            self._tasks.discard(task)

    async def _handle(self, exchange: Exchange) -> None:
        await self.handler(exchange)
        try:
            await exchange.writer.drain()
        except ConnectionError:
            pass  # the client left, which its test expects

    async def stop(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=WAIT_S)


@asynccontextmanager
async def loopback(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    """A running server; it is gone afterwards."""
    serving = Loopback(handler, tls)
    server = await asyncio.start_server(serving.accept, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
    serving.port = server.sockets[0].getsockname()[1]
    try:
        yield serving
    finally:
        server.close()
        await serving.stop()


class Recorder:
    """A sink that collects, and can be waited on."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self._changed = asyncio.Event()

    def __call__(self, report: Report) -> None:
        self.reports.append(report)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def ended(self, via: RequestId) -> StreamEnded:
        """The end of a request's stream, which is waited for and comes once."""
        await self.until(lambda: any(isinstance(r, StreamEnded) and r.via == via for r in self.reports))
        (end,) = [r for r in self.reports if isinstance(r, StreamEnded) and r.via == via]
        return end

    def messages(self, via: RequestId) -> list[Any]:
        return [msgspec.json.decode(r.message) for r in self.reports if isinstance(r, Received) and r.via == via]

    def oversized(self) -> list[Oversized]:
        return [r for r in self.reports if isinstance(r, Oversized)]

    def closed(self) -> list[Closed]:
        return [r for r in self.reports if isinstance(r, Closed)]


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[tuple[HttpTransport, Recorder]]:
    """A transport to a URL with a recorder as its sink; afterwards it is closed and nothing is left of it."""
    before = asyncio.all_tasks()
    transport, recorder = HttpTransport(url, **options), Recorder()
    await transport.open(recorder)
    try:
        yield transport, recorder
    finally:
        await transport.close()
        assert len(recorder.closed()) == 1
        assert isinstance(recorder.reports[-1], Closed)
        left = {task for task in asyncio.all_tasks() - before if "HttpTransport" in repr(task.get_coro())}
        assert not left
        gc.collect()  # an unclosed socket would warn here, inside the test


def request(request_id: int, method: str = "tools/call", **params: Any) -> Send:
    """A request as the engine makes it, with the headers of the modern era."""
    message = msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
    return Send(message, request_id, (("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)))


def result(request_id: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": members}
