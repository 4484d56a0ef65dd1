"""The demo servers over HTTP on this machine: the stateless era, sessions up to 2025-11-25, and HTTP+SSE of 2024-11-05.

Loaded only with `--http` or `--sse`: a server on stdio starts faster without it. One thread for each exchange.
"""

from __future__ import annotations

import base64
import json
import queue
import secrets
import select
import socket
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING or __package__:
    from ._wire import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Json, Server
else:
    from _wire import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, Json, Server

HEADER_MISMATCH = -32020
SESSION = "MCP-Session-Id"
VERSION = "MCP-Protocol-Version"
META_VERSION = "io.modelcontextprotocol/protocolVersion"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
LOOK_S = 0.1  # how often an open stream looks whether its client is still there
BODY_LIMIT = 16 << 20

Messages = queue.SimpleQueue[Any]


class Exchange(BaseHTTPRequestHandler):
    """One request and the means to answer it."""

    protocol_version = "HTTP/1.1"
    server: Listener
    body = b""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: stderr is for people."""

    def handle_one(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_LIMIT:
            self.close_connection = True
            self.reply(413, b"too large")
            return
        self.body = self.rfile.read(length)
        try:
            origin = self.headers.get("Origin")
            if origin and urlsplit(origin).hostname not in ("localhost", "127.0.0.1"):
                self.reply(403, b"this server is for programs on this machine")  # a web page elsewhere, by a trick with DNS
            else:
                self.server.dialect.answer(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_POST = do_DELETE = handle_one

    def message(self) -> Any:
        """The body as JSON; None: it was none, and that has been answered."""
        try:
            found = json.loads(self.body)
        except ValueError as problem:
            self.refuse(400, PARSE_ERROR, f"not JSON: {problem}")
            return None
        if not isinstance(found, dict):
            self.refuse(400, INVALID_REQUEST, "one JSON object per request, please; batches are not spoken here")
            return None
        return found

    def reply(self, status: int, body: bytes = b"", kind: str = "text/plain", **headers: str) -> None:
        """A whole answer, in one packet."""
        lines = [f"HTTP/1.1 {status} {self.responses[status][0]}", f"Content-Length: {len(body)}"]
        lines += [f"Content-Type: {kind}"] if body else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.wfile.write("\r\n".join([*lines, "", ""]).encode() + body)

    def reply_json(self, message: Json, status: int = 200, **headers: str) -> None:
        self.reply(status, to_json(message), "application/json", **headers)

    def refuse(self, status: int, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.reply_json({"id": None, "error": error}, status)

    def stream(self, messages: Messages, first: Any = None, gone: Callable[[], None] = lambda: None, before: bytes = b"") -> None:
        """A stream of events until None comes or the client leaves, which `gone` is told."""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.wfile.write(head)
        try:
            if before:
                self.chunk(before)
            item = first
            while True:
                if item is not None:
                    self.chunk(b"event: message\ndata: " + to_json(item) + b"\n\n")
                try:
                    item = messages.get(timeout=LOOK_S)
                except queue.Empty:
                    item = None
                    if self.has_left():
                        raise BrokenPipeError from None
                    continue
                if item is None:
                    break
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
            gone()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def has_left(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)


def to_json(message: Json) -> bytes:
    """One message as it is sent."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


class Dialect:
    """What a request means; one for all threads."""

    path = "/mcp"
    leaving_cancels = False

    def answer(self, exchange: Exchange) -> None:
        """Answer one request."""
        if urlsplit(exchange.path).path != self.path:
            exchange.reply(404, b"nothing here")
            return
        getattr(self, exchange.command.lower())(exchange)

    def get(self, exchange: Exchange) -> None:
        exchange.reply(405, b"POST only", Allow="POST")

    delete = get

    def run_call(self, exchange: Exchange, server: Server, message: Json, status_of: Callable[[int], int], **headers: str) -> None:
        """Run one request: its answer as JSON if that is all there is, otherwise a stream."""
        messages: Messages = queue.SimpleQueue()
        call = server.receive(message, messages.put)
        assert call is not None
        gone = call.gone.set if self.leaving_cancels else lambda: None
        while True:
            try:
                first = messages.get(timeout=LOOK_S)
                break
            except queue.Empty:
                if exchange.has_left():
                    gone()
        if first is None:  # cancelled
            exchange.reply(204)
        elif "method" in first:
            exchange.stream(messages, first, gone)
        else:
            code = first.get("error", {}).get("code")
            exchange.reply_json(first, 200 if code is None else status_of(code), **headers)


class Stateless(Dialect):
    """2026-07-28: every POST stands alone, its headers repeat what is in it, and whoever leaves has cancelled."""

    leaving_cancels = True

    def __init__(self, server: Server) -> None:
        self.server = server
        server.ids_repeat = True

    def post(self, exchange: Exchange) -> None:
        message = exchange.message()
        if message is None:
            return
        wrong = mismatch(exchange.headers, message)
        if wrong:
            exchange.refuse(400, HEADER_MISMATCH, wrong)
        elif "id" not in message:
            exchange.reply(202)
        else:
            self.run_call(exchange, self.server, message, lambda code: 404 if code == METHOD_NOT_FOUND else 400)


