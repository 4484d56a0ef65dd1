"""A transcript as a server on HTTP, on this machine only; the wire can be cut. The standard library alone.

One conversation at a time: what the transcript says is said once, to whoever asks.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any, Final

from dragoman.transports.replay import Line, Script
from dragoman.transports.transcript import Transcript

SESSION: Final = "replay"
"""The id of the session, where the recorded server had one: its own was a secret."""

_EVENTS: Final = "text/event-stream"
_JSON: Final = "application/json"
_BODY_LIMIT: Final = 128 << 20
_HEAD_LIMIT: Final = 64 << 10
_MODERN_KEY: Final = "io.modelcontextprotocol/protocolVersion"


class HttpReplay:
    """The server; ``async with HttpReplay(transcript) as server: … server.url``.

    Args:
        transcript: As read.
        cut: After how many bytes of the server's wire, over all connections, it ends; ``None`` for never.
        delay: Wait as long before each message as it took then.
        path: Where it answers.

    Attributes:
        written: How many bytes were written.
        ended: Set when the wire was cut.
    """

    def __init__(self, transcript: Transcript, *, cut: int | None = None, delay: bool = False, path: str = "/mcp") -> None:
        self.written, self.path, self.port = 0, path, 0
        self.ended = asyncio.Event()
        self.delay = delay
        self.script = Script(transcript, streams=True)
        self._cut = cut
        self._server: asyncio.Server | None = None
        self.connections: set[_Connection] = set()
        self.streams: dict[int, _Exchange] = {}
        self.listener: _Exchange | None = None
        self.waiting: list[Line] = []

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}{self.path}"

    async def start(self, port: int = 0) -> None:
        """Listen; port 0 takes any.

        Raises:
            OSError: The port is taken.
        """
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]
        if self._cut == 0:
            self.stop()

    def stop(self) -> None:
        """End every connection, and listen no more."""
        self.ended.set()
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.close()

    async def __aenter__(self) -> HttpReplay:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    def allowed(self, data: bytes) -> bytes:
        """As much of ``data`` as goes out before the cut."""
        part = data if self._cut is None else data[: self._cut - self.written]
        self.written += len(part)
        return part

    @property
    def is_cut(self) -> bool:
        """Whether nothing more goes out."""
        return self._cut is not None and self.written >= self._cut

    def say(self, lines: list[Line]) -> None:
        """Put lines on the streams that they belong to, now or when it is time."""
        for line in lines:
            if self.delay and line.delay_s:
                asyncio.get_running_loop().call_later(line.delay_s, self._put, line)
            else:
                self._put(line)

    def _put(self, line: Line) -> None:
        if line.end is not None and line.owner is None:
            self.stop()
            return
        stream = self.streams.get(line.owner) if line.owner is not None else self.listener
        if stream is not None:
            stream.put(line)
        elif line.owner is None:
            self.waiting.append(line)


class _Connection(asyncio.Protocol):
    """One connection: requests in, one after the other."""

    def __init__(self, server: HttpReplay) -> None:
        self.server = server
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._exchange: _Exchange | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.server.connections.add(self)
        if self.server.ended.is_set():
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.connections.discard(self)
        self._transport = None
        if self._exchange is not None:
            self._exchange.gone()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def write(self, data: bytes) -> None:
        if self._transport is None or self.server.ended.is_set():
            return
        self._transport.write(self.server.allowed(data))
        if self.server.is_cut:
            self.server.stop()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._next()

    def finished(self) -> None:
        """The answer is out; the next request may come."""
        self._exchange = None
        if self._buffer:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        if self._exchange is not None or self._transport is None:
            return
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found:
            if len(head) > _HEAD_LIMIT:
                self.close()
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, more = first.partition(" ")
        length = headers.get("content-length", "0")
        exchange = _Exchange(self)
        if "transfer-encoding" in headers or not length.isdecimal() or int(length) > _BODY_LIMIT:
            self._buffer.clear()
            exchange.reply(411, b"a body needs a Content-Length here")
            self.close()
            return
        if len(rest) < int(length):
            return
        body = bytes(rest[: int(length)])
        del self._buffer[: len(head) + 4 + int(length)]
        self._exchange = exchange
        exchange.answer(method, more.rpartition(" ")[0].partition("?")[0], body)


class _Exchange:
    """One request and its answer: as JSON when that is all there is, else as a stream of events."""

    def __init__(self, connection: _Connection) -> None:
        self._connection, self._server = connection, connection.server
        self._entry: int | None = None
        self._status, self._kind = 200, _JSON
        self._headers: dict[str, str] = {}
        self._streaming = False

    def answer(self, method: str, path: str, body: bytes) -> None:
        server = self._server
        if path != server.path:
            self.reply(404, f"replay: there is only {server.path} here".encode())
        elif method == "POST":
            self._post(body)
        elif method == "GET":
            self._get()
        elif method == "DELETE":
            self.reply(200)
        else:
            self.reply(405, b"POST, GET or DELETE", allow="POST, GET, DELETE")

    def gone(self) -> None:
        """The client has left."""
        server = self._server
        if self._entry is not None and server.streams.get(self._entry) is self:
            del server.streams[self._entry]
        if server.listener is self:
            server.listener = None

    def put(self, line: Line) -> None:
        """One message of this exchange, or its end."""
        if line.end is not None and self._streaming:
            self._connection.write(b"0\r\n\r\n")
            self._over()
        elif not self._streaming:
            self.reply(self._status, line.data, self._kind, **self._headers)
        else:
            self._event(line)

    def _event(self, line: Line) -> None:
        prefix = f"id: {line.event_id}\n" if line.event_id else ""
        text = line.data.replace(b"\r", b"").replace(b"\n", b"\ndata: ")
        self._chunk(f"{prefix}event: message\n".encode() + b"data: " + text + b"\n\n")
        if line.final and self._server.listener is not self:
            self._connection.write(b"0\r\n\r\n")
            self._over()

    def reply(self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> None:
        """A whole answer."""
        lines = [f"HTTP/1.1 {status} {_phrase(status)}"]
        lines += [f"Content-Type: {kind}"] if body else []
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._connection.write("\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body)
        self._over()

    def _over(self) -> None:
        self.gone()
        self._connection.finished()

    def _chunk(self, data: bytes) -> None:
        self._connection.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def _stream(self) -> None:
        self._streaming = True
        more = "".join(f"{name}: {value}\r\n" for name, value in self._headers.items())
        self._connection.write(f"HTTP/1.1 200 OK\r\nContent-Type: {_EVENTS}\r\n{more}Transfer-Encoding: chunked\r\n\r\n".encode())

    def _post(self, body: bytes) -> None:
        server = self._server
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            message = None
        taken = server.script.take(message)
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            head = server.script.head(taken.entry) if taken.entry is not None else {}
            self.reply(int(head.get("status", 202 if isinstance(message, dict) else 400)))
            server.say(taken.lines if taken.entry is not None else [])
            return
        if taken.entry is None:
            modern = _MODERN_KEY in ((message.get("params") or {}).get("_meta") or {})
            code = json.loads(taken.lines[0].data)["error"]["code"]
            self.reply((404 if code == -32601 else 400) if modern else 200, taken.lines[0].data, _JSON)
            return
        self._open(taken.entry, taken.lines)

    def _open(self, entry: int, lines: list[Line]) -> None:
        server = self._server
        head = server.script.head(entry)
        self._entry = entry
        self._status, self._kind = int(head.get("status", 200)), str(head.get("content_type") or _JSON)
        self._headers = {str(name): str(value) for name, value in (head.get("headers") or {}).items()}
        if any(name.lower() == "mcp-session-id" for name in self._headers):
            self._headers = {name: SESSION if name.lower() == "mcp-session-id" else value for name, value in self._headers.items()}
        server.streams[entry] = self
        if self._kind.startswith(_EVENTS) or (not head and server.script.streams(entry)):
            self._stream()
        server.say(lines)
        if not self._streaming and server.script.is_silent(entry):
            self.reply(self._status, b"", **self._headers)

    def _get(self) -> None:
        server = self._server
        taken = server.script.take_get()
        head = server.script.head(taken.entry) if taken is not None and taken.entry is not None else {}
        status = int(head.get("status", 200))
        if status != 200 or (taken is None and server.script.kind == "http"):
            self.reply(405 if taken is None else status, allow="POST, DELETE")
            return
        self._stream()
        server.listener = self
        if taken is not None:
            self._entry = taken.entry
            if taken.entry is not None:
                server.streams[taken.entry] = self
            server.say(taken.lines)
        waiting, server.waiting = server.waiting, []
        server.say(waiting)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
