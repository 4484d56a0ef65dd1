"""Matching answers to requests: what arrived, which request it can settle, and what that means.

Ids match by value and type. A lone mismatch of type is believed and reported; an answer on another request's stream, to a
foreign id, or twice is never believed.

Source: MCP basic/index#responses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import UNSET, Raw

from dragoman.protocol.events import SAMPLE, ErrorReceived, Event, PeerViolation, ResponseUnreadable, ResultReceived, short
from dragoman.protocol.handshake import ClientHandshake
from dragoman.protocol.inbound import begins, response_id
from dragoman.protocol.pending import Entry, PendingTable
from dragoman.wire.envelope import INVALID_REQUEST, Envelope, ErrorBody, RequestId, decode_error, decode_plain_error

MAX_HANDSHAKE: Final = 1 << 20  # of what a server says about itself, its instructions included
_ENVELOPE: Final = 4096  # what a message may have beyond its result: an id, white space, members of the server's own
_UNASKED: Final = 16 << 20  # of a request or a notice of theirs; the longest ones carry a picture
_STRAY: Final = 1 << 20  # of a long message that is none of ours: log text on the wrong stream, an answer that nobody asked for


class Answers:
    """Settles open requests.

    Args:
        pending: The open requests.
        handshake: Gets the answers to handshake requests.
        emit: Takes events.
    """

    __slots__ = ("_emit", "_handshake", "_pending")

    def __init__(self, pending: PendingTable, handshake: ClientHandshake | None, emit: Callable[[Event], None]) -> None:
        self._pending = pending
        self._handshake = handshake
        self._emit = emit

    def take(self, envelope: Envelope, via: RequestId | None, message: bytes | bytearray, status: int | None = None) -> None:
        """One message without a method; ``status`` is HTTP's, where it was not one of success."""
        result, error, stated = envelope.result, envelope.error, envelope.id
        if error is UNSET and result is not UNSET and (via is None or via == stated):  # nearly every answer ends here
            entry = self._pending.settle(stated)
            if entry is not None:
                self._take_result(stated, entry, result, message)  # type: ignore[arg-type]  # what was in the table is an id
                return
        if error is not UNSET and bytes(error) == b"null":
            error = UNSET  # some servers always write both members
        request_id: RequestId | None
        if stated is UNSET or stated is None:
            if via is None or error is UNSET:
                text = bytes(error)[:SAMPLE].decode("utf-8", "replace") if error is not UNSET else ""
                self._violation("no-id", f"an error without an id: {text}" if text else "neither a method nor an id", message)
                return
            request_id = via  # HTTP refusals often lack the id; the stream says which request is meant
        elif status is not None and via is not None and error is not UNSET and stated not in self._pending:
            request_id = via  # and some put a word there, such as "server-error"
        else:
            request_id = stated
        request_id = self._match(request_id, via, message)
        entry = None if request_id is None else self._pending.settle(request_id)
        if request_id is None or entry is None:
            return
        if error is not UNSET:
            if result is not UNSET and bytes(result) != b"null":
                self._violation("both", "an answer with result and error; the error counts", message)
            try:
                body = decode_error(error)
            except (msgspec.DecodeError, RecursionError):
                try:
                    body = decode_plain_error(error)  # such as data with a number like 1e400
                    self._violation("bad-error", "an error object whose data cannot be read", message)
                except (msgspec.DecodeError, RecursionError):
                    body = ErrorBody(INVALID_REQUEST, bytes(error)[:SAMPLE].decode("utf-8", "replace"))
                    self._violation("bad-error", "an error object without code and message", message)
            if entry.handshake and self._handshake is not None:
                self._handshake.on_error(request_id, body, status)
            else:
                self._emit(ErrorReceived(request_id, body, status))
        elif result is UNSET:
            self._violation("empty", "an answer with neither result nor error", message)
            self._unreadable(request_id, entry.handshake, "the answer has neither result nor error", None)
        else:
            self._take_result(request_id, entry, result, message)

    def _take_result(self, request_id: RequestId, entry: Entry, result: Raw, message: bytes | bytearray) -> None:
        if entry.max_bytes is not None and (size := len(memoryview(result))) > entry.max_bytes:
            self._unreadable(request_id, entry.handshake, f"the answer is {size} bytes, limit {entry.max_bytes}", size, entry.max_bytes)
        elif entry.handshake and self._handshake is not None:
            if flaw := self._handshake.on_result(request_id, result):
                self._violation("out-of-range", f"a part of the handshake was left out: {flaw}", message)
        else:
            self._emit(ResultReceived(request_id, result))

    def longest(self, head: bytes, via: RequestId | None = None) -> int | None:
        """How many bytes a long message may have that begins like this; ``None``: as many as any.

        An answer is as long as whoever asked wants it, and one that nobody waits for any more need not be kept at all. Where the id
        comes last, all that are waited for decide.
        """
        kind, stated = begins(head)
        if kind != "answer":
            return _UNASKED if kind == "request" else _STRAY if kind == "noise" else None
        request_id = via if stated is None else stated
        if request_id is None:
            most = self._pending.longest()
        else:
            entry = self._entry(request_id)
            if entry is None:
                return 0 if self._pending.minted(request_id) else _STRAY
            most = entry.max_bytes
        return None if most is None else most + _ENVELOPE

    def take_oversized(self, head: bytes, tail: bytes, size: int, limit: int, via: RequestId | None) -> None:
        """A message was thrown away while it was read; ``limit`` is that of the channel."""
        stated = response_id(head, tail)
        request_id = via if stated is None else stated
        entry = None if request_id is None else self._entry(request_id)
        if entry is None and stated is not None and self._pending.minted(stated):
            return  # late: nobody waits for it
        own = None if entry is None else entry.max_bytes
        if own is None or size <= own:
            own = None
            what = f"limit {limit} (frame_limit)" if size > limit else f"limit {_UNASKED} for what is no answer"
            self._violation("oversized", f"a message of {size} bytes, {what}", head)
        if request_id is not None:
            most = limit if own is None else own
            self.take_unreadable(request_id, via, f"the answer is {size} bytes, limit {most}", size, own)

    def _entry(self, request_id: RequestId) -> Entry | None:
        entry = self._pending.get(request_id)
        if entry is None and (other := self._pending.alias(request_id)) is not None:
            entry = self._pending.get(other)
        return entry

    def take_unreadable(
        self, request_id: RequestId, via: RequestId | None, reason: str, size: int | None = None, max_bytes: int | None = None
    ) -> None:
        """Bytes that were meant to answer ``request_id`` and cannot be read."""
        if request_id not in self._pending:
            other = self._pending.alias(request_id)
            if other is None:
                return
            request_id = other
        if via is not None and via != request_id and via in self._pending:
            return
        entry = self._pending.settle(request_id)
        if entry is not None:
            self._unreadable(request_id, entry.handshake, reason, size, max_bytes)

    def _match(self, request_id: RequestId, via: RequestId | None, message: bytes | bytearray) -> RequestId | None:
        if request_id in self._pending:
            if via is None or via == request_id or via not in self._pending:
                return request_id
            self._violation("wrong-stream", f"an answer to {short(request_id)} on the stream of {short(via)}; ignored", message)
            return None
        other = self._pending.alias(request_id)
        if other is not None and (via is None or via == other):
            self._violation("id-type", f"an answer to {short(request_id)} where {short(other)} was meant", message)
            return other
        if not self._pending.minted(request_id):
            self._violation("foreign-id", f"an answer to {short(request_id)}, which was never asked", message)
        return None  # otherwise late or twice: we stopped waiting, and said so

    def _unreadable(self, request_id: RequestId, handshake: bool, reason: str, size: int | None, max_bytes: int | None = None) -> None:
        if handshake and self._handshake is not None:
            self._handshake.on_unreadable(request_id, reason, size, max_bytes)
        else:
            self._emit(ResponseUnreadable(request_id, reason, size, max_bytes))

    def _violation(self, kind: str, detail: str, message: bytes | bytearray) -> None:
        self._emit(PeerViolation(kind, detail, bytes(message[:SAMPLE])))
