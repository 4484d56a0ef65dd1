"""When a server is tried again and when it is given up: every pause, by a clock that only moves when told to."""

from __future__ import annotations

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import ConnectFailed, DragomanError, SpawnFailed, VersionMismatch
from dragoman.runtime.supervisor import Supervisor, may_pass


class Most:
    """Draws the upper bound each time, and notes both."""

    def __init__(self) -> None:
        self.drawn: list[tuple[float, float]] = []

    def uniform(self, a: float, b: float) -> float:
        self.drawn.append((a, b))
        return b


GONE = SpawnFailed("exited with status 7", exit_code=7)


def program() -> tuple[Supervisor, FakeClock, Most]:
    """A program that is up."""
    clock, jitter = FakeClock(), Most()
    supervisor = Supervisor(clock, remote=False, jitter=jitter)
    supervisor.came_up()
    return supervisor, clock, jitter


def test_crashed_program_is_started_again_three_times_in_a_minute_and_then_down() -> None:
    """Our choice: exponential backoff with full jitter."""
    supervisor, clock, jitter = program()
    for _ in range(3):
        assert supervisor.lost().state == "backing off"
        supervisor.came_up()
        clock.advance(1)
    assert jitter.drawn == [(0.0, 0.5), (0.0, 1.0), (0.0, 2.0)]
    assert supervisor.lost().state == "down"
    assert supervisor.is_down
    assert supervisor.restarts == 3


def test_restart_that_fails_counts_like_a_crash() -> None:
    """It is three attempts, however each of them ends."""
    supervisor, _, _ = program()
    states = [supervisor.lost().state, *(supervisor.failed(GONE).state for _ in range(3))]
    assert states == ["backing off", "backing off", "backing off", "down"]


def test_crashes_that_lie_apart_are_each_the_first() -> None:
    """The window is 60 seconds."""
    supervisor, clock, jitter = program()
    for _ in range(10):
        assert supervisor.lost().state == "backing off"
        supervisor.came_up()
        clock.advance(60)
    assert jitter.drawn == [(0.0, 0.5)] * 10


def test_program_that_is_down_is_tried_at_growing_intervals() -> None:
    """Half-open: one trial, and a longer wait when it fails."""
    supervisor, _, jitter = program()
    verdicts = [supervisor.lost(), *(supervisor.failed(GONE) for _ in range(9))]
    assert {verdict.state for verdict in verdicts[3:]} == {"down"}
    assert [least for least, _ in jitter.drawn[3:]] == [15, 30, 60, 120, 240, 300, 300]


def test_trial_that_does_not_last_is_no_reason_for_three_more() -> None:
    """Down again at once, and the interval goes on growing; a minute of life is a new start."""
    supervisor, clock, jitter = program()
    for _ in range(4):
        supervisor.lost()
    supervisor.came_up()
    clock.advance(59)
    assert supervisor.lost().state == "down"
    assert jitter.drawn[-1][0] == 30
    supervisor.came_up()
    clock.advance(61)
    assert supervisor.lost().state == "backing off"


def test_program_that_never_ran_is_down_at_once_and_soon_tried_again() -> None:
    """Nothing says that three quick attempts would help; a typo is mended in seconds."""
    jitter = Most()
    supervisor = Supervisor(FakeClock(), remote=False, jitter=jitter)
    assert {supervisor.failed(GONE).state for _ in range(4)} == {"down"}
    assert [least for least, _ in jitter.drawn] == [1, 2, 4, 8]


def test_address_that_cannot_be_reached_is_tried_after_1_2_4_and_8_seconds() -> None:
    """Refused, DNS and 5xx at connecting: at most four retries, then down."""
    supervisor = Supervisor(FakeClock(), remote=True, jitter=Most())
    verdicts = [supervisor.failed(ConnectFailed("refused")) for _ in range(5)]
    assert [tuple(verdict) for verdict in verdicts[:4]] == [("backing off", pause) for pause in (1.0, 2.0, 4.0, 8.0)]
    assert verdicts[4].state == "down"


def test_retry_after_is_honoured_within_reason() -> None:
    """RFC 9110 section 10.2.3; never shorter than our own pause, never longer than an hour."""
    supervisor = Supervisor(FakeClock(), remote=True, jitter=Most())
    assert supervisor.failed(ConnectFailed("busy", status=503, retry_after_s=30)).after_s == 30
    assert supervisor.failed(ConnectFailed("busy", status=503, retry_after_s=0.5)).after_s == 2
    assert supervisor.failed(ConnectFailed("busy", status=503, retry_after_s=1e9)).after_s == 3600


def test_address_that_answered_no_is_not_tried_in_haste() -> None:
    """404 says more about the configuration than about the moment."""
    supervisor = Supervisor(FakeClock(), remote=True, jitter=Most())
    assert supervisor.failed(ConnectFailed("no such path", status=404)).state == "down"


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectFailed("refused"), True),
        (ConnectFailed("500", status=500), True),
        (ConnectFailed("503", status=503), True),
        (ConnectFailed("429", status=429), True),
        (ConnectFailed("404", status=404), False),
        (VersionMismatch(("1",), ("2",)), False),
    ],
)
def test_what_may_pass_by_itself(error: DragomanError, passes: bool) -> None:
    """Our choice."""
    assert may_pass(error) is passes


def test_connection_that_broke_is_made_again_soon_and_with_all_attempts() -> None:
    """An event stream that ended, a socket that closed."""
    supervisor = Supervisor(FakeClock(), remote=True, jitter=Most())
    supervisor.failed(ConnectFailed("refused"))
    supervisor.came_up()
    assert supervisor.lost() == ("backing off", 1.0)
    assert supervisor.failed(ConnectFailed("refused")) == ("backing off", 1.0)


def test_connection_that_breaks_every_second_for_an_hour_is_not_made_every_second() -> None:
    """Each time costs a handshake, a listing and a row; one that breaks now and then is made again soon, as before."""
    clock, jitter = FakeClock(), Most()
    supervisor = Supervisor(clock, remote=True, jitter=jitter)
    made, end = 0, clock.monotonic() + 3600
    while clock.monotonic() < end:
        supervisor.came_up()
        made += 1
        clock.advance(1.0)
        clock.advance(supervisor.lost().after_s)
    assert made < 500
    assert [most for _, most in jitter.drawn[:7]] == [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0]
    clock.advance(60)
    assert supervisor.lost().after_s == 1.0


def test_person_who_restarts_it_gives_it_a_clean_sheet() -> None:
    """`dragoman restart` after the cause was mended."""
    supervisor, _, _ = program()
    for _ in range(4):
        supervisor.lost()
    supervisor.forget()
    supervisor.came_up()
    assert supervisor.lost().state == "backing off"
