"""From events to those who wait for them: callers, handlers, callbacks. It runs inside the reader, so it only wakes and takes note."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Raw

from dragoman.errors import DragomanError
from dragoman.protocol.events import (
    AskCancelled,
    AskReceived,
    ConnectionEnded,
    ErrorReceived,
    Event,
    HandshakeFailed,
    Negotiated,
    NoticeReceived,
    Peer,
    PeerViolation,
    ProgressReceived,
    RequestLost,
    ResponseUnreadable,
    ResultReceived,
    SessionLost,
    short,
)
from dragoman.runtime.answering import Answering
from dragoman.runtime.failures import Failures
from dragoman.runtime.inbox import Inbox, Spawn
from dragoman.wire.envelope import RequestId

log = logging.getLogger("dragoman")


class Handlers(Protocol):
    """What a driver hands on: notices and asks, off the reader."""

    def on_notice(self, method: str, params: Raw) -> None:
        """A one-way message; called inside the reader, so it must only take note."""
        ...

    def on_ended(self, reason: str) -> None:
        """Nothing more will come; called inside the reader, after every open request was ended."""
        ...

    async def on_ask(self, method: str, params: Raw) -> Any:
        """A request of the server's: the result, or an :class:`ErrorBody`."""
        ...


class Waiter:
    """A caller and what it waits for."""

    __slots__ = ("extend", "freed", "future", "on_progress", "sender", "timeout_s")

    def __init__(self, future: asyncio.Future[Raw], timeout_s: float, on_progress: Callable[[ProgressReceived], Any] | None) -> None:
        self.future = future
        self.timeout_s = timeout_s
        self.on_progress = on_progress
        self.sender: asyncio.Task[Any] | None = None  # the caller, while it hands its bytes to the transport
        self.extend: Callable[[], None] | None = None  # moves its deadline, at each step of progress
        self.freed = False  # we cancelled the caller out of that, because its answer (an error) is there


class Delivery:
    """Everybody who waits on one connection.

    Args:
        label: What to call the server in messages.
        handlers: Where notices and asks go.
        answer: Sends the answer to an ask.
        spawn: Starts a task.

    Attributes:
        waiters: The callers of open requests.
        violations: How often the server broke the protocol, by kind.
        first_of: The first of each kind, with a sample of its bytes.
        ready: The opening, while there is one.
        closing: Whether we are ending the connection ourselves.
        answers: How many results came: what shows that the server lives, at no more cost for a call than a number.
    """

    def __init__(self, label: str, handlers: Handlers, answer: Callable[[RequestId, Any], None], spawn: Spawn) -> None:
        self.label = label
        self.waiters: dict[RequestId, Waiter] = {}
        self.violations: Counter[str] = Counter()
        self.first_of: dict[str, PeerViolation] = {}
        self.failures = Failures(label)
        self.inbox = Inbox(label, spawn)
        self.answering = Answering(handlers.on_ask, answer, spawn)
        self.ready: asyncio.Future[Peer] | None = None
        self.closing = False
        self.answers = 0
        self._handlers = handlers

    @property
    def owed(self) -> int:
        """How many requests with a deadline wait; a subscription has none."""
        return sum(waiter.timeout_s != float("inf") for waiter in self.waiters.values())

    def take(self, events: list[Event]) -> None:
        """Deliver each of them, whatever becomes of the others."""
        for event in events:
            try:
                self._deliver(event)
            except Exception:  # a bug of ours must not end the reader
                log.exception("%s: an event could not be delivered: %.300r", self.label, event)

    def _deliver(self, event: Event) -> None:
        if type(event) is ResultReceived:
            self.answers += 1
            waiter = self.waiters.get(event.request_id)
            if waiter is not None and not waiter.future.done():
                waiter.future.set_result(event.result)
            return
        match event:
            case ProgressReceived(request_id=request_id):
                waiter = self.waiters.get(request_id)
                if waiter is not None and waiter.extend is not None:
                    waiter.extend()
                if waiter is not None and waiter.on_progress is not None:
                    callback = waiter.on_progress
                    self.inbox.put(lambda: callback(event), len(event.message or ""))
            case NoticeReceived(method=method, params=params):
                self._handlers.on_notice(method, params)
            case ErrorReceived(request_id=request_id, error=error, status=status):
                self.fail(request_id, self.failures.refused(request_id, error, status))
            case ResponseUnreadable(request_id=request_id):
                self.fail(request_id, self.failures.unreadable(event))
            case RequestLost(request_id=request_id):
                self.fail(request_id, self.failures.lost_request(event))
            case AskReceived():
                self.answering.start(event)
            case AskCancelled(request_id=request_id, reason=reason):
                if reason:
                    log.info("%s no longer wants an answer to %s: %s", self.label, short(request_id), short(reason))
                if not self.closing:  # then whoever closes cancels them all, save a handler that did it itself
                    self.answering.cancel(request_id)
            case PeerViolation(kind=kind, detail=detail):
                self.violations[kind] += 1
                self.first_of.setdefault(kind, event)
                if kind in ("foreign-id", "oversized"):
                    self.failures.last_foreign = detail
                if self.violations[kind] <= 3:  # a flood of them must not flood the log
                    log.warning("%s broke the protocol: %s", self.label, detail)
            case SessionLost(reason=reason):
                log.info("%s: its session is gone (%s); the next call opens a new one", self.label, reason)
            case Negotiated(peer=peer):
                if self.ready is not None and not self.ready.done():
                    self.ready.set_result(peer)
            case HandshakeFailed(error=error):
                self._not_ready(error)
            case ConnectionEnded(reason=reason):
                self._not_ready(self.failures.never_answered(reason))
                self._handlers.on_ended(reason)
                if not self.closing:
                    log.info("%s: connection ended: %s", self.label, reason)

    def fail(self, request_id: RequestId, error: DragomanError) -> None:
        """End a request with an error, also one whose caller is still waiting to hand over its bytes."""
        waiter = self.waiters.get(request_id)
        if waiter is not None and not waiter.future.done():
            waiter.future.set_exception(error)
            if waiter.sender is not None:
                waiter.freed = True
                waiter.sender.cancel()

    def _not_ready(self, error: DragomanError) -> None:
        if self.ready is not None and not self.ready.done():
            self.ready.set_exception(error)
