"""The open exchanges of one HTTP transport, and one timer for all of them: who was silent for too long, and whose stream went quiet.

A timer for each request, as the HTTP library has it, costs more than the rest of the bookkeeping; this one fires once in a long while.
Not here: what an exchange does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from dragoman.wire.envelope import RequestId

#: After its answer, a stream is left to its server for so long, which saves the connection where it ends the stream by itself.
QUIET_S: Final = 1.0


class Exchange:
    """One request over HTTP, until its answer was read.

    Attributes:
        via: The request of the protocol that it carries, or ``None``.
        heard: When something of its answer arrived last, by ``loop.time()``.
        streams: Its answer is a stream of events, which may go on for as long as it likes.
        silent: It was ended because nothing was heard for too long.
    """

    __slots__ = ("_told", "heard", "silent", "streams", "task", "via")

    def __init__(self, via: RequestId | None, now: float) -> None:
        self.via = via
        self.heard = now
        self.streams = self.silent = False
        self.task: asyncio.Task[None]
        self._told = 0.0  # the silence that was told of began then

    def broke(self, exc: BaseException) -> bool:
        """Whether ``exc`` is a fault of the exchange, and not somebody's wish to end it."""
        return self.silent or not isinstance(exc, asyncio.CancelledError)

    def due(self, idle_s: float) -> float:
        """When to look at it next."""
        return self.heard + (QUIET_S if self.streams and self._told != self.heard and idle_s > QUIET_S else idle_s)

    def tell(self) -> None:
        """The silence that lasts was told of."""
        self._told = self.heard


class Exchanges:
    """Those that are open.

    Args:
        idle_s: Longest silence.
        quiet: Gets the request of a stream that was silent for :data:`QUIET_S`; once for each silence.
    """

    def __init__(self, idle_s: float, quiet: Callable[[RequestId], None]) -> None:
        self._idle_s = idle_s
        self._quiet = quiet
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._open: dict[asyncio.Task[None], Exchange] = {}
        self._by_request: dict[RequestId, Exchange] = {}

    def start(self, work: Callable[[Exchange], Coroutine[Any, Any, None]], via: RequestId | None) -> asyncio.Task[None]:
        """Begin one, in a task of its own so that anybody may end it; ``work`` has to :meth:`forget` it when it ends by itself."""
        loop = self._loop
        exchange = Exchange(via, loop.time())
        exchange.task = task = loop.create_task(work(exchange))
        self._open[task] = exchange
        if via is not None:
            self._by_request[via] = exchange
        if self._timer is None:
            self._timer = loop.call_at(exchange.heard + self._idle_s, self._look)
        return task

    def forget(self, exchange: Exchange) -> None:
        """It is over."""
        self._open.pop(exchange.task, None)
        via = exchange.via
        if via is not None and self._by_request.get(via) is exchange:  # it may be continued already
            del self._by_request[via]

    def now_streams(self, exchange: Exchange) -> None:
        """Its answer turned out to be a stream of events."""
        exchange.streams = True
        exchange.heard = self._loop.time()
        due = exchange.due(self._idle_s)
        if self._timer is None or due < self._timer.when():
            self._arm(due)

    def cancel(self, via: RequestId) -> None:
        """End the one of this request, if there is one."""
        found = self._by_request.get(via)
        if found is not None:
            self._cancel(found)

    async def close(self, timeout_s: float) -> None:
        """End them all."""
        if self._timer is not None:
            self._timer.cancel()
        for exchange in list(self._open.values()):
            self._cancel(exchange)
        if self._open:
            await asyncio.wait(list(self._open), timeout=timeout_s)

    def _cancel(self, exchange: Exchange) -> None:
        exchange.task.add_done_callback(lambda _: self.forget(exchange))  # it cannot do so if it is ended before its first step
        exchange.task.cancel()

    def _arm(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        for exchange in list(self._open.values()):
            if exchange.due(self._idle_s) > now:
                continue
            if now >= exchange.heard + self._idle_s:
                exchange.silent = True
                self._cancel(exchange)
            else:
                exchange.tell()
                if exchange.via is not None:
                    self._quiet(exchange.via)
        waiting = [exchange.due(self._idle_s) for exchange in self._open.values() if not exchange.silent]
        if waiting and self._timer is None:
            self._arm(min(waiting))
