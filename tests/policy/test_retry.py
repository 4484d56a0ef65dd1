"""Sent again is what provably never left, and reads; never a write that perhaps ran."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import (
    AuthRequired,
    BreakerOpen,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    MalformedResponse,
    MaybeRan,
    NotAllowed,
    ServerBusy,
    ServerError,
    SpawnFailed,
)
from dragoman.policy.approvers import YesApprover
from dragoman.policy.chain import Call, Outcome
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.ports import Resolved
from dragoman.policy.retry import Retry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.policy.turns import Turns
from dragoman.protocol.refusals import TURNED_AWAY
from dragoman.testing.layers import spawn_layer
from dragoman.wire.tier import Tier
from tests.policy.kit import Chain, call_of, tool


def lost(maybe_ran: MaybeRan = "perhaps", status: int | None = None, after_s: float | None = None) -> ConnectionLost:
    error = ConnectionLost("it is gone", server="math", maybe_ran=maybe_ran)
    error.status, error.retry_after_s = status, after_s
    return error


class Bench:
    """The layer around endings in a row; the last one for ever."""

    def __init__(self, *endings: DragomanError | None, retries: int = 5, jitter: float = 1.0) -> None:
        self.clock, self.flights, self.turns = FakeClock(), Flights(), Turns(retries)
        self.endings = list(endings)
        self.calls: list[Call] = []
        self.slept: list[float] = []
        self.obstacle: DragomanError | None = None
        self.flight: Flight
        self.layer = Retry(
            self.turns, self.flights, self.clock, in_vain=lambda call: self.obstacle, sleep=self._sleep, jitter=lambda: jitter
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    async def _inside(self, call: Call) -> Outcome:
        self.calls.append(call)
        ending = self.endings.pop(0) if len(self.endings) > 1 else self.endings[0]
        if ending is not None:
            raise ending
        return Outcome(call=call)

    async def run(self, tier: Tier | None = "L0", *, idempotent: bool = False, **more: Any) -> DragomanError | None:
        call = call_of(tool(), {}, tier=tier, **more)
        self.flight = self.flights.open(call)
        self.flight.found = Resolved(server="math", name="add", tier=tier or "L2", rule="x", idempotent=idempotent)
        try:
            await self.layer(call, self._inside)
        except DragomanError as exc:
            return exc
        finally:
            self.flights.close(call)
        return None


@pytest.mark.parametrize("tier", ["L0", "L1", "L2", "L3"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: lost("no"),
        lambda: lost("no", 429),
        lambda: ConnectFailed("refused"),
        lambda: ConnectFailed("busy", status=503),
        lambda: SpawnFailed("it died", exit_code=1),
    ],
)
async def test_what_provably_never_left_is_tried_twice_more_whatever_it_is(tier: Tier, make: Callable[[], DragomanError]) -> None:
    """Our contract: retry by truth."""
    bench = Bench(make(), make(), None)
    assert await bench.run(tier) is None
    assert [call.attempt for call in bench.calls] == [1, 2, 3]
    assert len(bench.flight.notes) == 2
    assert bench.flight.call.attempt == 3


async def test_two_retries_are_all() -> None:
    """Our contract."""
    bench = Bench(*[lost("no") for _ in range(9)])
    assert isinstance(await bench.run(), ConnectionLost)
    assert len(bench.calls) == 3


@pytest.mark.parametrize(
    ("tier", "idempotent", "attempts"),
    [("L0", False, 3), ("L1", False, 1), ("L1", True, 3), ("L2", False, 1), ("L2", True, 1), ("L3", True, 1), (None, True, 1)],
)
async def test_what_was_lost_is_tried_again_only_for_reads_and_what_a_person_called_idempotent(
    tier: Tier | None, idempotent: bool, attempts: int
) -> None:
    """Our contract: never a write; L0, or L0 and L1 that the person's configuration marks."""
    bench = Bench(*[lost() for _ in range(9)])
    error = await bench.run(tier, idempotent=idempotent)
    assert isinstance(error, ConnectionLost)
    assert error.maybe_ran == "perhaps"
    assert len(bench.calls) == attempts


@pytest.mark.parametrize("status", [408, 425])
@pytest.mark.parametrize(("tier", "attempts"), [("L0", 3), ("L1", 1), ("L2", 1), ("L3", 1)])
async def test_a_write_behind_a_status_that_gateways_give_late_is_not_sent_twice(status: int, tier: Tier, attempts: int) -> None:
    """A gateway says 408 too when it is tired of waiting for the server behind it, which may be at work."""
    assert status not in TURNED_AWAY, "the engine would say that it never left"
    bench = Bench(*[lost(status=status) for _ in range(9)])
    assert isinstance(await bench.run(tier), ConnectionLost)
    assert len(bench.calls) == attempts


