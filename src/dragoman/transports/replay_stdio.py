"""A transcript as a server on lines: as a transport inside this process, and as a program on stdin and stdout. The wire can be cut."""

from __future__ import annotations

import asyncio
import heapq
import json
import os
import select
import time
from typing import Any, Final

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import STDIO, Close, Performable, Send, Traits
from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.transports.base import Closed, Oversized, Received, Sink
from dragoman.transports.replay import Line, Script
from dragoman.transports.transcript import Transcript

CUT_STATUS: Final = 1
"""What the program exits with when it cuts the wire."""

ENDED_STATUS: Final = 3
"""What it exits with where the recorded server ended by itself."""

_READ: Final = 65536


class ReplayTransport:
    """A server inside this process that says what a transcript says, as if through a pipe.

    Args:
        transcript: As read.
        cut: After how many bytes of the server's wire it ends; ``None`` for never.
        delay: Wait as long before each message as it took then.
        label: What to call it.

    Attributes:
        written: How many bytes the server has written.
    """

    traits: Traits = STDIO

    def __init__(
        self, transcript: Transcript, *, cut: int | None = None, delay: bool = False, label: str = "replay", frame_limit: int = 128 << 20
    ) -> None:
        self.label, self.written = label, 0
        self._script, self._cut, self._delay = Script(transcript), cut, delay
        self._splitter, self._limit = LineSplitter(frame_limit), frame_limit
        self._report: Sink | None = None
        self._opened = False
        self._timers: list[asyncio.TimerHandle] = []

    async def open(self, report: Sink) -> None:
        """Begin to play."""
        if self._opened:
            raise LocalProtocolError(f"the connection to {self.label} was opened before; make a new one")
        self._opened, self._report = True, report
        self._say(self._script.begin())
        if self._cut == 0:
            asyncio.get_running_loop().call_soon(self._write, b"")

    async def perform(self, action: Performable) -> None:
        """Hear a message, and say what the transcript says to it."""
        if isinstance(action, Close):
            await self.close()
        elif isinstance(action, Send) and self._report is not None:
            self._say(self._script.take(json.loads(action.message)).lines)

    async def close(self) -> None:
        """Stop playing."""
        self._end("closed by us")

    def _say(self, lines: list[Line]) -> None:
        loop = asyncio.get_running_loop()
        if not self._delay:
            data = b"".join(line.data + b"\n" for line in lines if line.end is None)
            if data:
                loop.call_soon(self._write, data)
            if (end := _end_in(lines)) is not None:
                loop.call_soon(self._end, end)
            return
        for line in lines:
            if line.end is None:
                self._timers.append(loop.call_later(line.delay_s, self._write, line.data + b"\n"))
            elif line.owner is None:
                self._timers.append(loop.call_later(line.delay_s, self._end, line.end))

    def _write(self, data: bytes) -> None:
        if self._report is None:
            return
        last = self._cut is not None and self.written + len(data) >= self._cut
        if last and self._cut is not None:
            data = data[: self._cut - self.written]
        self.written += len(data)
        self._take(self._splitter.feed(data))
        if last:
            self._take(self._splitter.end())
            self._end(f"the wire was cut after {self.written} bytes")

    def _take(self, lines: list[Any]) -> None:
        for line in lines:
            if self._report is not None:
                self._report(Oversized(line.head, line.tail, line.size, self._limit) if isinstance(line, Discarded) else Received(line))

    def _end(self, reason: str) -> None:
        report, self._report = self._report, None
        for timer in self._timers:
            timer.cancel()
        if report is not None:
            report(Closed(reason))


def serve_stdio(transcript: Transcript, *, cut: int | None = None, delay: bool = False, stdin: int = 0, stdout: int = 1) -> int:
    """Play on two descriptors until the input ends; returns the exit status, 1 where the wire was cut."""
    script, heard, written = Script(transcript), LineSplitter(128 << 20), 0
    due: list[tuple[float, int, bytes | None]] = []
    count = 0

    def say(lines: list[Line]) -> None:
        nonlocal count
        now = time.monotonic()
        for line in lines:
            if line.end is not None and line.owner is not None:
                continue  # a stream has no end here
            count += 1
            heapq.heappush(due, (now + (line.delay_s if delay else 0.0), count, line.data + b"\n" if line.end is None else None))

    say(script.begin())
    reading = True
    while reading or due:
        while due and due[0][0] <= time.monotonic():
            data = heapq.heappop(due)[2]
            if data is None:
                return ENDED_STATUS
            if cut is not None:
                data = data[: cut - written]
            try:
                _write_all(stdout, data)
            except BrokenPipeError:
                return 0
            written += len(data)
            if written == cut:
                break
        if written == cut:
            return CUT_STATUS
        wait_s = max(0.0, due[0][0] - time.monotonic()) if due else None
        if not reading:
            time.sleep(wait_s or 0.0)
            continue
        if not select.select([stdin], [], [], wait_s)[0]:
            continue
        chunk = os.read(stdin, _READ)
        reading = bool(chunk)
        for message in heard.feed(chunk) if chunk else heard.end():
            say(_said_to(script, message))
    return 0


def _end_in(lines: list[Line]) -> str | None:
    return next((line.end for line in lines if line.end is not None and line.owner is None), None)


def _said_to(script: Script, line: Any) -> list[Line]:
    try:
        return script.take(json.loads(line)).lines
    except (ValueError, RecursionError, TypeError):
        return script.take(None).lines


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
