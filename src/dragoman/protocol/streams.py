"""Streams that end before they brought what they owe: which are continued, from where, after how long, and when that is hopeless.

Only the legacy era over HTTP has this. A stream whose events have ids can be continued; a clean end is no error there but the
server's way to save a connection. A try that brings nothing new counts; five in a row are enough.

Source: MCP 2025-11-25 basic/transports#resumability-and-redelivery and #listening-for-messages-from-the-server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from dragoman.protocol.actions import Action, CloseStream, Listen, Resume
from dragoman.protocol.events import Event, RequestLost, SessionLost
from dragoman.protocol.handshake import ClientHandshake
from dragoman.protocol.pending import PendingTable
from dragoman.protocol.refusals import TURNED_AWAY, Refusal, ends_session, message_ends_session
from dragoman.wire.envelope import RequestId

MAX_TRIES: Final = 5
STEADY_S: Final = 10.0  # a stream that lasted so long was of use, whatever it brought
DEFAULT_RETRY_S: Final = 1.0
_MIN_RETRY_S: Final = 0.1
_MAX_RETRY_S: Final = 24 * 3600.0
_MAX_BACKOFF_S: Final = 30.0


class Position(msgspec.Struct, frozen=True):
    """How far a stream of events came.

    Attributes:
        last_event_id: Of its last complete event; ``""`` if there was none.
        retry_ms: The reconnection time it asked for, if it did.
        lasted_s: From its beginning to its end.
    """

    last_event_id: str = ""
    retry_ms: int | None = None
    lasted_s: float = 0.0


class _Course(msgspec.Struct):
    """A stream and what became of it so far."""

    last_event_id: str = ""
    retry_s: float | None = None
    fruitless: int = 0
    resumed: bool = False


class Streams:
    """Takes in the ends of streams.

    Args:
        pending: Our open requests.
        handshake: Gets the ends of its own requests.
        emit: Takes events.
        act: Takes actions.

    Attributes:
        courses: The streams that are being continued. Requests in it that were answered elsewhere are for :meth:`prune`.
        has_sessions: Legacy, on a transport with sessions and streams to continue.
        session_lost: The peer no longer knows our session.
        resumptions: How often a stream of a request ended early and was continued.
    """

    __slots__ = ("_act", "_emit", "_handshake", "_pending", "courses", "has_sessions", "resumptions", "session_lost")

    def __init__(
        self, pending: PendingTable, handshake: ClientHandshake | None, emit: Callable[[Event], None], act: Callable[[Action], None]
    ) -> None:
        self._pending = pending
        self._handshake = handshake
        self._emit = emit
        self._act = act
        self.courses: dict[RequestId | None, _Course] = {}
        self.has_sessions = self.session_lost = False
        self.resumptions = 0

    def listen(self, headers: tuple[tuple[str, str], ...]) -> None:
        """Agreed on a legacy revision: open the stream for what belongs to no request."""
        self.has_sessions = True
        self.courses[None] = _Course()
        self._act(Listen(headers))

    def forget(self, request_id: RequestId) -> None:
        """The request is over; its stream is not continued."""
        self.courses.pop(request_id, None)

    def quiet(self, via: RequestId) -> None:
        """A stream is open and brings nothing. A server ends it after its answer; where one does not, it would keep a connection."""
        if via not in self._pending:
            self.forget(via)
            self._act(CloseStream(via))

    def prune(self) -> None:
        """Close what is being continued for requests that were answered on another stream."""
        for request_id in [key for key in self.courses if key is not None and key not in self._pending]:
            del self.courses[request_id]
            assert request_id is not None
            self._act(CloseStream(request_id))

    def turned_away(self, via: RequestId | None, status: int, message: bytes | bytearray) -> bool:
        """Take an error that came with an HTTP status, if it says that our session is gone."""
        said = message_ends_session(status, message) if self.has_sessions else None
        if said is None:
            return False
        self.ended(via, Refusal(f"HTTP {status}: {said[:200]}", status=404), None)
        return True

    def ended(self, via: RequestId | None, refusal: Refusal, position: Position | None) -> None:
        """A stream ended; if its request is still open, continue it or lose it.

        Args:
            via: Whose it was.
            refusal: How it ended.
            position: How far it came, where it was a stream of events.
        """
        if self.has_sessions and ends_session(refusal.status, refusal.body):
            self._lose_session(refusal.reason)
        if via is None:
            self._listening_ended(refusal, position)
            return
        entry = self._pending.get(via)
        if entry is None:
            self.courses.pop(via, None)
        elif entry.handshake and self._handshake is not None:
            self._pending.settle(via)
            self._handshake.on_lost(via, refusal)
        elif not self._continue(via, refusal, position):
            self._pending.settle(via)
            course = self.courses.pop(via, None)
            resumed = course is not None and course.resumed  # then the request itself was taken long ago
            sent = resumed or (refusal.sent and refusal.status not in TURNED_AWAY)
            reason = f"its stream could not be continued: {refusal.reason}" if resumed else refusal.reason
            if resumed:
                self._emit(RequestLost(via, reason, sent, status=refusal.status))
            else:
                known = refusal.status in (401, 403)
                self._emit(RequestLost(via, reason, sent, refusal.advice(), known, refusal.status, refusal.retry_after_s))

    def _listening_ended(self, refusal: Refusal, position: Position | None) -> None:
        """The stream for what belongs to no request: an answer that is no stream means that none is offered, and is asked for once."""
        offered = position is not None or refusal.status is None or refusal.status >= 500
        if self.session_lost or None not in self.courses or not offered or not self._continue(None, refusal, position):
            self.courses.pop(None, None)

    def _continue(self, via: RequestId | None, refusal: Refusal, position: Position | None) -> bool:
        if not self.has_sessions or self.session_lost:
            return False
        course = self.courses.get(via, _Course())
        if position is None:
            # A continuation that did not come about; the first exchange of a request is not repeated.
            if not course.resumed and via is not None:
                return False
            if refusal.status is not None and refusal.status < 500:
                return False
            course.fruitless += 1
        else:
            new = position.last_event_id not in ("", course.last_event_id) or position.lasted_s >= STEADY_S
            course.fruitless = 0 if new else course.fruitless + 1
            course.last_event_id = position.last_event_id or course.last_event_id
            if position.retry_ms is not None:
                course.retry_s = min(max(position.retry_ms / 1000, _MIN_RETRY_S), _MAX_RETRY_S)
        if course.fruitless > MAX_TRIES or (via is not None and not course.last_event_id):
            return False
        course.resumed = True
        self.resumptions += via is not None
        self.courses[via] = course
        self._act(Resume(via, course.last_event_id, _wait_s(course, failed=position is None)))
        return True

    def _lose_session(self, reason: str) -> None:
        if not self.session_lost:
            self.session_lost = True
            self._emit(SessionLost(reason))


def _wait_s(course: _Course, *, failed: bool) -> float:
    """What the server asked for; where it did not, or cannot be reached, longer each time."""
    backoff_s = min(DEFAULT_RETRY_S * 2.0 ** max(course.fruitless - 1, 0), _MAX_BACKOFF_S)
    if course.retry_s is None:
        return backoff_s
    return max(course.retry_s, backoff_s) if failed else course.retry_s
