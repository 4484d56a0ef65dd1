"""What time it is, behind a seam, so that tests decide.

``monotonic`` measures waits; ``now`` dates records.  Nothing here sleeps: the driver and the layers wait with the event loop.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Two readings, in seconds."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def now(self) -> float:
        """Seconds since the Unix epoch, UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> float:
        return time.time()


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start

    def monotonic(self) -> float:
        return self._now

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        """Move both readings forward by ``seconds``."""
        self._now += seconds
