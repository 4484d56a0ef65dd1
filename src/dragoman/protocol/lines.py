"""Bytes to lines, sans-IO: chunks of any size go in, whole lines come out, at linear cost. It is not a JSON reader."""

from __future__ import annotations

from typing import Final, NamedTuple

from dragoman.protocol.bounds import SAMPLE, Bound, Weigh

_CR: Final = 0x0D


class Discarded(NamedTuple):
    """A line over the limit: its first and last bytes (at most ``SAMPLE`` each) and its size without the newline."""

    head: bytes
    tail: bytes
    size: int


Line = bytes | bytearray
"""A line without its end; whoever gets it may keep it, it is not written to again."""


class LineSplitter:
    """Splits at ``\\n`` and nowhere else; strips one ``\\r`` before it; skips blank lines.

    How the input is cut into chunks does not matter. A line is held as long as it is within the limit; beyond, it is
    thrown away while it is read, so memory stays bounded by the limit.

    Args:
        limit: The longest line in bytes, a ``\\r`` counted, the ``\\n`` not.
        weigh: Says of a long line, by its beginning, how long it may become.
    """

    __slots__ = ("_bound", "_held", "_limit", "_over")

    def __init__(self, limit: int, weigh: Weigh | None = None) -> None:
        self._limit = limit
        self._bound = Bound(limit, weigh)
        self._held = bytearray()
        self._over: Over | None = None

    def feed(self, chunk: bytes) -> list[Line | Discarded]:
        """Take in what arrived; returns the lines that are whole now."""
        pieces = chunk.split(b"\n")  # without a newline in it, this is the chunk itself, not a copy
        rest = pieces.pop()
        found: list[Line | Discarded] = []
        if pieces:
            first = 0
            if self._held or self._over is not None:
                self._hold(pieces[0])
                found += self.end()
                first = 1
            limit = self._limit
            for line in pieces[first:] if first else pieces:
                if len(line) > limit:
                    found.append(Discarded(line[:SAMPLE], line[-SAMPLE:], len(line)))
                elif line and not line.isspace():
                    found.append(line[:-1] if line[-1] == _CR else line)
        if rest:
            self._hold(rest)
        return found

    def end(self) -> list[Line | Discarded]:
        """The input ended: whatever is held counts as a line. The splitter may be used again afterwards."""
        self._bound.next()
        if self._over is not None:
            over, self._over = self._over, None
            return [Discarded(over.head, over.tail, over.size)]
        if not self._held:
            return []
        line, self._held = self._held, bytearray()  # handed over, not copied
        if line.isspace():
            return []
        if line[-1] == _CR:
            del line[-1]
        return [line]

    def _hold(self, piece: bytes) -> None:
        if self._over is None:
            if not self._bound.is_over(len(self._held) + len(piece), self._held, piece):
                self._held += piece
                return
            self._over, self._held = Over(self._held), bytearray()
        self._over.add(piece)


class Over:
    """What is being discarded, of which both ends and the size are kept."""

    __slots__ = ("head", "size", "tail")

    def __init__(self, held: bytearray) -> None:
        self.head, self.tail, self.size = bytes(held[:SAMPLE]), bytes(held[-SAMPLE:]), len(held)

    def add(self, piece: bytes) -> None:
        if len(self.head) < SAMPLE:
            self.head += piece[: SAMPLE - len(self.head)]
        self.tail = piece[-SAMPLE:] if len(piece) >= SAMPLE else (self.tail + piece)[-SAMPLE:]
        self.size += len(piece)
