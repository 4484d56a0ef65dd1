"""Nothing risky goes out without a yes in time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import ApprovalDenied, ApprovalExpired, ConnectFailed
from dragoman.policy.approve import Approve
from dragoman.policy.approvers import YesApprover
from dragoman.policy.chain import Call, Outcome
from dragoman.policy.digests import arguments_sha256
from dragoman.policy.flights import Flights
from dragoman.policy.ports import Approver
from dragoman.policy.questions import Decision, Grant, Question
from dragoman.testing.layers import Spawned, spawn_layer, tool_result
from dragoman.wire.tier import Tier
from tests.policy.kit import call_of, tool


class Scripted:
    """Answers in order; an exception is raised; an event is waited for."""

    def __init__(self, *answers: bool | BaseException | asyncio.Event) -> None:
        self.answers = list(answers)
        self.asked: list[Question] = []
        self.was_asked = asyncio.Event()
        self.cancelled = False
        self.stubborn = False

    async def decide(self, question: Question) -> Decision:
        self.asked.append(question)
        self.was_asked.set()
        answer = self.answers.pop(0)
        if isinstance(answer, asyncio.Event):
            try:
                await answer.wait()
            except asyncio.CancelledError:
                self.cancelled = True
                if self.stubborn:
                    await answer.wait()
                raise
            answer = True
        if isinstance(answer, BaseException):
            raise answer
        return Decision(verdict="allow" if answer else "deny", by="ann", how="terminal", reason="" if answer else "not today\x1b[2J")


def _layer(approver: Approver | None, flights: Flights | None = None, timeout_s: float = 30.0) -> Spawned:
    return spawn_layer(Approve(approver, FakeClock(), Flights() if flights is None else flights, timeout_s=timeout_s))


@pytest.mark.parametrize("tier", ["L0", "L1"])
async def test_reads_and_small_writes_run(tier: Tier) -> None:
    """Our tiers."""
    layer = _layer(None)
    await layer(call_of(tool(), {}, tier=tier))
    assert len(layer.inside.calls) == 1


async def test_on_a_server_without_config_nobody_is_asked() -> None:
    """Our contract: the person at the keyboard decides."""
    layer = _layer(None)
    await layer(call_of(tool(), {}, tier=None, adhoc=True))
    assert len(layer.inside.calls) == 1


async def test_a_call_without_a_tier_is_treated_as_risky() -> None:
    """Our choice: a chain that was put together wrongly fails closed."""
    assert isinstance(await _layer(None).refused(call_of(tool(), {}, tier=None)), ApprovalDenied)


async def test_a_risky_call_is_asked_about_in_words_and_the_yes_is_bound() -> None:
    """Our contract: a grant for one call id, tool, definition, arguments."""
    approver, flights = Scripted(True), Flights()
    call = call_of(tool("delete_notes"), {"ids": [1, 2]}, tier="L2", turn="t")
    flight = flights.open(call)
    grants: list[Grant | None] = []
    layer = _layer(approver, flights)

    def answer(call: Call) -> Outcome:
        grants.append(flight.grant)
        return Outcome(call=call, result=tool_result())

    layer.inside.answer = answer
    await layer(call)
    (question,) = approver.asked
    assert question.text == "Delete notes: 1, 2 (server math, tool delete_notes)\n  ids: 2 items\n    - 1\n    - 2"
    assert (question.call, question.turn, question.tier, question.step) == ("c1", "t", "L2", "arguments")
    assert question.expires_at - question.asked_at == 30.0
    (grant,) = grants
    assert grant is not None
    assert grant.arguments_sha256 == arguments_sha256({"ids": [1, 2]}) == question.arguments_sha256
    assert (grant.call, grant.by, grant.how) == ("c1", "ann", "terminal")
    assert flight.grant is None, "the grant ends with the call"
    assert "approved by ann (terminal)" in flight.notes
    assert flight.detail["approval"]["verdict"] == "allow"


async def test_a_no_is_final_and_its_reason_reaches_the_model_harmlessly() -> None:
    """Our contract: default deny."""
    error = await _layer(Scripted(False)).refused(call_of(tool(), {}, tier="L2"))
    assert isinstance(error, ApprovalDenied)
    assert "not today\\x1b[2J" in str(error)


async def test_nobody_there_means_no_and_says_how_to_approve() -> None:
    """Our contract."""
    error = await _layer(None).refused(call_of(tool(), {}, tier="L2"))
    assert isinstance(error, ApprovalDenied)
    assert "nobody was there" in str(error)
    assert "--yes" in error.for_user()


async def test_an_approver_that_fails_means_no() -> None:
    """Our contract: default deny."""
    for failure in (RuntimeError("boom"), asyncio.CancelledError()):
        assert isinstance(await _layer(Scripted(failure)).refused(call_of(tool(), {}, tier="L2")), ApprovalDenied)


async def test_no_answer_in_time_expires_and_the_question_is_withdrawn() -> None:
    """Our contract: its own deadline."""
    approver = Scripted(asyncio.Event())
    error = await _layer(approver, timeout_s=0.01).refused(call_of(tool(), {}, tier="L2"))
    assert isinstance(error, ApprovalExpired)
    await asyncio.sleep(0)
    assert approver.cancelled


async def test_an_approver_that_ignores_its_withdrawal_does_not_hold_the_call() -> None:
    """Our contract: nothing hangs; and a yes that comes too late is not heard."""
    late = asyncio.Event()
    approver = Scripted(late)
    approver.stubborn = True
    layer = _layer(approver, timeout_s=0.01)
    assert isinstance(await layer.refused(call_of(tool(), {}, tier="L2")), ApprovalExpired)
    late.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert layer.inside.calls == []


async def test_a_cancelled_call_withdraws_its_question() -> None:
    """Every layer gives back what it holds."""
    approver = Scripted(asyncio.Event())
    layer = _layer(approver)
    task = asyncio.ensure_future(layer(call_of(tool(), {}, tier="L2")))
    await approver.was_asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    assert approver.cancelled
    assert layer.inside.calls == []


async def test_a_call_cancelled_inside_gives_its_grant_back() -> None:
    """Every layer gives back what it holds."""
    flights = Flights()
    call = call_of(tool(), {}, tier="L2")
    flight = flights.open(call)
    await _layer(Scripted(True), flights).cancelled(call)
    assert flight.grant is None


async def test_an_irreversible_call_is_approved_twice() -> None:
    """Our tiers: the arguments, then the intent."""
    approver = Scripted(True, True)
    layer = _layer(approver)
    await layer(call_of(tool(), {}, tier="L3"))
    assert [question.step for question in approver.asked] == ["arguments", "intent"]
    assert "cannot be undone" in approver.asked[1].title
    for answers in ((False, True), (True, False)):
        assert isinstance(await _layer(Scripted(*answers)).refused(call_of(tool(), {}, tier="L3")), ApprovalDenied)


async def test_yes_beforehand_covers_risky_calls_and_never_irreversible_ones() -> None:
    """Our command line: ``--yes``."""
    flights = Flights()
    call = call_of(tool(), {}, tier="L2")
    flight = flights.open(call)
    await _layer(YesApprover("ann"), flights)(call)
    assert flight.detail["approval"]["how"] == "--yes"
    assert isinstance(await _layer(YesApprover("ann")).refused(call_of(tool(), {}, tier="L3")), ApprovalDenied)


async def test_nobody_is_asked_while_the_server_is_down() -> None:
    """Our contract: no person is bothered in vain."""
    approver = Scripted(True)
    layer = spawn_layer(Approve(approver, FakeClock(), Flights(), in_vain=lambda call: ConnectFailed("the server is down")))
    assert isinstance(await layer.refused(call_of(tool(), {}, tier="L2")), ConnectFailed)
    assert approver.asked == []


class Saying:
    """Answers with whatever it was given, by way of a coroutine or not."""

    def __init__(self, answer: object, plainly: bool) -> None:
        self.answer, self.plainly = answer, plainly

    def decide(self, question: Question) -> Any:
        async def later() -> object:
            return self.answer

        return self.answer if self.plainly else later()


NO_DECISIONS: list[Any] = [
    None,
    True,
    "allow",
    {"verdict": "allow", "by": "ann", "how": "dict"},
    Decision(verdict="allow", by=None, how="x"),  # type: ignore[arg-type]  # what a program without types does
    Decision(verdict="allow", by=5, how="x"),  # type: ignore[arg-type]
    Decision(verdict="allow", by="ann", how=None),  # type: ignore[arg-type]
    Decision(verdict="ALLOW", by="ann", how="x"),  # type: ignore[arg-type]
    Decision(verdict=[], by="ann", how="x"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("plainly", [False, True])
@pytest.mark.parametrize("answer", NO_DECISIONS, ids=repr)
async def test_an_answer_that_is_no_whole_decision_is_a_no(answer: Any, plainly: bool) -> None:
    """Our contract: fail closed, in words, whatever an approver of the program's own gives back."""
    layer = _layer(cast(Approver, Saying(answer, plainly)))
    error = await layer.refused(call_of(tool(), {"a": 1}, tier="L2"))
    assert isinstance(error, ApprovalDenied)
    assert "the approver" in str(error)


async def test_a_plain_function_that_decides_is_heard() -> None:
    """Our choice: a ``decide`` without ``async`` that gives a whole Decision is as good."""
    layer = _layer(cast(Approver, Saying(Decision(verdict="allow", by="ann", how="x"), True)))
    assert (await layer(call_of(tool(), {"a": 1}, tier="L2"))).ok


def test_denied_call_does_not_tell_the_model_how_to_be_allowed() -> None:
    """Our choice: an agent with a shell would do just that; the hint is for the person."""
    error = ApprovalDenied("files.remove was not approved", hint="agree beforehand with --yes")
    assert "--yes" in error.for_user()
    assert "--yes" not in error.for_model()
    assert "ask the person" in error.for_model()
