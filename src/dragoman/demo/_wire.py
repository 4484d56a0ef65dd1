"""What both demo servers share on the wire: lines of JSON on stdio, one thread per call, cancellation; no revision of the protocol."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class RpcError(Exception):
    """Ends one request with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}
        if data is not None:
            self.error["data"] = data


class Cancelled(Exception):
    """The client took the request back, or left; no answer is sent."""


class Call:
    """One running request, as a tool sees it. Each era has its own subclass for what differs between them."""

    def __init__(self, server: Server, request_id: Any, params: Json) -> None:
        self.server, self.request_id, self.params = server, request_id, params
        self.meta: Json = params.get("_meta") or {}
        self.gone = threading.Event()
        self.sink: Callable[[Any], None] | None = None  # where its messages go instead; None at the end

    @property
    def key(self) -> str:
        """Under which it is running."""
        return f"{id(self)}" if self.server.ids_repeat else repr(self.request_id)

    def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the client does."""
        if self.gone.wait(seconds):
            raise Cancelled

    def progress(self, done: float, total: float, message: str) -> None:
        """Tell the client how far we are, if it asked to know."""
        if (token := self.meta.get("progressToken")) is not None and not self.gone.is_set():
            params = {"progressToken": token, "progress": done, "total": total, "message": message}
            self.server.notify("notifications/progress", params, self)

    def log(self, level: str, text: str) -> None:
        """Send a log message, if the client wants this level."""
        wanted = self.log_level()
        if wanted in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted):
            self.server.notify("notifications/message", {"level": level, "logger": self.server.name, "data": text}, self)

    def log_level(self) -> str | None:
        """The lowest level that the client wants; None: nothing at all."""
        raise NotImplementedError

    def ask(self, key: str, method: str, params: Json) -> Json:
        """Ask the client something and return its result.

        Args:
            key: Names the question within this call.
            method: `elicitation/create`, `sampling/createMessage` or `roots/list`.

        Raises:
            RpcError: The client cannot be asked this, or refused to answer.
        """
        raise NotImplementedError


class Server:
    """Reads requests from stdin until end of file and answers them; subclasses say what they mean.

    `methods` maps a method to a function from a Call to its result. Methods in `slow_methods` run in a thread of their own,
    the rest one after the other on the reading thread.
    """

    name = "demo"
    call_type: type[Call] = Call
    slow_methods = frozenset({"tools/call"})
    ids_repeat = False  # several clients at once, each with ids of its own

    def __init__(self) -> None:
        self.methods: dict[str, Callable[[Any], Json | None]] = {}
        self.running: dict[str, Call] = {}
        self._lock = threading.Lock()
        self._workers: list[threading.Thread] = []

    def run(self) -> None:
        """Serve stdin until it ends, then cancel what still runs."""
        for line in sys.stdin.buffer:
            if not line.strip():
                continue
            try:
                message = json.loads(line)
            except ValueError as problem:
                self.send({"id": None, "error": {"code": PARSE_ERROR, "message": f"not JSON: {problem}"}})
                continue
            if isinstance(message, dict):
                self.receive(message)
            else:
                words = "one JSON object per line, please; batches are not spoken here"
                self.send({"id": None, "error": {"code": INVALID_REQUEST, "message": words}})
        self.stop()

    def receive(self, message: Json, sink: Callable[[Any], None] | None = None) -> Call | None:
        """Take one message; the call, if it is a request. What belongs to that goes to `sink`, then None."""
        if "method" not in message:
            self.on_answer(message)
            return None
        if "id" not in message:
            self.on_notification(message["method"], message.get("params") or {})
            return None
        call = self.call_type(self, message["id"], message.get("params") or {})
        call.sink = sink
        self.running[call.key] = call
        if message["method"] in self.slow_methods:
            worker = threading.Thread(target=self._settle, args=(call, message["method"]), daemon=True)
            worker.start()
            self._workers = [one for one in self._workers if one.is_alive()] + [worker]
        else:
            self._settle(call, message["method"])
        return call

    def stop(self) -> None:
        """Cancel what still runs, and give it a moment."""
        for call in list(self.running.values()):
            call.gone.set()
        for worker in self._workers:
            worker.join(1.0)

    def _settle(self, call: Call, method: str) -> None:
        """Run one request to its end: a result, an error, or silence when it was cancelled."""
        try:
            result = self.before(call, method)(call)
            if result is None:  # a subscription: stays open
                return
            reply: Json = {"result": self.finish(result)}
        except RpcError as problem:
            reply = {"error": problem.error}
        except Cancelled:
            self.running.pop(call.key, None)
            if call.sink is not None:
                call.sink(None)
            return
        except Exception as problem:
            reply = {"error": {"code": INTERNAL_ERROR, "message": f"{type(problem).__name__}: {problem}"}}
        if self.running.pop(call.key, None) is not None:  # else it was cancelled meanwhile
            self.send({"id": call.request_id, **reply}, call)
        if call.sink is not None:
            call.sink(None)

    def before(self, call: Call, method: str) -> Callable[[Any], Json | None]:
        """Check a request and find who handles it."""
        handler = self.methods.get(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return handler

    def finish(self, result: Json) -> Json:
        """Add to a result what the era wants in each of them."""
        return result

    def on_answer(self, message: Json) -> None:
        """Take the client's answer to a request of ours."""

    def on_notification(self, method: str, params: Json) -> None:
        """Take a one-way message; only cancellation means something here."""
        if method == "notifications/cancelled" and (call := self.running.pop(repr(params.get("requestId")), None)):
            call.gone.set()

    def notify(self, method: str, params: Json | None = None, call: Call | None = None) -> None:
        self.send({"method": method} | ({"params": params} if params else {}), call)

    def send(self, message: Json, call: Call | None = None) -> None:
        """Send one message: where its call wants it, or where everything goes that belongs to none."""
        if call is not None and call.sink is not None:
            call.sink(message)
        else:
            self.write(message)

    def write(self, message: Json) -> None:
        """Write one message as one line; when the client has gone there is nothing left to do."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._lock:
            try:
                sys.stdout.buffer.write(line.encode("utf-8", "backslashreplace"))  # a lone surrogate goes back as it came: \udXXX
                sys.stdout.buffer.flush()
            except BrokenPipeError:
                os._exit(0)
