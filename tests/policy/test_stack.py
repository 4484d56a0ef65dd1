"""All layers together: what a host gets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.errors import ApprovalDenied, InvalidArguments, NotAllowed
from dragoman.policy.approvers import CallbackApprover, DenyAll, YesApprover
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.questions import Question
from dragoman.policy.stack import ORDER, build
from dragoman.testing.layers import Inside, ListSink, tool_result
from tests.policy.kit import Chain, tool


async def test_a_read_leaves_three_records_and_a_label() -> None:
    """Our contract: asked, sending, ended."""
    chain = Chain()
    outcome = await chain.run("math.add", {"a": 1})
    assert outcome.ok
    assert chain.sink.story == ["asked", "sending", "ended: ok"]
    assert "untrusted" in outcome.labels
    assert chain.sink.events[-1].server == "math"
    assert chain.sink.events[0].tool == "math.add", "as it was written, before it was resolved"


async def test_refused_call_is_audited_and_nothing_is_sent() -> None:
    """Our contract."""
    chain = Chain()
    outcome = await chain.run("math.add", {"a": "five"})
    assert isinstance(outcome.error, InvalidArguments)
    assert chain.inside.calls == []
    assert chain.sink.story == ["asked", "ended: refused"]
    ended = chain.sink.events[-1]
    assert (ended.server, ended.tool, ended.tier, ended.detail["layer"]) == ("math", "add", "L0", "validate")
    assert outcome.call.server == "math"
    assert "/a: expected an integer" in (outcome.hint or "")


async def test_a_coerced_and_approved_call_notes_both() -> None:
    """Our contract: what was repaired is recorded, and the approver sees what will be sent."""
    asked: list[Question] = []

    def yes(question: Question) -> bool:
        asked.append(question)
        return True

    chain = Chain(tiers={"add": "L2"}, approver=CallbackApprover(yes, by="ann"))
    outcome = await chain.run("math__add", {"a": "5"})
    assert outcome.notes == ("/a: read the text as the number 5", "approved by ann (callback)")
    assert asked[0].lines == ("a: 5",)
    assert asked[0].notes == ("/a: read the text as the number 5",)
    assert chain.inside.calls[0].arguments == {"a": 5}
    assert chain.sink.story == ["asked", "sending", "ended: ok"]
    assert len(chain.sink.durable) == 1
    assert chain.sink.events[-1].detail["approval"]["by"] == "ann"
    assert chain.sink.events[-1].detail["notes"] == list(outcome.notes)


async def test_a_denied_call_says_who_was_not_there() -> None:
    """Our contract: with no terminal and no ``--yes``, what needs approval is denied."""
    chain = Chain(tiers={"add": "L2"}, approver=DenyAll("there is no terminal to ask on"))
    outcome = await chain.run("math.add", {"a": 5})
    assert isinstance(outcome.error, ApprovalDenied)
    assert "no terminal" in str(outcome.error)
    assert chain.sink.story == ["asked", "ended: denied"]


async def test_arguments_that_an_approver_or_layer_changes_after_the_yes_are_refused() -> None:
    """An attack on the order of things: what was approved is what leaves."""

    class Meddling:
        name = "meddling"

        async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
            call.arguments["a"] = 666  # type: ignore[index]  # the point
            return await call_next(call)

    base = Chain(tiers={"add": "L2"})
    sink, inside = ListSink(), Inside()
    stack = build(sink=sink, registry=base.registry, approver=YesApprover("ann"), endpoint=inside, extra={"approve": [Meddling()]})
    outcome = await stack.run(Call(id="1", name="math.add", arguments={"a": 1}))
    assert isinstance(outcome.error, NotAllowed)
    assert inside.calls == []
    assert sink.story == ["asked", "ended: refused"]


async def test_a_slow_yes_does_not_hold_other_calls() -> None:
    """Our contract: one call's trouble is that call's alone."""
    gate = asyncio.Event()

    async def ask(question: Question) -> bool:
        await gate.wait()
        return True

    chain = Chain(tool("add"), tool("read"), tiers={"add": "L2", "read": "L0"}, approver=CallbackApprover(ask))
    slow = asyncio.ensure_future(chain.run("math.add", {"a": 1}, id="slow"))
    assert (await chain.run("math.read", {"a": 1}, id="fast")).ok
    assert not slow.done()
    gate.set()
    assert (await slow).ok
    assert len(chain.stack.flights) == 0


async def test_two_calls_of_one_id_are_never_on_their_way_together() -> None:
    """Our contract: a grant belongs to one call id."""
    chain = Chain()
    chain.inside.holding = True
    first = asyncio.ensure_future(chain.run("math.add", {"a": 1}))
    await chain.inside.arrived.wait()
    with pytest.raises(ValueError, match="in use"):
        await chain.run("math.add", {"a": 1})
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert chain.sink.story == ["asked", "sending", "ended: cancelled"]
    assert chain.sink.events[-1].detail["sent"] is True
    assert len(chain.stack.flights) == 0


async def test_a_bug_is_raised_and_written_down() -> None:
    """Our choice: bugs are not outcomes."""
    chain = Chain(answer=ZeroDivisionError("oops"))
    with pytest.raises(ZeroDivisionError):
        await chain.run("math.add", {"a": 1})
    assert chain.sink.story[-1] == "ended: failed"
    assert len(chain.stack.flights) == 0


async def test_calling_the_stack_raises_what_run_returns() -> None:
    """Both are the same chain."""
    chain = Chain()
    with pytest.raises(InvalidArguments):
        await chain.stack(Call(id="1", name="math.add", arguments={}))
    assert (await chain.stack(Call(id="1", name="math.add", arguments={"a": 1}))).ok


async def test_a_call_without_config_is_checked_labelled_and_audited_without_tiers() -> None:
    """Our contract: validation, limits, escaping and audit stay on."""
    chain = Chain(answer=tool_result("hi"))
    definition = tool()
    good = await chain.run("add", {"a": 1}, server="x.py", definition=definition, adhoc=True)
    assert good.ok
    assert "server:x.py" in good.labels
    bad = await chain.run("add", {"a": "no"}, server="x.py", definition=definition, adhoc=True)
    assert isinstance(bad.error, InvalidArguments)
    assert chain.sink.story == ["asked", "sending", "ended: ok", "asked", "ended: refused"]
    assert chain.sink.events[0].detail["adhoc"] is True


def test_the_order_is_the_one_that_is_explained() -> None:
    """Our contract: ``policy explain`` prints the list with the rule that decides at each place."""
    chain = Chain(tiers={"add": "L2"})
    found = chain.registry.find("tool", "", "math.add")
    rows = chain.stack.explain(found)
    assert [row.layer for row in rows] == [name for name, _ in ORDER]
    assert [row.place for row in rows] == list(range(1, 12))
    assert all(row.why and row.here for row in rows)
    assert rows[1].here == "tier L2 by servers.math.tools.add"
    assert rows[5].here.startswith("L2: nobody is there")


@pytest.mark.parametrize("arguments", [{}, {"a": 1, "z": 2}, {"a": [[]]}, {"a": "\ud800"}])
async def test_whatever_is_asked_for_gets_exactly_one_ending(arguments: dict[str, Any]) -> None:
    """Our contract: every ending has a name."""
    chain = Chain()
    await chain.run("math.add", arguments)
    assert chain.sink.story == ["asked", "ended: refused"]
