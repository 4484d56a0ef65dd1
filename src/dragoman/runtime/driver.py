"""Runs one engine over one transport: hops 4 to 8 of a call.

The driver owns the reading side. Any task may call, any task may close, from any thread whose loop runs: no cancel scope is ever open
across an ``await`` that the user controls. What the transport reports is fed to the engine at once, inside the event loop's callback; a
caller is woken by its future and by nothing else, so a lone call costs two loop callbacks.

``perform`` is awaited in the caller. Actions that arise while reading (answers, the handshake) are performed by one task, in order.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

from msgspec import Raw

from dragoman.errors import ConnectionLost, DragomanError, LocalProtocolError
from dragoman.protocol.actions import Action, Send, SetTimer
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import Peer, ProgressReceived
from dragoman.protocol.stamp import Params
from dragoman.runtime.deadlines import Deadlines
from dragoman.runtime.delivery import Delivery, Handlers, Waiter
from dragoman.runtime.loops import on_loop
from dragoman.transports.base import Closed, Oversized, Received, Report, StreamEnded, StreamQuiet, Transport, Weighing, refusal_of
from dragoman.wire.envelope import RequestId

log = logging.getLogger("dragoman")

Tap = Callable[[str, bytes | bytearray], None]
"""Sees every message: ``"→"`` or ``"←"``, and the bytes. Redacts for itself; one that raises is not called again."""

T = TypeVar("T")

CLOSE_S: Final = 10.0
MAX_BACKLOG: Final = 4096


class Driver:
    """One engine, one transport, one event loop.

    Attributes:
        now: The time that deadlines are counted in, in seconds, once opened.
        violations, first_of: How often the server broke the protocol, by kind, and the first of each.

    Args:
        connection: A fresh engine.
        transport: Not yet opened.
        handlers: Where notices and asks go.
        label: What to call the server in messages.
        tap: Sees the wire, or ``None``.
        close_s: How long the transport may take to close.
    """

    def __init__(
        self,
        connection: Connection,
        transport: Transport,
        handlers: Handlers,
        *,
        label: str,
        tap: Tap | None = None,
        close_s: float = CLOSE_S,
    ) -> None:
        self.connection = connection
        self.transport = transport
        self.label = label
        self._try_send: Callable[[Send], bool] | None = getattr(transport, "try_send", None)
        if isinstance(transport, Weighing):
            transport.weigh = connection.longest
        self._tap, self._close_s = tap, close_s
        self._delivery = Delivery(label, handlers, self._answer, self._spawn)
        self._failures, self._waiters = self._delivery.failures, self._delivery.waiters
        self.violations, self.first_of = self._delivery.violations, self._delivery.first_of
        self._tasks: set[asyncio.Task[Any]] = set()
        self._backlog: deque[Action] = deque()
        self._drainer: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.now: Callable[[], float]
        self._deadlines: Deadlines | None = None
        self._closing: asyncio.Task[None] | None = None
        self._closers: set[asyncio.Task[Any] | None] = set()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop it lives on, once opened."""
        return self._loop

    @property
    def closed(self) -> Closed | None:
        """How the transport ended, once it has."""
        return self._failures.closed

    @property
    def ended_by_itself(self) -> bool:
        """Whether the other side ended it, before we did."""
        return self._failures.closed is not None and self._failures.closed_here is None

    # --- opening ------------------------------------------------------------------------------------------------

    async def open(self, timeout_s: float) -> Peer:
        """Connect and agree on a revision. When it fails or is cancelled, everything is closed before that shows.

        Raises:
            SpawnFailed: The command is missing, or it ended before it answered.
            ConnectFailed: The endpoint is not there, or does not answer within ``timeout_s``.
            VersionMismatch: No common revision.
        """
        loop = self._loop = asyncio.get_running_loop()
        self._deadlines = Deadlines(loop, self._expired)
        self.now = loop.time
        ready: asyncio.Future[Peer] = loop.create_future()
        self._delivery.ready = ready
        try:
            async with asyncio.timeout(timeout_s):
                await self.transport.open(self._report)
                if (ended := self.closed) is not None:  # with the very answer that opened it
                    raise self._failures.never_answered(ended.reason)
                self.connection.begin()
                self._drain_actions()
                peer = await ready
                if self._drainer is not None:
                    await self._drainer
        except BaseException as exc:
            await self.close()
            if isinstance(exc, TimeoutError):
                raise self._failures.no_handshake(timeout_s) from None
            raise
        finally:
            if ready.done() and not ready.cancelled():
                ready.exception()  # seen, even if nobody waited for it
        return peer

    # --- calling ------------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Params = None,
        *,
        timeout_s: float,
        on_progress: Callable[[ProgressReceived], Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        force: bool = False,
        opened: Callable[[RequestId], Any] | None = None,
        max_timeout_s: float | None = None,
        max_bytes: int | None = None,
    ) -> Raw:
        """One request, its answer's ``result``; ``opened`` gets its id before it is sent, progress extends it to ``max_timeout_s``.

        Raises:
            CallFailed: See its subclasses; ``maybe_ran`` says what can be said.
            LocalProtocolError: Not open, not declared, not JSON: nothing was sent.
        """
        loop = self._loop
        if loop is None or self._deadlines is None:
            raise LocalProtocolError(f"{self.label} is not connected")
        more: dict[str, Any] = {"meta": meta, "headers": headers, "force": force, "max_bytes": max_bytes}
        if asyncio.get_running_loop() is not loop:
            more |= {"timeout_s": timeout_s, "max_timeout_s": max_timeout_s, "on_progress": on_progress, "opened": opened}
            return await self.elsewhere(self.request(method, params, **more))
        if not timeout_s > 0:
            message = f"{method} cannot be sent with a deadline of {timeout_s:g} s"
            raise LocalProtocolError(message, hint="give a positive number of seconds")
        connection = self.connection
        if connection.state == "closed":
            raise self._failures.lost(None, "the connection is closed", maybe_ran="no")
        progress = on_progress is not None or max_timeout_s is not None
        request_id = connection.start_request(method, params, progress=progress, **more)
        if opened is not None:
            opened(request_id)
        future: asyncio.Future[Raw] = loop.create_future()
        waiter = self._waiters[request_id] = Waiter(future, timeout_s, on_progress)
        waiter.extend = self._deadlines.add(request_id, timeout_s, max_timeout_s)  # type: ignore[arg-type]  # our own ids are integers
        try:
            for action in connection.actions():
                if type(action) is Send:
                    if self._tap is not None:
                        self._show("→", action.message)
                    if self._try_send is None or not self._try_send(action):
                        await self._hand_over(action, waiter)
                else:
                    self._backlog.append(action)
                    self._drain_actions()
            return await future
        except asyncio.CancelledError:
            self._abandon(request_id, future, "cancelled by the caller")
            raise
        except Exception as exc:
            answered = future.done()
            self._abandon(request_id, future, "it could not be sent")
            if answered or isinstance(exc, DragomanError):
                raise
            raise self._failures.lost(request_id, f"the transport failed: {exc!r}", maybe_ran="perhaps") from exc
        finally:
            self._waiters.pop(request_id, None)
            self._deadlines.discard(request_id)  # type: ignore[arg-type]  # as above

    async def _hand_over(self, action: Send, waiter: Waiter) -> None:
        """Await the transport, unless the request ends before its bytes are gone: its caller is freed from a pipe that nobody reads."""
        task = waiter.sender = asyncio.current_task()
        cancels = task.cancelling() if task is not None else 0
        try:
            await self.transport.perform(action)
            waiter.sender = None
            if waiter.freed:
                await asyncio.sleep(0)  # our own cancellation arrives here, not in the caller's code
                raise asyncio.CancelledError  # it has been swallowed by the transport
        except asyncio.CancelledError:
            # Ours, unless the caller's came as well.
            if task is None or not waiter.freed or task.uncancel() > cancels:
                raise
        finally:
            waiter.sender = None

    def _abandon(self, request_id: RequestId, future: asyncio.Future[Raw], reason: str) -> None:
        self.connection.abandon(request_id, reason)  # nothing, if it is settled
        self._drain_actions()
        if future.done() and not future.cancelled():
            future.exception()  # seen

    async def notify(self, method: str, params: Params = None) -> None:
        """Send a one-way message; silently nothing on a closed connection."""
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            await self.elsewhere(self.notify(method, params))
            return
        self.connection.notify(method, params)
        self._drain_actions()

    def later(self, callback: Callable[[], Any], size: int = 0) -> None:
        """Run a callback of the user's off the reader, in order; see :class:`~dragoman.runtime.inbox.Inbox`."""
        self._delivery.inbox.put(callback, size)

    def pause_deadlines(self) -> None:
        """Stop the clock of every open request: a person is answering."""
        if self._deadlines is not None:
            self._deadlines.pause()

    def resume_deadlines(self) -> None:
        """Let the clocks go on."""
        if self._deadlines is not None:
            self._deadlines.resume()

    async def elsewhere(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run on the loop the connection lives on, from another thread's loop.

        Raises:
            ConnectionLost: That loop has ended, or ends meanwhile.
        """
        assert self._loop is not None
        return await on_loop(self._loop, coroutine, self._failures)

    async def quiet(self, timeout_s: float) -> None:
        """Wait until no request is open, but no longer than that."""
        if futures := [waiter.future for waiter in self._waiters.values()]:
            await asyncio.wait(futures, timeout=timeout_s)

    # --- closing ------------------------------------------------------------------------------------------------

    async def close(self, reason: str = "closed") -> None:
        """End the connection; every open request is lost. Idempotent, bounded, from any task or thread.

        Where its own event loop is over, nothing can be done any more; the process goes with the object.
        """
        loop = self._loop
        if loop is None:
            return
        if asyncio.get_running_loop() is not loop:
            try:
                await self.elsewhere(self.close(reason))
            except ConnectionLost as exc:
                log.warning("%s: not closed in good order: %s", self.label, exc)
            return
        self._closers.add(asyncio.current_task())  # a callback that closes is not cancelled by that
        if self._closing is None:
            self._closing = loop.create_task(self._close(reason))
        await asyncio.shield(self._closing)

    async def _close(self, reason: str) -> None:
        if self._failures.closed is None:
            self._failures.closed_here = reason
        self._delivery.closing = True
        if self.connection.state == "open":
            log.info("%s: %s", self.label, reason)
        self.connection.close(reason)
        self.connection.actions()  # Close itself is what transport.close() does
        self._delivery.take(self.connection.events())
        if self._timer is not None:
            self._timer.cancel()
        left = self._tasks - self._closers
        for task in left:
            task.cancel()
        try:
            async with asyncio.timeout(self._close_s):
                await self.transport.close()
        except TimeoutError:
            log.warning("%s did not close within %g s", self.label, self._close_s)
        except Exception:
            log.exception("%s did not close in good order", self.label)
        if self._deadlines is not None:
            self._deadlines.close()
        if left:
            await asyncio.wait(left, timeout=1.0)
        self._delivery.inbox.close()

    # --- reading ------------------------------------------------------------------------------------------------

    def _report(self, report: Report) -> None:
        connection = self.connection
        try:
            if type(report) is Received:
                if self._tap is not None:
                    self._show("←", report.message)
                connection.receive(report.message, report.via, report.status)
            elif type(report) is StreamEnded:
                connection.receive_stream_end(report.via, refusal_of(report), report.position)
            elif type(report) is StreamQuiet:
                connection.receive_quiet(report.via)
            elif type(report) is Oversized:
                connection.receive_oversized(report.head, report.tail, report.size, report.limit, report.via)
            elif type(report) is Closed:
                self._failures.closed = report
                connection.receive_eof(report.reason)
        except Exception:  # a bug of ours must not end the reader
            log.exception("%s: something that arrived could not be taken in", self.label)
        self._delivery.take(self.connection.events())
        if connection.has_actions:
            self._drain_actions()

    def _show(self, direction: str, message: bytes | bytearray) -> None:
        tap = self._tap
        try:
            if tap is not None:
                tap(direction, message)
        except Exception:  # a full disk, a closed terminal: the calls go on
            log.exception("%s: the trace failed and goes no further", self.label)
            self._tap = None

    def _expired(self, request_id: int) -> None:
        waiter = self._waiters.get(request_id)
        if waiter is None or waiter.future.done():
            return
        self._delivery.fail(request_id, self._failures.expired(request_id, waiter.timeout_s, sending=waiter.sender is not None))
        self.connection.abandon(request_id, f"no answer within {waiter.timeout_s:g} s")
        self._drain_actions()

    # --- acting -------------------------------------------------------------------------------------------------

    def _drain_actions(self) -> None:
        """Perform what the engine wants, in a task of ours."""
        self._backlog.extend(self.connection.actions())
        if not self._backlog or self._loop is None:
            return
        if self._drainer is None:
            self._drainer = self._spawn(self._perform_backlog())
        elif len(self._backlog) > MAX_BACKLOG and self._closing is None:
            # It asks on and on and does not read our answers: without a bound they would fill the memory.
            reason = f"it does not read what is sent to it ({len(self._backlog)} messages wait)"
            self._closing = self._loop.create_task(self._close(reason))

    async def _perform_backlog(self) -> None:
        try:
            while self._backlog:
                action = self._backlog.popleft()
                if isinstance(action, SetTimer):
                    assert self._loop is not None
                    self._timer = self._loop.call_later(action.after_s, self._tick)
                    continue
                if isinstance(action, Send) and self._tap is not None:
                    self._show("→", action.message)
                try:
                    await self.transport.perform(action)
                except Exception:  # against its contract; the rest is performed all the same
                    log.exception("%s: the transport failed", self.label)
        finally:
            self._drainer = None

    def _tick(self) -> None:
        self.connection.tick()
        self._drain_actions()

    def _answer(self, request_id: RequestId, answer: Any) -> None:
        self.connection.answer(request_id, answer)
        self._drain_actions()

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._loop is not None
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
