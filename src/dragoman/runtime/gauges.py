"""How a server is doing, as the process that uses it sees it: counted in memory on the path of calls, read when it is written down."""

from __future__ import annotations

from array import array
from typing import Final, Literal, Protocol

import msgspec

#: How many of the last calls the percentiles speak of.
REMEMBERED: Final = 512


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a server: when (seconds since the epoch), and how it went; ``error`` may be long, and holds a server's words."""

    at: float
    ok: bool
    ms: float
    error: str | None = None


class BreakerState(Protocol):
    """What is read of a breaker."""

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        """Whether calls are let through."""
        ...

    @property
    def failures(self) -> int:
        """In a row."""
        ...

    @property
    def retry_at(self) -> float | None:
        """When a trial may be made, seconds since the epoch."""
        ...


class Vitals(msgspec.Struct, frozen=True, kw_only=True):
    """A server at one moment; see :class:`dragoman.store.records.Health`, which it becomes."""

    server: str
    state: str
    seen: Seen | None
    ok_at: float | None
    era: str | None
    revision: str | None
    calls: int
    failures: int
    p50_ms: float | None
    p99_ms: float | None
    breaker: BreakerState | None
    restarts: int
    pid: int | None


class Gauge:
    """Counts the calls of one server. ``took`` is on the path of every call: no allocation beyond a float, no clock of its own.

    Attributes:
        calls: Those that were handed to the server's connection.
        failures: Those of them that ended without a result.
        seen: The last look at it, and when one went well for the last time.
    """

    __slots__ = ("_next", "_times", "calls", "failures", "ok_at", "seen")

    def __init__(self, seen: Seen | None = None) -> None:
        self.calls = self.failures = 0
        self.seen: Seen | None = None
        self.ok_at: float | None = None
        if seen is not None:
            self.look(seen)
        self._times = array("d")
        self._next = 0

    def took(self, seconds: float) -> None:
        """A call had a result after so long."""
        self.calls += 1
        times = self._times
        if len(times) < REMEMBERED:
            times.append(seconds)
        else:
            times[self._next] = seconds
            self._next = (self._next + 1) % REMEMBERED

    def failed(self) -> None:
        """A call ended without a result."""
        self.calls += 1
        self.failures += 1

    def look(self, seen: Seen) -> None:
        """Somebody looked."""
        self.seen = seen
        if seen.ok:
            self.ok_at = seen.at

    def percentiles(self) -> tuple[float | None, float | None]:
        """Of the last calls that had a result, in milliseconds: the median, and what 99 of 100 stay within."""
        times = sorted(self._times)
        return _nearest(times, 50), _nearest(times, 99)


def _nearest(times: list[float], percent: int) -> float | None:
    """By nearest rank, in milliseconds."""
    if not times:
        return None
    rank = -(-len(times) * percent // 100)
    return round(times[rank - 1] * 1000, 3)


def vitals(
    server: str,
    state: str,
    gauge: Gauge,
    *,
    era: str | None = None,
    revision: str | None = None,
    breaker: BreakerState | None = None,
    restarts: int = 0,
    pid: int | None = None,
) -> Vitals:
    """What there is to say of a server now."""
    p50_ms, p99_ms = gauge.percentiles()
    return Vitals(
        server=server,
        state=state,
        seen=gauge.seen,
        ok_at=gauge.ok_at,
        era=era,
        revision=revision,
        calls=gauge.calls,
        failures=gauge.failures,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        breaker=breaker,
        restarts=restarts,
        pid=pid,
    )
