"""The same call that fails in the same way again and again is stopped; anything else goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import BudgetExhausted, ConnectionLost, DragomanError, InvalidArguments, ServerError
from dragoman.policy.approvers import CallbackApprover
from dragoman.policy.budget import Budget
from dragoman.policy.chain import Outcome
from dragoman.policy.turns import MAX_FAILURES, Turns
from dragoman.testing.layers import spawn_layer, tool_result
from tests.policy.kit import Chain, call_of, tool


class Bench:
    def __init__(self) -> None:
        self.turns, self.clock = Turns(), FakeClock()
        self.layer = spawn_layer(Budget(self.turns, self.clock))

    async def run(self, ending: Any, arguments: dict[str, Any] | None = None, **more: Any) -> DragomanError | None:
        self.layer.inside.answer = ending
        try:
            await self.layer(call_of(tool(), arguments or {"a": 1}, **{"turn": "t", **more}))
        except DragomanError as exc:
            return exc
        return None


BAD = ServerError(-32602, "request 17: no such row")
ENDINGS = [BAD, ConnectionLost("it is gone"), tool_result("no such row", is_error=True)]


@pytest.mark.parametrize("ending", ENDINGS, ids=["error", "lost", "tool error"])
async def test_after_three_equal_failures_the_next_is_refused_with_a_hint_to_change_something(ending: Any) -> None:
    """Our contract."""
    bench = Bench()
    for _ in range(3):
        assert not isinstance(await bench.run(ending), BudgetExhausted)
    error = await bench.run(ending)
    assert isinstance(error, BudgetExhausted)
    assert len(bench.layer.inside.calls) == 3
    assert (error.layer, error.server) == ("budget", "math")
    assert "math.add with these arguments failed 3 times in this turn" in str(error)
    assert "change the arguments" in error.for_model()


async def test_numbers_in_a_message_do_not_make_it_another_failure() -> None:
    """Ids and times differ each time."""
    bench = Bench()
    for n in range(3):
        await bench.run(ServerError(-32000, f"request {n} failed after {n * 7} ms"))
    assert isinstance(await bench.run(None), BudgetExhausted)


async def test_other_arguments_tools_turns_and_principals_go_on() -> None:
    """Our contract: same tool, same arguments, same turn."""
    bench = Bench()
    for _ in range(3):
        await bench.run(BAD)
    for more in ({"arguments": {"a": 2}}, {"turn": "other"}, {"principal": "ben"}):
        assert await bench.run(None, **more) is None
    assert isinstance(await bench.run(None), BudgetExhausted)


async def test_another_failure_or_a_success_begins_anew() -> None:
    """Our contract: the same failure."""
    for between in (ServerError(-1, "something else"), None):
        bench = Bench()
        for ending in (BAD, BAD, between, BAD, BAD):
            assert not isinstance(await bench.run(ending), BudgetExhausted)
        assert await bench.run(None) is None


async def test_after_five_minutes_it_may_be_tried_again() -> None:
    """Our choice: in a long turn a server may have come back meanwhile."""
    bench = Bench()
    for _ in range(3):
        await bench.run(BAD)
    bench.clock.advance(299)
    assert isinstance(await bench.run(None), BudgetExhausted)
    bench.clock.advance(2)
    assert await bench.run(None) is None


@pytest.mark.parametrize("turn", ["", "c1"])
async def test_calls_without_a_turn_are_compared_with_nothing(turn: str) -> None:
    """Each is a turn of its own."""
    bench = Bench()
    for _ in range(5):
        assert await bench.run(BAD, turn=turn) is BAD
    assert len(bench.turns) == 0


async def test_what_is_remembered_of_a_turn_is_bounded() -> None:
    """A model that tries a thousand things must not fill our memory."""
    bench = Bench()
    for n in range(1000):
        await bench.run(BAD, {"a": n})
    state = bench.turns.get("local", "t")
    assert state is not None
    assert len(state.failing) == MAX_FAILURES


async def test_good_calls_leave_nothing_behind() -> None:
    """The hot path."""
    bench = Bench()
    for n in range(10):
        await bench.run(None, {"a": n})
    assert len(bench.turns) == 0


async def test_a_person_who_said_no_three_times_is_not_asked_again() -> None:
    """Our contract: loops are broken before anybody is asked."""
    asked: list[object] = []

    def no(question: object) -> bool:
        asked.append(question)
        return False

    chain = Chain(tool("pay"), tiers={"pay": "L2"}, approver=CallbackApprover(no))
    outcomes: list[Outcome] = [await chain.run("math.pay", {"a": 1}, turn="t", id=f"c{n}") for n in range(4)]
    assert len(asked) == 3
    assert isinstance(outcomes[-1].error, BudgetExhausted)
    assert chain.sink.status == "refused"


async def test_cancelling_counts_for_nothing_and_goes_through() -> None:
    """Every layer."""
    bench = Bench()
    await bench.layer.cancelled(call_of(tool(), {"a": 1}, turn="t"))
    bench.layer.inside.holding = False
    for _ in range(5):
        with pytest.raises(asyncio.CancelledError):
            await bench.run(asyncio.CancelledError())
    assert await bench.run(None) is None


async def test_arguments_that_are_refused_again_and_again_are_a_loop_too() -> None:
    """What models are caught in most: the schema refuses, the model repeats. The whole chain, as it is built."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
    chain = Chain(tool(schema=schema))
    ids = iter(range(100))

    async def run(arguments: dict[str, Any], turn: str = "t") -> DragomanError | None:
        return (await chain.run("math.add", arguments, turn=turn, id=f"c{next(ids)}")).error

    for _ in range(3):
        assert isinstance(await run({"b": 1}), InvalidArguments)
    error = await run({"b": 1})
    assert isinstance(error, BudgetExhausted)
    assert "InvalidArguments" in str(error)
    assert isinstance(await run({"c": 1}), InvalidArguments)  # changed, so looked at
    assert isinstance(await run({"b": 1}, "u"), InvalidArguments)  # another turn
    assert chain.inside.calls == []
