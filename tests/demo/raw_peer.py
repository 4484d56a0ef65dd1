"""The other end of a stdio server for tests: raw lines of JSON, bounded waits, nothing of Dragoman's own client in it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import dragoman.demo

Json = dict[str, Any]

META: Json = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PATIENCE_S = 10.0
DEMO = Path(dragoman.demo.__file__).parent


class RawPeer:
    """Starts a server and talks to it; leaving the block closes its stdin, and kills it if it does not end.

    Attributes:
        heard: Requests and notifications that came while `request` waited for an answer, oldest first.
        extra: Members added to the params of every request, such as the modern `_meta`.
    """

    def __init__(self, *command: str, env: Mapping[str, str] | None = None) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr, env={**os.environ, **(env or {})}, bufsize=0
        )
        self._buffer = bytearray()
        self._last_id = 0
        self.heard: list[Json] = []
        self.extra: Json = {}

    @classmethod
    def python(cls, script: Path, *arguments: str) -> Self:
        return cls(sys.executable, str(script), *arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close_stdin()
        try:
            self._child.wait(0.2 if kind else 3.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait(PATIENCE_S)
        assert self._child.stdout
        self._child.stdout.close()
        self._stderr.close()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def running(self) -> bool:
        return self._child.poll() is None

    def stderr(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def close_stdin(self) -> None:
        assert self._child.stdin
        try:
            self._child.stdin.close()
        except BrokenPipeError:
            pass

    def status(self) -> int:
        """Wait for the server to end; its exit status."""
        return self._child.wait(PATIENCE_S)

    def terminate(self) -> None:
        self._child.terminate()

    def write(self, data: bytes) -> None:
        """All of the bytes, however slowly they are read."""
        assert self._child.stdin
        view = memoryview(data)
        while view:
            view = view[self._child.stdin.write(view) or 0 :]

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def post(self, method: str, params: Json | None = None) -> int:
        """Send a request and do not wait; its id."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": {**(params or {}), **self.extra}})
        return self._last_id

    def line(self, within_s: float = PATIENCE_S) -> bytes:
        """The next line with its end; what is left at end of file; empty after that."""
        assert self._child.stdout
        descriptor, limit, seen = self._child.stdout.fileno(), time.monotonic() + within_s, 0
        while (end := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            if not select.select([descriptor], [], [], max(0.0, limit - time.monotonic()))[0]:
                raise TimeoutError(
                    f"no whole line within {within_s} s; so far: {bytes(self._buffer[:200])!r}; stderr: {self.stderr()[-500:]}"
                )
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                end = len(self._buffer) - 1
                break
            self._buffer += chunk
        taken = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return taken

    def silent(self, for_s: float = 0.3) -> bool:
        """Does nothing come for this long?"""
        try:
            return not self.line(for_s)
        except TimeoutError:
            return True

    def receive(self) -> Json:
        """The next line, which must be one JSON object."""
        message = json.loads(self.line())
        assert isinstance(message, dict)
        return message

    def answer_to(self, request_id: object) -> Json:
        """The response with this id; all else that comes before it goes to `heard`."""
        while True:
            message = self.receive()
            if "method" not in message and message.get("id") == request_id:
                return message
            self.heard.append(message)

    def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request and wait for its response (the whole message)."""
        return self.answer_to(self.post(method, params))

    def result(self, method: str, params: Json | None = None) -> Json:
        """The same where a result is expected."""
        response = self.request(method, params)
        assert "result" in response, response
        result = response["result"]
        assert isinstance(result, dict)
        return result

    def call(self, tool: str, **arguments: Any) -> Json:
        """The result of tools/call."""
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def words(self, tool: str, **arguments: Any) -> str:
        """The text of the first block of what a tool returns."""
        text = self.call(tool, **arguments)["content"][0]["text"]
        assert isinstance(text, str)
        return text

    def initialize(self, revision: str = "2025-11-25", capabilities: Json | None = None) -> Json:
        """The handshake; its result."""
        result = self.result(
            "initialize",
            {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": {"name": "raw", "version": "1"}},
        )
        self.send({"method": "notifications/initialized"})
        return result

    def discover(self, capabilities: Json | None = None) -> Json:
        """Speak the modern era from now on; the result of server/discover."""
        self.extra = {"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": capabilities or {}}}
        return self.result("server/discover")


def legacy(capabilities: Json | None = None, revision: str = "2025-11-25") -> RawPeer:
    """The demo server "harbour" after its handshake."""
    peer = RawPeer.python(DEMO / "legacy.py")
    peer.initialize(revision, capabilities)
    return peer


def modern(capabilities: Json | None = None) -> RawPeer:
    """The demo server "bazaar" after server/discover."""
    peer = RawPeer.python(DEMO / "modern.py")
    peer.discover(capabilities)
    return peer


ODD = Path(__file__).parents[1] / "servers"


def odd(name: str, *arguments: str) -> RawPeer:
    """An odd server of tests/servers, not yet spoken to."""
    return RawPeer.python(ODD / f"{name}.py", *arguments)


def greeted(name: str, *arguments: str) -> RawPeer:
    """The same after a legacy handshake."""
    peer = odd(name, *arguments)
    peer.initialize()
    return peer


def call_line(peer: RawPeer, text: str = "hi") -> bytes:
    """Call `echo`; the next raw line."""
    peer.post("tools/call", {"name": "echo", "arguments": {"text": text}})
    return peer.line()
