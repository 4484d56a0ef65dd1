"""One timer for all open requests of a connection, and a table of when each is due.

``asyncio.timeout`` around every call doubles the cost of a call with many in flight, and ``call_later`` is 3 µs; this is one
entry in a dictionary. The table is read through only when the timer fires. It is set for the earliest of all, so with requests
that are answered and all have the same time, that is once in such a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

#: The timer leaves so long for each open request between two looks: many that hang cost a share of the time, never their square.
_APART_S: Final = 1e-6


class Deadlines:
    """Calls ``expired(key)`` once for each key whose time has come and that was not discarded before.

    Times are those of ``loop.time()``, in seconds. While paused, nothing expires; resuming moves everything on by the pause.
    """

    __slots__ = ("_expired", "_fires_at", "_loop", "_paused", "_paused_at", "_time", "_timer", "_when")

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[int], None]) -> None:
        self._loop = loop
        self._time = loop.time
        self._expired = expired
        self._when: dict[int, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._fires_at = float("inf")
        self._paused = 0
        self._paused_at = 0.0

    def add(self, key: int, after_s: float, most_s: float | None = None) -> Callable[[], None] | None:
        """Expire ``key`` in ``after_s`` seconds.

        Returns:
            With ``most_s``, what gives it ``after_s`` seconds anew each time it is called, never beyond ``most_s`` from now.
        """
        if self._paused:
            self._when[key] = self._paused_at + after_s
        else:
            when = self._when[key] = self._time() + after_s
            if when < self._fires_at:
                self._arm(when)
        return None if most_s is None else self._extender(key, after_s, self._now() + most_s)

    def _extender(self, key: int, after_s: float, limit: float) -> Callable[[], None]:
        def extend() -> None:
            known = self._when.get(key)
            if known is not None:  # the timer stays as it is: the table is read when it fires
                self._when[key] = max(known, min(self._now() + after_s, limit))

        return extend

    def _now(self) -> float:
        return self._paused_at if self._paused else self._time()

    def discard(self, key: int) -> None:
        """Never expire ``key``."""
        self._when.pop(key, None)

    def pause(self) -> None:
        """Stop the time, e.g. while a person answers. Nests."""
        self._paused += 1
        if self._paused == 1:
            self._paused_at = self._time()
            self._cancel()

    def resume(self) -> None:
        """Let the time go on."""
        self._paused -= 1
        if self._paused == 0:
            shift = self._time() - self._paused_at
            self._when = {key: when + shift for key, when in self._when.items()}
            self._arm(min(self._when.values(), default=float("inf")))

    def close(self) -> None:
        """Forget everything."""
        self._when.clear()
        self._cancel()

    def _arm(self, when: float) -> None:
        self._cancel()
        if when < float("inf"):
            self._fires_at = when
            self._timer = self._loop.call_at(when, self._fire)

    def _cancel(self) -> None:
        self._fires_at = float("inf")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        now = self._time()
        due = sorted((when, key) for key, when in self._when.items() if when <= now)
        for _, key in due:
            del self._when[key]
        self._arm(max(min(self._when.values(), default=float("inf")), now + _APART_S * len(self._when)))
        for _, key in due:
            self._expired(key)
