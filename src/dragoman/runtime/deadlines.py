"""One timer for all open requests of a connection: a heap of deadlines, cleaned up lazily.

``asyncio.timeout`` around every call doubles the cost of a call with many in flight, and ``call_later`` is 3 µs; this is
a heap push. A settled request leaves its entry behind; entries are swept when they outnumber what is open.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable


class Deadlines:
    """Calls ``expired(key)`` once for each key whose time has come and that was not discarded before.

    Times are those of ``loop.time()``, in seconds. While paused, nothing expires; resuming moves everything on by the pause.
    """

    __slots__ = ("_expired", "_heap", "_loop", "_paused", "_paused_at", "_timer", "_when")

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[int], None]) -> None:
        self._loop = loop
        self._expired = expired
        self._heap: list[tuple[float, int]] = []
        self._when: dict[int, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._paused = 0
        self._paused_at = 0.0

    def add(self, key: int, after_s: float) -> None:
        """Expire ``key`` in ``after_s`` seconds."""
        when = (self._paused_at if self._paused else self._loop.time()) + after_s
        self._when[key] = when
        heap = self._heap
        heapq.heappush(heap, (when, key))
        if not self._paused and (self._timer is None or when < self._timer.when()):
            self._arm(when)
        if len(heap) > 64 and len(heap) > 4 * len(self._when):
            self._sweep()

    def discard(self, key: int) -> None:
        """Never expire ``key``."""
        self._when.pop(key, None)

    def pause(self) -> None:
        """Stop the time, e.g. while a person answers. Nests."""
        self._paused += 1
        if self._paused == 1:
            self._paused_at = self._loop.time()
            self._cancel()

    def resume(self) -> None:
        """Let the time go on."""
        self._paused -= 1
        if self._paused == 0:
            shift = self._loop.time() - self._paused_at
            self._when = {key: when + shift for key, when in self._when.items()}
            self._sweep()
            if self._heap:
                self._arm(self._heap[0][0])

    def close(self) -> None:
        """Forget everything."""
        self._when.clear()
        self._heap.clear()
        self._cancel()

    def _sweep(self) -> None:
        self._heap = [(when, key) for key, when in self._when.items()]
        heapq.heapify(self._heap)

    def _arm(self, when: float) -> None:
        self._cancel()
        self._timer = self._loop.call_at(when, self._fire)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        now = self._loop.time()
        due: list[int] = []
        while self._heap:
            when, key = self._heap[0]
            if self._when.get(key) != when:  # settled long ago
                heapq.heappop(self._heap)
                continue
            if when > now:
                self._arm(when)
                break
            heapq.heappop(self._heap)
            del self._when[key]
            due.append(key)
        for key in due:
            self._expired(key)
