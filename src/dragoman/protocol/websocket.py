"""WebSocket frames, sans-IO: bytes go in, whole messages and control frames come out, and back. The client's half only, no compression.

Source: RFC 6455, sections 5 and 7.4; the numbers in the comments are its.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from dragoman.protocol.bounds import SAMPLE, Bound, Weigh
from dragoman.protocol.lines import Discarded, Over

_FIN: Final = 0x80
_RESERVED: Final = 0x70
_MASKED: Final = 0x80
_CONTROL_LIMIT: Final = 125
_LENGTH_16: Final = 126
_LENGTH_64: Final = 127


class Opcode(IntEnum):
    """What a frame is (11.8)."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


CODES: Final[dict[int, str]] = {
    1000: "normal closure",
    1001: "going away",
    1002: "protocol error",
    1003: "unsupported data",
    1005: "no code",
    1006: "abnormal closure",
    1007: "invalid data",
    1008: "policy violation",
    1009: "message too big",
    1010: "extension missing",
    1011: "internal error",
    1012: "service restart",
    1013: "try again later",
    1014: "bad gateway",
    1015: "TLS failure",
}
"""Close codes by name (7.4.1 and the IANA registry); 3000 to 3999 are of libraries, 4000 to 4999 of applications."""


class Ping(NamedTuple):
    """To be answered with a pong of the same payload."""

    payload: bytes


class Pong(NamedTuple):
    """An answer to a ping, or unasked."""

    payload: bytes


class Ended(NamedTuple):
    """The peer closes, or broke the framing, after which nothing more can be read.

    Attributes:
        code: The peer's, 1005 without one; or ours, to be sent, where ``broken``.
        reason: The peer's text; or what it did wrong.
    """

    code: int
    reason: str
    broken: bool = False

    def __str__(self) -> str:
        name = CODES.get(self.code, "of its own" if 3000 <= self.code < 5000 else "unknown")
        return f"{self.code} ({name})" + (f": {self.reason}" if self.reason else "")


Found = bytes | bytearray | Discarded | Ping | Pong | Ended


