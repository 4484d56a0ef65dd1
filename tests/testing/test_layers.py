"""The kit for layers notices what it is there to notice."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.errors import NotAllowed
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.testing.layers import ListSink, spawn_layer, tool_result


class Leaky:
    """Refuses after it has sent, and swallows cancellation."""

    name = "leaky"

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        try:
            await call_next(call)
        except asyncio.CancelledError:
            return Outcome(call=call)
        raise NotAllowed("too late")


class Idle:
    name = "idle"

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        return await call_next(call)


CALL = Call(id="1", name="x")


async def test_a_refusal_after_sending_is_noticed() -> None:
    """Our choice."""
    with pytest.raises(AssertionError, match="after it had let it through"):
        await spawn_layer(Leaky()).refused(CALL)


async def test_a_missing_refusal_is_noticed() -> None:
    """Our choice."""
    with pytest.raises(AssertionError, match="did not refuse"):
        await spawn_layer(Idle()).refused(CALL)


async def test_a_swallowed_cancellation_is_noticed() -> None:
    """Our choice."""
    with pytest.raises(AssertionError, match="swallowed"):
        await spawn_layer(Leaky()).cancelled(CALL)


async def test_the_end_answers_as_told() -> None:
    """Our choice."""
    outcome = await spawn_layer(Idle(), tool_result("hi", structured={"a": 1}))(CALL)
    assert outcome.result is not None
    assert outcome.result.text == "hi"
    with pytest.raises(NotAllowed):
        await spawn_layer(Idle(), NotAllowed("no"))(CALL)


async def test_a_sink_that_fails_keeps_nothing() -> None:
    """Our choice."""
    sink = ListSink()
    sink.failure = NotAllowed("full")
    for method in (sink.append, sink.append_durably):
        with pytest.raises(NotAllowed):
            await method(None)  # type: ignore[arg-type]  # never looked at
    assert sink.events == []
