"""When a server that failed is tried again, and when it is given up for a while: counts and times, no tasks and no clock of its own.

A program that crashed is started again at most three times in 60 seconds, after a random pause that doubles its bound; then it is
*down*. A server behind an address that cannot be reached is tried again after 1, 2, 4 and 8 seconds, or after what it says in
``Retry-After``; then it is down. What is down heals by itself: one trial at a time, at growing intervals, by the clock or by a call.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Final, Literal, NamedTuple, Protocol

from dragoman.clock import Clock
from dragoman.errors import ConnectFailed, DragomanError

RESTARTS: Final = 3
WINDOW_S: Final = 60.0
#: Bound of the first random pause before a restart; it doubles.
FIRST_PAUSE_S: Final = 0.5
#: Where there is no program to restart: before each new attempt to connect.
PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0)
#: Before the first trial of a server that never ran (a typo is soon mended), and of one that did. They double.
FIRST_TRIAL_S: Final = 1.0
FIRST_TRIAL_AFTER_CRASHES_S: Final = 15.0
LONGEST_TRIAL_S: Final = 300.0
#: A server may ask us to come back later than any of these, but not never.
LONGEST_WISH_S: Final = 3600.0


class Jitter(Protocol):
    """What is used of :class:`random.Random`."""

    def uniform(self, a: float, b: float) -> float:
        """A number between the two."""
        ...


class Verdict(NamedTuple):
    """What becomes of a server that failed: the state it is in, and after how many seconds it is tried again."""

    state: Literal["backing off", "down"]
    after_s: float


class Supervisor:
    """The history of one server.

    Args:
        clock: Measures the window.
        remote: It is behind an address; else it is a program that we start.
        jitter: Spreads the attempts of many.

    Attributes:
        is_down: It was given up for a while.
        restarts: How often a restart was granted, ever.
    """

    def __init__(self, clock: Clock, *, remote: bool, jitter: Jitter | None = None) -> None:
        self.is_down = False
        self.restarts = 0
        self._clock, self._remote = clock, remote
        self._jitter = jitter if jitter is not None else random
        self._recent: deque[float] = deque()
        self._attempts = 0  # to connect, in a row
        self._trials = 0
        self._was_up = False
        self._healed_at: float | None = None

    def came_up(self) -> None:
        """It was started, and works."""
        if self.is_down:
            self._healed_at = self._clock.monotonic()
        self.is_down = False
        self._was_up = True
        self._attempts = 0

    def lost(self) -> Verdict:
        """It was up, and ended, or died in silence."""
        now = self._clock.monotonic()
        if self._healed_at is not None and now - self._healed_at < WINDOW_S:
            return self._down(None)  # a trial that did not last is no reason for three more
        self._healed_at, self._trials = None, 0
        if not self._remote:
            return self._restart(now)
        self._attempts = 0
        self.restarts += 1
        count = self._recent_ones(now)
        self._recent.append(now)
        # At once as a rule; one that takes every connection and drops it must not be knocked at every second.
        return Verdict("backing off", self._jitter.uniform(0.0, PAUSES_S[min(max(count - RESTARTS, 0), len(PAUSES_S) - 1)]))

    def failed(self, error: DragomanError) -> Verdict:
        """It did not start."""
        wish_s = min(error.retry_after_s, LONGEST_WISH_S) if isinstance(error, ConnectFailed) and error.retry_after_s else None
        if self.is_down:
            return self._down(wish_s)
        if not self._remote:
            return self._restart(self._clock.monotonic()) if self._was_up else self._down(None)
        if self._attempts < len(PAUSES_S) and may_pass(error):
            pause_s = PAUSES_S[self._attempts]
            self._attempts += 1
            return Verdict("backing off", max(pause_s, wish_s or 0.0))
        return self._down(wish_s)

    def forget(self) -> None:
        """A person said that it is another one now: start with a clean sheet."""
        self._recent.clear()
        self._attempts = self._trials = 0
        self._healed_at, self.is_down = None, False

    def _restart(self, now: float) -> Verdict:
        count = self._recent_ones(now)
        if count >= RESTARTS:
            return self._down(None)
        self._recent.append(now)
        self.restarts += 1
        return Verdict("backing off", self._jitter.uniform(0.0, FIRST_PAUSE_S * 2**count))

    def _recent_ones(self, now: float) -> int:
        """How often it was lost or restarted within the window."""
        while self._recent and now - self._recent[0] >= WINDOW_S:
            self._recent.popleft()
        return len(self._recent)

    def _down(self, wish_s: float | None) -> Verdict:
        self.is_down = True
        first_s = FIRST_TRIAL_AFTER_CRASHES_S if self._was_up or self._attempts else FIRST_TRIAL_S
        pause_s = min(first_s * 2 ** min(self._trials, 20), LONGEST_TRIAL_S)
        self._trials += 1
        return Verdict("down", max(self._jitter.uniform(pause_s, 1.25 * pause_s), wish_s or 0.0))


def may_pass(error: DragomanError) -> bool:
    """Whether a failed attempt to connect says nothing about the next: refused, no such host, no answer, 5xx, 408, 429."""
    if not isinstance(error, ConnectFailed):
        return False
    return error.status is None or error.status >= 500 or error.status in (408, 429)