@pytest.mark.parametrize(
    "error",
    [
        lost(status=502),
        lost(status=503, after_s=1.0),
        CallTimeout("no answer", 30),
        ServerError(-32603, "internal error"),
        MalformedResponse("unreadable", maybe_ran="yes"),
        AuthRequired("who are you"),
        ConnectFailed("not found", status=404),
        lost("no", 400),
        SpawnFailed("no such program"),
        BreakerOpen("open", since=0.0, retry_after_s=9.0),
        ServerBusy("full", layer="bulkhead"),
        NotAllowed("no"),
    ],
    ids=repr,
)
async def test_even_a_read_is_not_tried_again_where_it_was_answered_or_would_get_the_same(error: DragomanError) -> None:
    """Our contract: a 5xx never resends what may have run; a time-out has used the whole deadline."""
    bench = Bench(error)
    assert await bench.run() is error
    assert len(bench.calls) == 1
    assert bench.slept == []


async def test_a_call_without_a_configuration_is_never_sent_again() -> None:
    """Our contract: an ad hoc call that is lost is never sent again."""
    bench = Bench(lost("no"))
    await bench.run("L0", adhoc=True)
    assert len(bench.calls) == 1


async def test_the_hint_of_the_server_does_not_count() -> None:
    """Our contract: never by the server's idempotentHint."""
    error = lost()
    chain = Chain(tool("pay"), tiers={"pay": "L1"}, answer=error)
    found = chain.registry.find("tool", "", "math.pay")
    assert found is not None
    assert found.definition is not None
    assert not found.idempotent
    outcome = await chain.run("math.pay", {"a": 1})
    assert outcome.error is error
    assert len(chain.inside.calls) == 1


async def test_waiting_grows_is_spread_and_honours_retry_after() -> None:
    """RFC 9110 section 10.2.3; our choice of the rest."""
    bench = Bench(lost("no"), lost("no"), lost("no"))
    await bench.run()
    assert bench.slept == [0.25, 0.5]
    bench = Bench(lost("no"), lost("no"), lost("no"), jitter=0.0)
    await bench.run()
    assert bench.slept == [0.125, 0.25]
    bench = Bench(lost("no", 429, after_s=7.0), None)
    assert await bench.run(timeout_s=30.0) is None
    assert bench.slept == [7.0]


async def test_waiting_never_goes_beyond_the_deadline_of_the_call() -> None:
    """Our contract: timeout_s covers retries; each attempt gets what is left."""
    bench = Bench(lost("no", 429, after_s=31.0), None)
    assert isinstance(await bench.run(timeout_s=30.0), ConnectionLost)
    assert bench.slept == []
    assert "no time is left" in bench.flight.notes[0]
    bench = Bench(lost("no", 429, after_s=7.0), None)
    await bench.run(timeout_s=30.0, max_timeout_s=90.0)
    assert (bench.calls[1].timeout_s, bench.calls[1].max_timeout_s) == (23.0, 83.0)


async def test_a_server_cannot_hold_a_call_without_a_deadline_by_asking_for_years() -> None:
    """``Retry-After`` is the server's word; nothing hangs."""
    bench = Bench(lost("no", 429, after_s=999_999_999.0), None)
    assert isinstance(await bench.run(timeout_s=None), ConnectionLost)
    assert bench.slept == []
    assert "wants to be left alone" in bench.flight.notes[0]


async def test_a_refusal_after_a_lost_attempt_tells_of_the_attempt() -> None:
    """Our contract: a later refusal re-raises the first CallFailed."""
    first = lost()
    bench = Bench(first, ServerBusy("full", layer="bulkhead"))
    assert await bench.run() is first
    assert isinstance(first.__cause__, ServerBusy)


async def test_an_attempt_that_never_left_does_not_undo_one_that_perhaps_arrived() -> None:
    """Our contract: what is told must be true of the whole call."""
    first = lost()
    bench = Bench(first, ConnectFailed("refused"), ConnectFailed("refused"))
    assert await bench.run() is first
    assert len(bench.calls) == 3
    last = lost()
    bench = Bench(lost("no"), lost("no"), last)
    assert await bench.run() is last


async def test_the_very_same_error_was_no_attempt() -> None:
    """A server that is known to be down answers with the error it has: going on would be pretence."""
    error = ConnectFailed("refused")
    bench = Bench(error)
    assert await bench.run() is error
    assert len(bench.calls) == 2


@pytest.mark.parametrize(("obstacle", "slept"), [(NotAllowed("it was stopped"), 0), (ConnectFailed("down"), 1)])
async def test_no_attempt_is_made_at_a_server_that_is_known_to_be_down(obstacle: DragomanError, slept: int) -> None:
    """Nor is time wasted on one that we stopped ourselves."""
    error = lost("no")
    bench = Bench(error, None)
    bench.obstacle = obstacle
    assert await bench.run() is error
    assert (len(bench.calls), len(bench.slept)) == (1, slept)


