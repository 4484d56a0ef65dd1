"""Reads a stream of server-sent events: bytes in, events out; it does no I/O and knows nothing of MCP.

Costs are linear in the bytes fed, however they are cut. An event whose data is over the limit is thrown away while it is
read, keeping its first and last bytes.

Source: WHATWG HTML, "Parsing an event stream" and "Interpreting an event stream".
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import msgspec

from dragoman.protocol.bounds import SAMPLE, Bound, Weigh

EDGE: Final = SAMPLE  # bytes kept of either end of a discarded event
_FIELD_LIMIT: Final = 64 * 1024  # a comment or a field other than data; ids and event names are a few bytes
_RETRY_DIGITS: Final = 15
_BOM: Final = b"\xef\xbb\xbf"
_DATA: Final = b"data:"


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event.

    Attributes:
        event: Its type, ``message`` unless the server named another.
        data: Its data lines, joined by newlines; not decoded. May be empty.
        id: The last id seen on the stream, ``""`` before the first.
        retry: Reconnection time in milliseconds, where this event set one.
    """

    event: str
    data: bytes | bytearray
    id: str
    retry: int | None = None


class SseDiscarded(msgspec.Struct, frozen=True):
    """An event whose ``size`` bytes of data were over the limit; ``head`` and ``tail`` are at most 4 KB each."""

    head: bytes
    tail: bytes
    size: int


class _Discarding:
    """An event that is being thrown away."""

    __slots__ = ("head", "size", "tail")

    def __init__(self, data: bytes | bytearray) -> None:
        self.head = bytes(data[:EDGE])
        self.tail = bytearray(data[-EDGE:])
        self.size = len(data)

    def add(self, data: bytes | bytearray) -> None:
        self.size += len(data)
        if len(self.head) < EDGE:
            self.head += data[: EDGE - len(self.head)]
        self.tail += data[-EDGE:]
        if len(self.tail) > 4 * EDGE:  # now and then, so that many small additions stay cheap
            del self.tail[:-EDGE]

    def done(self) -> SseDiscarded:
        return SseDiscarded(self.head, bytes(self.tail[-EDGE:]), self.size)


class _Line(Enum):
    KEPT = 0  # the line is collected until it ends
    DRAINED = 1  # the line is data of an event that is being discarded
    IGNORED = 2  # the line is no data and far too long


class SseParser:
    """The reader of one stream.

    Args:
        limit: Most bytes of data in one event.
        weigh: Says of a long event, by the beginning of its data, how long it may become.

    Attributes:
        last_id: The id of the last event that was complete, what a legacy client sends as ``Last-Event-ID``.
        retry_ms: The last reconnection time seen; an event need not follow it.
    """

    __slots__ = ("_after_cr", "_bom", "_bound", "_data", "_event", "_id", "_line", "_mode", "_over", "_retry", "last_id", "retry_ms")

    def __init__(self, limit: int, weigh: Weigh | None = None) -> None:
        self.last_id = self._id = ""
        self.retry_ms: int | None = None
        self._bound = Bound(limit, weigh)
        self._bom: bytes | None = b""  # what may be the start of a byte order mark; None once that is settled
        self._after_cr = False
        self._line = bytearray()
        self._mode = _Line.KEPT
        self._event = ""
        self._data: bytes | bytearray | None = None
        self._over: _Discarding | None = None
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[SseEvent | SseDiscarded]:
        """Take in bytes, return the events they complete: each is complete at its blank line, and one cut off by the end is none."""
        if self._bom is not None:
            chunk = self._bom + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._bom = chunk
                return []
            self._bom = None
            chunk = chunk.removeprefix(_BOM)
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:  # rare: JSON holds none, and most servers write LF
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        found: list[SseEvent | SseDiscarded] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._end_line(line, found)
        if rest:
            self._part(rest)
        return found

    def _part(self, part: bytes) -> None:
        """More of a line whose end has not arrived."""
        if self._mode is _Line.DRAINED:
            assert self._over is not None
            self._over.add(part)
            return
        if self._mode is _Line.IGNORED:
            return
        line = self._line
        line += part
        if not line.startswith(_DATA):
            if len(line) > _FIELD_LIMIT:
                self._line = bytearray()
                self._mode = _Line.IGNORED
            return
        start = _value_at(line)
        value = memoryview(line)[start:]
        over = self._over is not None or self._is_over(value)
        value.release()  # else the line cannot grow
        if over and len(line) > len(_DATA):  # at "data:" alone, the space that does not count may be the next byte
            self._line = bytearray()
            self._mode = _Line.DRAINED
            self._discard(line[start:])

    def _end_line(self, line: bytes, found: list[SseEvent | SseDiscarded]) -> None:
        if self._mode is not _Line.KEPT:
            if self._mode is _Line.DRAINED:
                assert self._over is not None
                self._over.add(line)
            self._mode = _Line.KEPT
            return
        if self._line:
            whole, self._line = self._line, bytearray()
            whole += line
            if whole.startswith(_DATA):
                del whole[: _value_at(whole)]  # moves no byte, where a slice would copy what may be many megabytes
                self._add_data(whole)
                return
            line = bytes(whole)
        if not line:
            self._dispatch(found)
        elif line.startswith(_DATA):
            self._add_data(line[_value_at(line) :])
        elif not line.startswith(b":") and len(line) <= _FIELD_LIMIT:
            name, _, value = line.partition(b":")
            self._field(name, value.removeprefix(b" "))

    def _add_data(self, value: bytes | bytearray) -> None:
        if self._over is not None or self._is_over(value):
            self._discard(value)
        elif self._data is None:
            self._data = value
        else:
            if isinstance(self._data, bytes):
                self._data = bytearray(self._data)
            self._data += b"\n"
            self._data += value

    def _is_over(self, more: bytes | bytearray | memoryview) -> bool:
        data = self._data
        return self._bound.is_over(len(more), b"", more) if data is None else self._bound.is_over(len(data) + 1 + len(more), data, more)

    def _discard(self, value: bytes | bytearray) -> None:
        """The first part of a data line that belongs to an event over the limit."""
        if self._over is None:
            if self._data is None:
                self._over = _Discarding(value)
                return
            self._over = _Discarding(self._data)
            self._data = None
        self._over.add(b"\n")
        self._over.add(value)

    def _field(self, name: bytes, value: bytes) -> None:
        if name == b"event":
            self._event = value.decode("utf-8", "replace")
        elif name == b"data":
            self._add_data(value)
        elif name == b"id":
            if b"\0" not in value:
                self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self._retry = self.retry_ms = int(value)

    def _dispatch(self, found: list[SseEvent | SseDiscarded]) -> None:
        self.last_id = self._id  # not before: an event that was cut off has to be sent again
        if self._over is not None:
            found.append(self._over.done())
        elif self._data is not None:
            found.append(SseEvent(self._event or "message", self._data, self.last_id, self._retry))
        self._event, self._data, self._over, self._retry = "", None, None, None
        self._bound.next()


def _value_at(line: bytes | bytearray) -> int:
    return len(_DATA) + 1 if line[len(_DATA) : len(_DATA) + 1] == b" " else len(_DATA)
