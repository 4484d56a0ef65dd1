"""One timer for many deadlines, on a clock that moves only when told to."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from dragoman.runtime.deadlines import Deadlines


class Handle:
    def __init__(self, when: float, run: Callable[[], None]) -> None:
        self._when, self.run, self.cancelled = when, run, False

    def when(self) -> float:
        return self._when

    def cancel(self) -> None:
        self.cancelled = True


class FakeLoop:
    """Time and timers, and a count of how many were set."""

    def __init__(self) -> None:
        self.now = 0.0
        self.set = 0
        self._timers: list[tuple[float, int, Handle]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, run: Callable[[], None]) -> Handle:
        self.set += 1
        handle = Handle(when, run)
        heapq.heappush(self._timers, (when, self.set, handle))
        return handle

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while self._timers and self._timers[0][0] <= end:
            when, _, handle = heapq.heappop(self._timers)
            if not handle.cancelled:
                self.now = max(self.now, when)
                handle.run()
        self.now = end

    @property
    def armed(self) -> int:
        return sum(not handle.cancelled for _, _, handle in self._timers)


def new() -> tuple[FakeLoop, Deadlines, list[int]]:
    loop, expired = FakeLoop(), list[int]()
    return loop, Deadlines(cast("asyncio.AbstractEventLoop", loop), expired.append), expired


def test_each_expires_once_at_its_time_and_in_order() -> None:
    loop, deadlines, expired = new()
    for key, after_s in ((1, 30), (2, 10), (3, 20)):
        deadlines.add(key, after_s)
    loop.advance(9.9)
    assert expired == []
    loop.advance(10.2)
    assert expired == [2, 3]
    loop.advance(100)
    assert expired == [2, 3, 1]


def test_discarded_never_expires() -> None:
    loop, deadlines, expired = new()
    deadlines.add(1, 10)
    deadlines.discard(1)
    deadlines.discard(99)
    loop.advance(100)
    assert expired == []


def test_calls_one_after_another_set_few_timers() -> None:
    """A timer for each call is what this class is there to avoid."""
    loop, deadlines, _ = new()
    for key in range(1, 10_001):
        deadlines.add(key, 60)
        loop.advance(0.001)
        deadlines.discard(key)
    assert loop.set < 10
    assert loop.armed <= 1


def test_many_that_hang_are_looked_at_few_times_and_are_hardly_late() -> None:
    """Each look reads the whole table: as many looks as requests would cost the square of their number."""
    loop, deadlines, expired = new()
    for key in range(1, 2_001):
        deadlines.add(key, 10 + key / 1_000_000)
    loop.advance(10.0 + 0.002 + 0.002)
    assert expired == list(range(1, 2_001))
    assert loop.set < 20


def test_pause_stops_the_time_and_nests() -> None:
    loop, deadlines, expired = new()
    deadlines.add(1, 10)
    loop.advance(4)
    deadlines.pause()
    deadlines.pause()
    deadlines.add(2, 1)
    loop.advance(1000)
    deadlines.resume()
    loop.advance(1000)
    assert expired == []
    deadlines.resume()
    loop.advance(0.9)
    assert expired == []
    loop.advance(0.2)
    assert expired == [2]
    loop.advance(5)
    assert expired == [2, 1]


def test_what_is_discarded_while_paused_does_not_come_back() -> None:
    loop, deadlines, expired = new()
    deadlines.add(1, 10)
    deadlines.pause()
    deadlines.discard(1)
    deadlines.resume()
    loop.advance(100)
    assert expired == []


def test_closing_forgets_everything() -> None:
    loop, deadlines, expired = new()
    deadlines.add(1, 10)
    deadlines.pause()
    deadlines.close()
    deadlines.resume()
    loop.advance(100)
    assert (expired, loop.armed) == ([], 0)


def test_expiring_one_may_add_and_discard_others() -> None:
    loop = FakeLoop()
    seen: list[int] = []

    def expired(key: int) -> None:
        seen.append(key)
        if key == 1:
            deadlines.discard(3)
            deadlines.add(4, 5)

    deadlines = Deadlines(cast("asyncio.AbstractEventLoop", loop), expired)
    for key, after_s in ((1, 10), (2, 10), (3, 11)):
        deadlines.add(key, after_s)
    loop.advance(100)
    assert seen == [1, 2, 4]


def test_no_deadline_at_all_is_possible() -> None:
    """For subscriptions, which are open as long as the connection."""
    loop, deadlines, expired = new()
    deadlines.add(1, float("inf"))
    deadlines.add(2, 1)
    loop.advance(10)
    assert expired == [2]


kinds = st.sampled_from(["add", "discard", "advance", "pause", "resume"])
steps = st.lists(st.tuples(kinds, st.integers(1, 6), st.integers(1, 20)), max_size=40)


@given(steps)
def test_nothing_expires_early_late_or_twice(plan: list[tuple[str, int, int]]) -> None:
    """Against the plainest model: seconds left for each key, counted down while not paused."""
    loop, deadlines, expired = new()
    left: dict[int, float] = {}
    gone: list[int] = []
    paused = 0
    for what, key, amount in plan:
        if what == "add" and key not in left and key not in gone:
            left[key] = amount
            deadlines.add(key, amount)
        elif what == "discard":
            left.pop(key, None)
            deadlines.discard(key)
        elif what == "pause":
            paused += 1
            deadlines.pause()
        elif what == "resume" and paused:
            paused -= 1
            deadlines.resume()
        elif what == "advance":
            loop.advance(amount)
            if not paused:
                left = {one: seconds - amount for one, seconds in left.items()}
                gone += sorted(one for one, seconds in left.items() if seconds <= 0)
                left = {one: seconds for one, seconds in left.items() if seconds > 0}
    if not paused:
        loop.advance(0)
    assert sorted(expired) == sorted(gone)


def test_one_that_is_moved_expires_later_but_never_after_its_limit() -> None:
    """Our contract: progress may extend up to a maximum."""
    loop, deadlines, expired = new()
    extend = deadlines.add(1, 10, 25)
    assert extend is not None
    assert deadlines.add(2, 15) is None
    loop.advance(9)
    extend()
    loop.advance(9)
    assert expired == [2]
    extend()
    loop.advance(6.9)
    assert expired == [2]
    extend()
    loop.advance(0.2)
    assert expired == [2, 1]
    extend()  # too late: nothing to move
    loop.advance(100)
    assert expired == [2, 1]


def test_moving_a_deadline_sets_no_timer() -> None:
    """A flood of progress must cost nothing but a dictionary entry each."""
    loop, deadlines, expired = new()
    extend = deadlines.add(1, 10, 1000)
    assert extend is not None
    for _ in range(1000):
        extend()
    assert loop.set == 1
    loop.advance(9.9)
    assert expired == []
    loop.advance(0.2)
    assert expired == [1]