def mismatch(headers: Any, message: Json) -> str:
    """How headers and body differ; empty when they do not. What came before the handshake was dropped has no such headers."""
    method, params = message.get("method"), message.get("params") or {}
    version = (params.get("_meta") or {}).get(META_VERSION)
    if version is None:
        return ""
    expected = {VERSION: version, "Mcp-Method": method}
    if method in NAMED_BY:
        expected["Mcp-Name"] = params.get(NAMED_BY[method])
    for name, value in expected.items():
        stated = headers.get(name)
        if stated is None or plain(stated) != value:
            return f"{name} is {stated!r}, and the body says {value!r}"
    return ""


def plain(value: str) -> str:
    """The value of a header, decoded where it is in base64."""
    if value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode("utf-8", "replace")
    return value


class Conversation:
    """One client of a handshake era: its server, and what waits for its listening stream."""

    def __init__(self, make: Callable[[], Server]) -> None:
        self.server = make()
        self.waiting: Messages = queue.SimpleQueue()
        self.server.write = lambda message: self.waiting.put(message)  # type: ignore[method-assign]  # what belongs to no request


class Sessions(Dialect):
    """2025-03-26 to 2025-11-25: a session named in a header, a GET stream for what belongs to no request, DELETE at the end."""

    def __init__(self, make: Callable[[], Server]) -> None:
        self.make = make
        self.open: dict[str, Conversation] = {}

    def post(self, exchange: Exchange) -> None:
        message = exchange.message()
        if message is None:
            return
        if message.get("method") == "initialize":
            conversation, name = Conversation(self.make), secrets.token_urlsafe(24)
            self.open[name] = conversation
            self.run_call(exchange, conversation.server, message, lambda code: 200, **{SESSION: name})
            return
        found = self.find(exchange)
        if found is None:
            return
        if "id" in message and "method" in message:
            self.run_call(exchange, found.server, message, lambda code: 200)
        else:
            found.server.receive(message)
            exchange.reply(202)

    def get(self, exchange: Exchange) -> None:
        found = self.find(exchange)
        if found is not None:
            exchange.stream(found.waiting)

    def delete(self, exchange: Exchange) -> None:
        found = self.find(exchange)
        if found is not None:
            del self.open[exchange.headers[SESSION]]
            found.server.stop()
            found.waiting.put(None)
            exchange.reply(200)

    def find(self, exchange: Exchange) -> Conversation | None:
        """The session of a request; None: there is none, and that has been answered."""
        name = exchange.headers.get(SESSION)
        if name is None:
            exchange.refuse(400, INVALID_REQUEST, f"Bad Request: {SESSION} is missing; begin with initialize")
            return None
        if name not in self.open:
            exchange.refuse(404, INVALID_REQUEST, "Session not found")
            return None
        return self.open[name]


class OneStream(Dialect):
    """2024-11-05: a GET opens the conversation and brings everything; its first event says where to post."""

    path = "/sse"

    def __init__(self, make: Callable[[], Server]) -> None:
        self.make = make
        self.open: dict[str, Conversation] = {}

    def answer(self, exchange: Exchange) -> None:
        place = urlsplit(exchange.path)
        if exchange.command != "POST" or place.path != "/messages":
            super().answer(exchange)
            return
        message = exchange.message()
        found = self.open.get(parse_qs(place.query).get("sid", [""])[0])
        if found is None:
            exchange.reply(404, b"no such conversation")
        elif message is not None:
            exchange.reply(202, b"Accepted")
            found.server.receive(message)

    def get(self, exchange: Exchange) -> None:
        conversation, name = Conversation(self.make), secrets.token_urlsafe(24)
        self.open[name] = conversation
        exchange.stream(conversation.waiting, before=f"event: endpoint\ndata: /messages?sid={name}\n\n".encode())
        del self.open[name]
        conversation.server.stop()

    def post(self, exchange: Exchange) -> None:
        exchange.reply(405, b"GET only; post where the first event says", Allow="GET")


class Listener(ThreadingHTTPServer):
    """Accepts connections on 127.0.0.1."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, dialect: Dialect) -> None:
        super().__init__(("127.0.0.1", port), Exchange)
        self.dialect = dialect

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves in the middle is nothing to write home about."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def serve(dialect: Dialect, port: int, greeting: str) -> None:
    """Listen until interrupted; port 0 takes any. Where is said on stderr."""
    with Listener(port, dialect) as listener:
        print(f"{greeting} at http://127.0.0.1:{listener.server_address[1]}{dialect.path}", file=sys.stderr, flush=True)
        try:
            listener.serve_forever()
        except KeyboardInterrupt:
            pass
