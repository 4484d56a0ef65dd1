"""What is counted about calls, and what the percentiles say."""

from __future__ import annotations

import pytest

from dragoman.runtime.gauges import REMEMBERED, Gauge, Seen, vitals


def test_percentiles_are_those_of_the_last_calls() -> None:
    """By nearest rank, in milliseconds; memory is bounded."""
    gauge = Gauge()
    assert gauge.percentiles() == (None, None)
    gauge.took(0.002)
    assert gauge.percentiles() == (2.0, 2.0)
    for number in range(1, 101):
        gauge.took(number / 1000)
    assert gauge.percentiles() == (50.0, 99.0)
    for _ in range(REMEMBERED):
        gauge.took(0.007)
    assert gauge.percentiles() == (7.0, 7.0)
    assert len(gauge._times) == REMEMBERED
    assert gauge.calls == 101 + REMEMBERED


def test_failures_are_calls_without_a_time() -> None:
    """A server that times out must not look fast or slow by it."""
    gauge = Gauge()
    gauge.failed()
    assert (gauge.calls, gauge.failures, gauge.percentiles()) == (1, 1, (None, None))


def test_time_of_the_last_good_look_stays() -> None:
    """When was it last healthy?"""
    gauge = Gauge(Seen(at=1.0, ok=True, ms=5.0))
    gauge.look(Seen(at=2.0, ok=False, ms=5.0, error="gone"))
    row = vitals("files", "down", gauge, restarts=3, pid=7)
    assert (row.ok_at, row.seen, row.restarts, row.pid) == (1.0, Seen(at=2.0, ok=False, ms=5.0, error="gone"), 3, 7)


@pytest.mark.parametrize("count", [1, 2, 3, 99, 100, 101])
def test_99th_percentile_is_one_of_the_times(count: int) -> None:
    """Never an invented number, and never below the median."""
    gauge = Gauge()
    for number in range(count):
        gauge.took(number / 1000)
    p50_ms, p99_ms = gauge.percentiles()
    assert p50_ms is not None
    assert p99_ms is not None
    assert 0 <= p50_ms <= p99_ms <= count - 1
