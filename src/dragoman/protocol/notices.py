"""One-way messages that mean something to the engine itself: progress and cancellation. All others are handed on as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Raw

from dragoman.protocol.asks import Asks
from dragoman.protocol.events import (
    SAMPLE,
    AskCancelled,
    Event,
    NoticeReceived,
    PeerViolation,
    ProgressReceived,
    RequestLost,
    short,
)
from dragoman.protocol.pending import PendingTable
from dragoman.wire.envelope import RequestId
from dragoman.wire.methods import CANCELLED, INITIALIZED, PROGRESS

_LISTEN: Final = "subscriptions/listen"


class _Progress(msgspec.Struct, gc=False):
    progressToken: int | str
    progress: float
    total: float | None = None
    message: str | None = None


class _Cancelled(msgspec.Struct):
    requestId: int | str
    reason: object = None


_decode_progress: Final = msgspec.json.Decoder(_Progress).decode
_decode_cancelled: Final = msgspec.json.Decoder(_Cancelled).decode


class Notices:
    """Takes in one-way messages.

    Args:
        pending: Our open requests: what progress is about.
        asks: Theirs: what they may cancel.
        emit: Takes events.
        is_server: Whether we are the server.
    """

    __slots__ = ("_asks", "_emit", "_is_server", "_pending", "modern_server")

    def __init__(self, pending: PendingTable, asks: Asks, emit: Callable[[Event], None], *, is_server: bool) -> None:
        self._pending = pending
        self._asks = asks
        self._emit = emit
        self._is_server = is_server
        self.modern_server = False

    def take(self, method: str, params: Raw) -> None:
        """One notice."""
        if method == PROGRESS:
            self._progress(params)
        elif method == CANCELLED:
            self._cancelled(params)
        elif method != INITIALIZED or not self._is_server:
            self._emit(NoticeReceived(method, params))

    def _progress(self, params: Raw) -> None:
        try:
            note = _decode_progress(params)
        except (msgspec.DecodeError, RecursionError) as exc:
            self._emit(PeerViolation("bad-progress", f"progress that cannot be read: {exc}", bytes(params)[:SAMPLE]))
            return
        token: RequestId | None = note.progressToken
        entry = self._pending.get(note.progressToken)
        if entry is None and (token := self._pending.alias(note.progressToken)) is not None:
            entry = self._pending.get(token)
        if entry is not None and token is not None and not entry.handshake:  # nobody asked for any of the handshake
            self._emit(ProgressReceived(token, note.progress, note.total, note.message))
        elif entry is None and self._pending.minted(note.progressToken):
            self._emit(NoticeReceived(PROGRESS, params))  # late; or of a task, whose request was answered long ago
        else:
            self._emit(PeerViolation("stray-progress", f"progress for {short(note.progressToken)}, which was never asked"))

    def _cancelled(self, params: Raw) -> None:
        try:
            note = _decode_cancelled(params)
        except (msgspec.DecodeError, RecursionError) as exc:
            self._emit(PeerViolation("bad-cancel", f"a cancellation that cannot be read: {exc}", bytes(params)[:SAMPLE]))
            return
        request_id = note.requestId
        if self._asks.settle(request_id):
            self._emit(AskCancelled(request_id, note.reason if isinstance(note.reason, str) else ""))
        elif self.modern_server and (entry := self._pending.get(request_id)) is not None and entry.method == _LISTEN:
            # A server of the stateless era ends a subscription this way, and nothing else. A legacy one can only mean a request of its
            # own, which we have answered meanwhile: the two sides count their ids separately, so an equal number of ours says nothing.
            self._pending.settle(request_id)
            self._emit(RequestLost(request_id, "cancelled by the server"))
