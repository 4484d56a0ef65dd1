"""A server that fails in a row is left alone, tried once after a while, and comes back."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.clock import FakeClock
from dragoman.errors import (
    AuthRequired,
    BreakerOpen,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidResult,
    LocalProtocolError,
    MalformedResponse,
    NotAllowed,
    ResultTooLarge,
    ServerError,
    SpawnFailed,
)
from dragoman.policy.approvers import CallbackApprover
from dragoman.policy.breaker import Break, BreakerRule, Breakers, is_fault
from dragoman.policy.chain import Call, Outcome
from dragoman.testing.layers import Spawned, spawn_layer, tool_result
from dragoman.wire.alerts import Alert
from tests.policy.kit import Chain, call_of, tool


class Bench:
    """One layer, its clock, and what was alerted."""

    def __init__(self, rule: BreakerRule | None = None) -> None:
        self.clock, self.alerts = FakeClock(), list[Alert]()
        made = BreakerRule() if rule is None else rule
        self.breakers = Breakers(self.clock, lambda server: made if server != "free" else None, self.alerts.append)
        self.layer: Spawned = spawn_layer(Break(self.breakers))
        self.ids = 0

    def call(self, server: str = "math") -> Call:
        self.ids += 1
        return Call(id=f"c{self.ids}", server=server, name="add", tier="L0")

    async def ends(self, ending: BaseException | None, server: str = "math") -> None:
        self.layer.inside.answer = ending
        if ending is None:
            await self.layer(self.call(server))
        else:
            with pytest.raises(type(ending)):
                await self.layer(self.call(server))

    async def open(self) -> None:
        for _ in range(10):
            await self.ends(lost())
        assert self.state == "open"

    @property
    def state(self) -> str:
        return self.breakers.state("math").state


def lost(**more: int) -> ConnectionLost:
    error = ConnectionLost("math: exited with status 7", server="math")
    error.status = more.get("status")
    return error


def answered(status: int | None) -> ServerError:
    error = ServerError(-32603, "no")
    error.status = status
    return error


def known() -> ConnectFailed:
    error = ConnectFailed("it is down, and is tried again in 9 s")
    error.tried = False
    return error


FAULTS: list[DragomanError] = [
    lost(),
    lost(status=502),
    lost(status=200),
    CallTimeout("no answer", 30),
    ConnectFailed("cannot connect"),
    ConnectFailed("unavailable", status=503),
    SpawnFailed("it ended", exit_code=3),
    answered(500),
]
NO_FAULTS: list[DragomanError] = [
    answered(None),
    answered(400),
    InvalidResult("no"),
    ResultTooLarge("too large"),
    MalformedResponse("cannot be read"),
    NotAllowed("no"),
    BreakerOpen("open", since=0.0, retry_after_s=1.0),
    AuthRequired("who are you"),
    LocalProtocolError("not declared"),
    ConnectFailed("not found", status=404),
    lost(status=429),
    known(),
]


@pytest.mark.parametrize("error", FAULTS, ids=repr)
async def test_ten_faults_in_a_row_open_it(error: DragomanError) -> None:
    """Our contract: lost, timed out, not reached, 5xx."""
    assert is_fault(error)
    bench = Bench()
    for n in range(10):
        assert (bench.state, bench.breakers.state("math").failures) == ("closed", n)
        await bench.ends(type(error)(*error.args, **_fields(error)) if type(error) is not ServerError else answered(500))
    assert bench.state == "open"
    assert isinstance(await bench.layer.refused(bench.call()), BreakerOpen)


def _fields(error: DragomanError) -> dict[str, object]:
    if isinstance(error, CallTimeout):
        return {"after_s": error.after_s}
    if isinstance(error, ConnectFailed):
        return {"status": error.status}
    return {}


@pytest.mark.parametrize("error", NO_FAULTS, ids=repr)
async def test_what_says_nothing_against_a_server_never_opens_it(error: DragomanError) -> None:
    """Our contract: never isError, refusals, cancellation."""
    assert not is_fault(error)
    bench = Bench()
    for _ in range(20):
        await bench.ends(error)
    assert bench.state == "closed"


async def test_results_that_say_error_and_cancelled_calls_never_open_it() -> None:
    """Our contract."""
    bench = Bench(BreakerRule(failures=1))
    bench.layer.inside.answer = tool_result("broken", is_error=True)
    await bench.layer(bench.call())
    await bench.layer.cancelled(bench.call())
    assert bench.breakers.state("math").failures == 0


async def test_one_answer_ends_the_row() -> None:
    """Our contract: in a row."""
    bench = Bench()
    for ending in [*[lost() for _ in range(9)], None, *[lost() for _ in range(9)]]:
        await bench.ends(ending)
    assert bench.state == "closed"
    await bench.ends(lost())
    assert bench.state == "open"


async def test_error_names_server_since_when_the_trial_and_the_next_step() -> None:
    """Our contract."""
    bench = Bench()
    await bench.open()
    bench.clock.advance(60)
    error = await bench.layer.refused(bench.call())
    assert isinstance(error, BreakerOpen)
    assert (error.server, error.since, error.retry_after_s, error.maybe_ran) == ("math", 1_800_000_000.0, 240.0, "no")
    assert "the server math is left alone since " in str(error)
    assert "(60 s ago)" in str(error)
    assert "10 times in a row" in str(error)
    assert "ConnectionLost: math: exited with status 7" in str(error)
    assert "(in 4 min)" in str(error)
    assert error.hint is not None
    assert "dragoman status math" in error.hint


async def test_after_five_minutes_one_call_is_the_trial_and_others_are_refused_meanwhile() -> None:
    """Our contract: one trial; a trial that went well lets all through."""
    bench = Bench()
    await bench.open()
    bench.clock.advance(299)
    await bench.layer.refused(bench.call())
    bench.clock.advance(1)
    assert bench.state == "half-open"
    bench.layer.inside.answer = None
    bench.layer.inside.holding = True
    bench.layer.inside.arrived.clear()
    trial = asyncio.create_task(_run(bench))
    await bench.layer.inside.arrived.wait()
    assert "a trial is under way" in str(await bench.layer.refused(bench.call()))
    trial.cancel()
    await asyncio.wait([trial])
    bench.layer.inside.holding = False
    await bench.ends(NotAllowed("it was turned away on the way"))  # a trial that shows nothing: the next call is one too
    await bench.ends(None)
    assert bench.state == "closed"
    assert [alert.kind for alert in bench.alerts] == ["breaker open", "breaker closed"]


async def _run(bench: Bench) -> Outcome:
    return await bench.layer(bench.call())


async def test_trial_that_fails_opens_it_for_as_long_again_and_is_not_told_twice() -> None:
    """Our contract: half-open; an alert is for news."""
    bench = Bench()
    await bench.open()
    bench.clock.advance(300)
    await bench.ends(lost())
    assert bench.state == "open"
    bench.clock.advance(299)
    await bench.layer.refused(bench.call())
    bench.clock.advance(1)
    await bench.ends(None)
    assert [alert.kind for alert in bench.alerts] == ["breaker open", "breaker closed"]
    assert "math" in bench.alerts[0].text
    assert "5 min" in bench.alerts[0].text


async def test_trial_that_gets_the_very_same_error_again_has_failed_too() -> None:
    """A server that is known to be down hands the same error to many callers; a trial must never stay under way for ever."""
    bench, same = Bench(BreakerRule(failures=1)), lost()
    await bench.ends(same)
    for _ in range(3):
        bench.clock.advance(300)
        assert bench.state == "half-open"
        await bench.ends(same)
        assert bench.state == "open"


async def test_calls_that_one_loss_ended_are_one_failure() -> None:
    """A crash under load must not shut a server out for five minutes: it is restarted in a second."""
    bench = Bench()
    gate = asyncio.Event()

    async def inside(call: Call) -> Outcome:
        await gate.wait()
        raise lost()

    calls = [asyncio.ensure_future(bench.layer.layer(bench.call(), inside)) for _ in range(64)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.wait(calls)
    assert all(isinstance(call.exception(), ConnectionLost) for call in calls)
    assert bench.breakers.state("math").failures == 1


async def test_one_error_that_is_handed_to_many_is_one_failure() -> None:
    """A server that did not start gives its error to all who ask within a second."""
    bench, error = Bench(), SpawnFailed("it ended", exit_code=1)
    for _ in range(20):
        await bench.ends(error)
    assert bench.breakers.state("math").failures == 1


async def test_timeouts_of_calls_side_by_side_count_each() -> None:
    """Each of them waited its whole time in vain."""
    bench = Bench()
    gate = asyncio.Event()

    async def inside(call: Call) -> Outcome:
        await gate.wait()
        raise CallTimeout("no answer", 30)

    calls = [asyncio.ensure_future(bench.layer.layer(bench.call(), inside)) for _ in range(10)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.wait(calls)
    assert [type(call.exception()) for call in calls] == [CallTimeout] * 10
    assert bench.state == "open"


async def test_each_server_has_its_own_and_one_without_a_rule_has_none() -> None:
    """Our contract: per server, on by default, can be switched off."""
    bench = Bench()
    await bench.open()
    await bench.ends(None, server="other")
    for _ in range(30):
        await bench.ends(lost(), server="free")
    assert bench.breakers.state("free").state == "closed"


async def test_a_person_can_close_it() -> None:
    """For a restart, or a server that was removed."""
    bench = Bench()
    await bench.open()
    bench.breakers.reset("math")
    await bench.ends(None)
    assert bench.alerts[-1].kind == "breaker closed"
    bench.breakers.reset("never seen")


async def test_nobody_is_asked_while_it_is_open() -> None:
    """Our contract: approve asks nobody in vain."""
    asked: list[object] = []

    def yes(question: object) -> bool:
        asked.append(question)
        return True

    chain = Chain(tool("pay"), tiers={"pay": "L2"}, approver=CallbackApprover(yes))
    for n in range(10):
        chain.inside.answer = ConnectionLost("gone", server="math")
        await chain.run("math.pay", {"a": n})
    assert len(asked) == 10
    outcome = await chain.run("math.pay", {"a": 1})
    assert isinstance(outcome.error, BreakerOpen)
    assert len(asked) == 10
    assert chain.sink.story[-2:] == ["asked", "ended: refused"]


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await spawn_layer(Break(Breakers(FakeClock()))).cancelled(call_of(tool(), {}))


@given(st.lists(st.sampled_from(["ok", "fault", "refused", "cancelled", "wait", "long"]), max_size=60))
def test_whatever_happens_it_is_as_the_simple_model_says(steps: list[str]) -> None:
    """A state machine against its definition: closed, open until a time, one trial."""

    async def run() -> None:
        bench = Bench(BreakerRule(failures=3, open_s=10))
        row, open_until = 0, None
        for step in steps:
            now = bench.clock.monotonic()
            if step in ("wait", "long"):
                bench.clock.advance(4 if step == "wait" else 10)
                continue
            blocked = open_until is not None and now < open_until
            before = len(bench.layer.inside.calls)
            if step == "cancelled":
                bench.layer.inside.answer = asyncio.CancelledError()
            else:
                bench.layer.inside.answer = {"ok": None, "fault": lost(), "refused": NotAllowed("no")}[step]
            try:
                await bench.layer(bench.call())
            except (DragomanError, asyncio.CancelledError):
                pass
            assert (len(bench.layer.inside.calls) == before) is blocked
            if blocked or step in ("refused", "cancelled"):
                continue
            if step == "ok":
                row, open_until = 0, None
            else:
                row += 1
                if row >= 3 or open_until is not None:
                    open_until = now + 10
            expected = "closed" if open_until is None else "open"
            assert bench.state == expected

    asyncio.run(run())