async def test_calls_of_one_turn_share_one_budget() -> None:
    """Our contract: five retries a turn over all servers."""
    bench = Bench(*[lost("no") for _ in range(99)])
    for n in range(4):
        await bench.run(turn="t", id=f"c{n}")
    assert len(bench.slept) == 5
    assert "the turn has used up its 5 retries" in bench.flight.notes[-1]
    await bench.run(turn="another")
    assert len(bench.slept) == 7
    bench.turns.end("local", "t")
    await bench.run(turn="t")
    assert len(bench.slept) == 9


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (5, 3)])
@pytest.mark.parametrize("turn", ["c1", "t", ""])
async def test_budget_can_be_set_and_counts_for_calls_of_their_own_too(retries: int, attempts: int, turn: str) -> None:
    """Our contract: configurable; each call outside of a turn is one."""
    bench = Bench(*[lost("no") for _ in range(99)], retries=retries)
    await bench.run(turn=turn)
    assert len(bench.calls) == attempts
    assert len(bench.turns) == (turn == "t")


async def test_turns_that_nobody_ends_do_not_pile_up() -> None:
    """Our contract: bounded memory."""
    bench = Bench(*[lost("no") for _ in range(99)])
    for n in range(3000):
        bench.turns.of("ann", f"t{n}")
    assert len(bench.turns) == 1000


async def test_each_attempt_leaves_its_own_sending_and_a_grant_serves_what_never_left() -> None:
    """Our contract: a grant belongs to one call id; attempts that provably never left may reuse it."""
    chain = Chain(tool("pay"), tiers={"pay": "L2"}, approver=YesApprover("ann"))
    answers: list[DragomanError | None] = [lost("no"), None]

    def answer(call: Call) -> Outcome:
        error = answers.pop(0)
        if error is not None:
            raise error
        return Outcome(call=call)

    chain.inside.answer = answer
    outcome = await chain.run("math.pay", {"a": 1})
    assert outcome.error is None
    assert chain.sink.story == ["asked", "sending", "sending", "ended: ok"]
    assert [event.attempt for event in chain.sink.events] == [1, 1, 2, 2]
    assert len(chain.sink.durable) == 2
    assert outcome.spent.attempts == 2


async def test_a_lost_write_ends_unknown_and_went_out_once() -> None:
    """Our contract: the audit says unknown."""
    chain = Chain(tool("pay"), tiers={"pay": "L2"}, approver=YesApprover("ann"), answer=lost())
    outcome = await chain.run("math.pay", {"a": 1})
    assert outcome.error is not None
    assert outcome.error.maybe_ran == "perhaps"
    assert chain.sink.story == ["asked", "sending", "ended: unknown"]


async def test_cancelling_while_it_waits_ends_it() -> None:
    """One call's trouble ends with that call."""
    hold = asyncio.Event()

    async def sleep(seconds: float) -> None:
        hold.set()
        await asyncio.Event().wait()

    layer = spawn_layer(Retry(Turns(), Flights(), FakeClock(), sleep=sleep), answer=lost("no"))
    task = asyncio.ensure_future(layer(call_of(tool(), {})))
    await hold.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await spawn_layer(Retry(Turns(), Flights(), FakeClock())).cancelled(call_of(tool(), {}))


def test_explanation_says_what_counts() -> None:
    """``policy explain``."""
    layer = Retry(Turns(3), Flights(), FakeClock())
    rules = Rules("s", {"a": ToolRule("L1", idempotent=True)})
    assert rules.settings("a").idempotent
    assert "a write" in layer.explain(Resolved(server="s", name="x", tier="L1", rule=""))
    assert "idempotent" in layer.explain(Resolved(server="s", name="x", tier="L1", rule="", idempotent=True))
    assert "a write" in layer.explain(Resolved(server="s", name="x", tier="L2", rule="", idempotent=True))
    assert "3 retries a turn" in layer.explain(Resolved(server="s", name="x", tier="L0", rule=""))


@pytest.mark.parametrize(
    ("tier", "idempotent", "repeatable"), [("L0", False, True), ("L1", True, True), ("L1", False, False), ("L2", True, False)]
)
async def test_an_error_knows_whether_its_call_may_be_repeated_and_says_so(tier: Tier, idempotent: bool, repeatable: bool) -> None:
    """Our contract: a time-out offers retry, never for a write."""
    error = await Bench(CallTimeout("no answer within 30 s", 30)).run(tier, idempotent=idempotent)
    assert isinstance(error, CallTimeout)
    assert error.repeatable is repeatable
    assert ("try it once more" in error.for_model()) is repeatable
    assert ("do not repeat it" in error.for_model()) is not repeatable
    assert ("it may have run: look at" in error.for_user()) is not repeatable