class FrameReader:
    """Reads what a server sends; how it is cut into chunks and a message into frames does not matter.

    Args:
        limit: The longest message in bytes; a longer one is thrown away while it is read.
        weigh: Says of a long message, by its beginning, how long it may become.
    """

    __slots__ = ("_bound", "_code", "_final", "_head", "_is_over", "_left", "_limit", "_message", "_open", "_over", "_payload")

    def __init__(self, limit: int, weigh: Weigh | None = None) -> None:
        self._limit = limit
        self._bound = Bound(limit, weigh)
        self._head = bytearray()
        self._left = -1  # bytes of the payload to come; -1: in the head of a frame
        self._code = Opcode.TEXT
        self._final = True
        self._open = False  # a message has begun and not ended
        self._payload = bytearray()  # of a control frame, which may come between the frames of a message
        self._message = bytearray()
        self._over: Over | None = None
        self._is_over = False

    def feed(self, chunk: bytes) -> list[Found]:
        """Take in what arrived. After :class:`Ended` nothing is read any more."""
        found: list[Found] = []
        view, at = memoryview(chunk), 0
        while not self._is_over:
            if self._left < 0:
                wanted = self._wanted()
                piece = view[at : at + wanted]
                self._head += piece
                at += len(piece)
                if len(piece) < wanted:
                    break
                if self._wanted() == 0 and (wrong := self._begin()) is not None:
                    self._is_over = True
                    found.append(wrong)
                continue
            piece = view[at : at + self._left]
            at += len(piece)
            self._left -= len(piece)
            self._keep(piece)
            if self._left:
                break
            self._left = -1
            if (one := self._finish()) is not None:
                found.append(one)
                self._is_over = isinstance(one, Ended)
        return found

    def _wanted(self) -> int:
        """How many bytes the head still lacks."""
        head = self._head
        if len(head) < 2:
            return 2 - len(head)
        length = head[1] & 0x7F
        extra = 2 if length == _LENGTH_16 else 8 if length == _LENGTH_64 else 0
        return 2 + extra + (4 if head[1] & _MASKED else 0) - len(head)

    def _begin(self) -> Ended | None:
        head, self._head = self._head, bytearray()
        if head[0] & _RESERVED:
            return _broken("a reserved bit is set, and no extension was agreed on")  # 5.2
        if head[1] & _MASKED:
            return _broken("a frame of a server is masked")  # 5.1
        try:
            self._code = Opcode(head[0] & 0x0F)
        except ValueError:
            return _broken(f"unknown opcode {head[0] & 0x0F}")
        self._final = bool(head[0] & _FIN)
        length = head[1] & 0x7F
        if self._code >= Opcode.CLOSE:
            if not self._final or length > _CONTROL_LIMIT:
                return _broken("a control frame is in parts or over 125 bytes")  # 5.5
        elif (self._code == Opcode.CONTINUATION) != self._open:
            return _broken("a message begins in the middle of another" if self._open else "a continuation of nothing")  # 5.4
        else:
            self._open = True
        self._left = length if length < _LENGTH_16 else int.from_bytes(head[2 : 4 if length == _LENGTH_16 else 10], "big")
        return None

    def _keep(self, piece: memoryview) -> None:
        if self._code >= Opcode.CLOSE:
            self._payload += piece
        elif self._over is not None:
            self._over.add(bytes(piece))
        elif self._is_too_long(piece):
            # Known from the frame's head: a message that will be too long is not collected up to the limit first.
            self._over = Over(self._message)
            self._message = bytearray()
            self._over.add(bytes(piece))
        else:
            self._message += piece

    def _is_too_long(self, piece: memoryview) -> bool:
        here = len(self._message) + len(piece)
        if here < SAMPLE and self._left:  # what it is cannot be seen yet
            return here + self._left > self._limit
        return self._bound.is_over(here + self._left, self._message, piece)

    def _finish(self) -> Found | None:
        """The payload of a frame is complete."""
        if self._code >= Opcode.CLOSE:
            payload, self._payload = bytes(self._payload), bytearray()
            if self._code == Opcode.CLOSE:
                return _closing(payload)
            return Ping(payload) if self._code == Opcode.PING else Pong(payload)
        if not self._final:
            return None
        self._open = False
        self._bound.next()
        if self._over is not None:
            over, self._over = self._over, None
            return Discarded(over.head, over.tail, over.size)
        message, self._message = self._message, bytearray()
        return message


def frame(code: Opcode, payload: bytes, mask: bytes) -> bytes:
    """One whole frame as a client sends it (5.3).

    Args:
        mask: Four bytes that nobody can foresee.
    """
    length = len(payload)
    if length < _LENGTH_16:
        head = bytes((_FIN | code, _MASKED | length))
    elif length < 1 << 16:
        head = bytes((_FIN | code, _MASKED | _LENGTH_16)) + length.to_bytes(2, "big")
    else:
        head = bytes((_FIN | code, _MASKED | _LENGTH_64)) + length.to_bytes(8, "big")
    # As one number: a loop over the bytes takes a hundred times as long.
    cover = int.from_bytes((mask * (length // 4 + 1))[:length], "little")
    return b"".join((head, mask, (int.from_bytes(payload, "little") ^ cover).to_bytes(length, "little")))


def close_payload(code: int, reason: str = "") -> bytes:
    """What a close frame carries: at most 123 bytes of reason, whole characters only."""
    return code.to_bytes(2, "big") + reason.encode()[: _CONTROL_LIMIT - 2].decode("utf-8", "ignore").encode()


def _closing(payload: bytes) -> Ended:
    if not payload:
        return Ended(1005, "")
    if len(payload) == 1:
        return _broken("a close frame of one byte")
    return Ended(int.from_bytes(payload[:2], "big"), payload[2:].decode("utf-8", "replace"))


def _broken(what: str) -> Ended:
    return Ended(1002, what, broken=True)
