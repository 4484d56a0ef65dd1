"""What leaves is what was approved, it is written down before, and what comes back is not too large."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.clock import FakeClock
from dragoman.errors import ConnectionLost, DragomanError, NotAllowed, ResultTooLarge
from dragoman.policy.chain import Call, Outcome
from dragoman.policy.digests import arguments_sha256, definition_sha256
from dragoman.policy.dispatch import Dispatch, megabytes
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.questions import Grant
from dragoman.testing.layers import ListSink, Spawned, spawn_layer, tool_result
from dragoman.wire.listing import Tool
from tests.policy.kit import call_of, tool


class Rig:
    def __init__(self, answer: Any = None, limit: int | None = 1_000_000) -> None:
        self.sink, self.flights = ListSink(), Flights()
        self.layer: Spawned = spawn_layer(Dispatch(self.sink, FakeClock(), self.flights, lambda server: limit), answer)

    def granted(self, arguments: dict[str, Any], **more: Any) -> tuple[Any, Flight]:
        call = call_of(tool(), arguments, tier="L2", **more)
        flight = self.flights.open(call)
        flight.grant = Grant(
            call=call.id,
            server=call.server,
            tool=call.name,
            tier="L2",
            arguments_sha256=arguments_sha256(arguments),
            definition_sha256=definition_sha256(call.definition),
            by="ann",
            how="terminal",
        )
        return call, flight


async def test_a_read_is_written_cheaply_and_sent() -> None:
    """Our contract: *sending*, one per attempt."""
    rig = Rig()
    await rig.layer(call_of(tool(), {"a": 1}))
    assert rig.sink.story == ["sending"]
    assert rig.sink.durable == []


async def test_a_granted_call_is_on_disk_before_it_leaves() -> None:
    """Our contract: durably, before the first byte leaves."""
    rig = Rig()
    call, _ = rig.granted({"a": 1})
    seen: list[int] = []

    def answer(call: Call) -> Outcome:
        seen.append(len(rig.sink.durable))
        return Outcome(call=call, result=tool_result())

    rig.layer.inside.answer = answer
    await rig.layer(call)
    assert seen == [1]
    assert rig.sink.durable[0].detail["how"] == "terminal"


async def test_arguments_changed_after_the_yes_are_not_sent() -> None:
    """An attack, or a bug: the dictionary is shared with whoever made the call."""
    rig = Rig()
    arguments = {"ids": [1]}
    call, _ = rig.granted(arguments)
    arguments["ids"].append(2)
    assert isinstance(await rig.layer.refused(call), NotAllowed)
    assert rig.sink.events == []


async def test_arguments_changed_while_the_record_is_written_are_not_sent_either() -> None:
    """The same, in the only other moment there is."""
    rig = Rig()
    arguments = {"ids": [1]}
    call, _ = rig.granted(arguments)

    async def slow(event: Any) -> None:
        arguments["ids"].append(2)

    rig.sink.append_durably = slow  # type: ignore[method-assign]  # a sink that takes its time
    await rig.layer(call)
    assert rig.layer.inside.calls[0].arguments == {"ids": [1]}


@pytest.mark.parametrize(
    "change",
    [
        {"id": "c2"},
        {"server": "other"},
        {"name": "other"},
        {"tier": "L3"},
        {"definition": Tool(name="add", description="now it deletes")},
        {"arguments": {"a": 2}},
        {"arguments": {"a": True}},
        {"arguments": {"a": 1, "b": None}},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_grant_is_for_one_call_exactly(change: dict[str, Any]) -> None:
    """Our contract: id, server, tool, definition, tier, arguments."""
    rig = Rig()
    call, flight = rig.granted({"a": 1})
    other = msgspec.structs.replace(call, **change)
    if "id" in change:
        rig.flights.open(other).grant = flight.grant
    assert isinstance(await rig.layer.refused(other), NotAllowed)


async def test_a_grant_is_used_once() -> None:
    """Our contract: an answer that was lost is no reason to send again."""
    rig = Rig(ConnectionLost("gone"))
    call, _ = rig.granted({"a": 1})
    with pytest.raises(ConnectionLost):
        await rig.layer(call)
    assert isinstance(await rig.layer.refused(call), NotAllowed)


async def test_an_attempt_that_provably_never_left_gives_the_grant_back() -> None:
    """Our contract: attempts that provably never left may reuse it, nothing else may."""
    rig = Rig(ConnectionLost("not written", maybe_ran="no"))
    call, _ = rig.granted({"a": 1})
    for _ in range(2):
        with pytest.raises(ConnectionLost):
            await rig.layer(call)
    assert len(rig.layer.inside.calls) == 2


async def test_without_a_grant_nothing_risky_leaves() -> None:
    """Our contract: the check sits in the only way out."""
    rig = Rig()
    for tier in ("L2", "L3", None, "off"):
        assert isinstance(await rig.layer.refused(call_of(tool(), {}, tier=tier)), NotAllowed)
    assert rig.sink.events == []


async def test_a_store_that_cannot_write_stops_a_risky_call_before_it_leaves() -> None:
    """Our contract: fails closed."""
    rig = Rig()
    rig.sink.durable_failure = NotAllowed("no space left on device")
    call, _ = rig.granted({"a": 1})
    error = await rig.layer.refused(call)
    assert isinstance(error, NotAllowed)
    assert "no space left" in str(error)


async def test_a_result_over_the_limit_is_named_with_the_key_to_raise() -> None:
    """Our contract: the message names the thing, the value, the limit and the next step."""
    rig = Rig(tool_result("x" * 4_200_000))
    with pytest.raises(ResultTooLarge) as caught:
        await rig.layer(call_of(tool(), {"a": 1}))
    assert str(caught.value) == 'result is 4.2 MB, limit 1 MB (server "math", tool "add"); raise servers.math.limits.result_bytes'
    assert caught.value.maybe_ran == "yes"


async def test_a_result_just_over_the_limit_says_so_in_bytes() -> None:
    """Our choice: ``result is 1 MB, limit 1 MB`` helps nobody."""
    rig = Rig(tool_result("x" * 1_000_000))
    with pytest.raises(ResultTooLarge, match=r"1,000,\d+ bytes, limit 1,000,000 bytes"):
        await rig.layer(call_of(tool(), {"a": 1}))


async def test_limit_of_one_tool_counts_before_that_of_its_server_and_is_named() -> None:
    """Our configuration: ``result_bytes`` of a tool, lower or higher."""
    result = tool_result("x" * 2_000_000)
    assert (await Rig(result).layer(msgspec.structs.replace(call_of(tool(), {}), max_bytes=3_000_000))).ok
    with pytest.raises(ResultTooLarge) as caught:
        await Rig(tool_result("x" * 2_000)).layer(msgspec.structs.replace(call_of(tool(), {}), max_bytes=1_000))
    assert str(caught.value).endswith('limit 1 kB (server "math", tool "add"); raise servers.math.tools.add.result_bytes')


async def test_result_that_was_thrown_away_while_it_was_read_is_named_alike() -> None:
    """Whoever reads knows the number, this layer knows the key."""
    rig = Rig(ResultTooLarge("the answer is long", 4_200_000, 1_000_000))
    with pytest.raises(ResultTooLarge, match=r"result is 4\.2 MB, limit 1 MB .* raise servers\.math\.limits\.result_bytes"):
        await rig.layer(call_of(tool(), {"a": 1}))
    with pytest.raises(ResultTooLarge, match="the frame limit"):
        await Rig(ResultTooLarge("the frame limit", 4_200_000)).layer(call_of(tool(), {"a": 1}))


async def test_the_limit_is_by_default_one_megabyte_and_may_be_lifted() -> None:
    """Our configuration: ``limits.result_bytes``."""
    big = tool_result("x" * 2_000_000)
    assert (await Rig(big, limit=None).layer(call_of(tool(), {}))).ok
    with pytest.raises(DragomanError):
        await spawn_layer(Dispatch(ListSink(), FakeClock(), Flights()), big)(call_of(tool(), {}))


def test_sizes_in_words() -> None:
    """Messages."""
    assert [megabytes(n) for n in (999, 1_000, 900_500, 1_000_000, 4_200_000)] == ["999 bytes", "1 kB", "900.5 kB", "1 MB", "4.2 MB"]


async def test_cancellation_goes_through_and_the_grant_is_spent() -> None:
    """Every layer; a cancelled call may have run."""
    rig = Rig()
    call, flight = rig.granted({"a": 1})
    await rig.layer.cancelled(call)
    assert flight.grant is None
