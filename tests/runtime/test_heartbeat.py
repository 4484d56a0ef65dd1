"""One timer for a whole host: the silent are asked, the dead are closed and started again, the unused rest."""

from __future__ import annotations

import asyncio

import pytest

from dragoman.runtime.host import Host
from dragoman.transports.guardian import Guardian
from tests.runtime.fakes import FakeServer, Json, LoopClock, until
from tests.runtime.hosts import Fleet, in_flight, plain, silent, start


def pings(server: FakeServer) -> int:
    return server.methods().count("ping")


def deaf(server: FakeServer) -> None:
    """It connects, lists, and answers no heartbeat."""
    server._on = lambda message: [] if message.get("method") == "ping" else None


def state(host: Host) -> str:
    return host.slots["a"].state


async def pass_time(clock: LoopClock, seconds: int) -> None:
    """In steps that no timer of the host is longer than."""
    for _ in range(seconds):
        await clock.advance(1.0)


@pytest.fixture
def fleet() -> Fleet:
    return Fleet({"a": plain, "b": plain})


async def test_silent_server_is_asked_every_minute(clock: LoopClock, fleet: Fleet) -> None:
    """`ping`, never a second `initialize`; each server by itself, with one timer and no task of its own."""
    async with fleet as host:
        tasks = len(asyncio.all_tasks())
        await pass_time(clock, 200)
        for name in ("a", "b"):
            server = fleet.started[name][0]
            assert 2 <= pings(server) <= 4
            assert server.methods().count("initialize") == 1
        assert len(asyncio.all_tasks()) == tasks
        assert {slot.state for slot in host.slots.values()} == {"ready"}


async def test_guardian_is_looked_after_too(clock: LoopClock, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody may kill it while the servers run on for days."""
    looked: list[int] = []
    monkeypatch.setattr(Guardian, "look", lambda self: looked.append(1))
    async with fleet:
        await pass_time(clock, 60)
    assert 3 <= len(looked) <= 10


async def test_stateless_server_is_asked_with_discover(clock: LoopClock) -> None:
    """Where ping is gone."""

    def modern(server: FakeServer) -> None:
        server._era = "modern"

    fleet = Fleet({"a": modern})
    async with fleet as host:
        server = fleet.started["a"][0]
        before = server.methods().count("server/discover")
        await pass_time(clock, 200)
        assert server.methods().count("server/discover") - before >= 2
        assert not {"ping", "initialize"} & set(server.methods())
        assert state(host) == "ready"


async def test_server_that_answers_calls_is_not_asked(clock: LoopClock, fleet: Fleet) -> None:
    """Traffic is proof of life."""
    async with fleet as host:
        for _ in range(10):
            assert (await host.call("a.echo", {"text": "x"})).ok
            await pass_time(clock, 30)
        assert pings(fleet.started["a"][0]) == 0
        assert pings(fleet.started["b"][0]) > 2


async def test_three_misses_in_a_row_mean_dead(clock: LoopClock) -> None:
    """It is closed and started again by the usual rules; a single miss is nothing."""
    fleet = Fleet({"a": deaf})
    async with fleet as host:
        first = fleet.started["a"][0]
        await pass_time(clock, 100)
        assert state(host) == "ready"
        assert pings(first) == 1
        await pass_time(clock, 180)
        await until(lambda: len(fleet.started["a"]) == 2 and state(host) == "ready")
        assert pings(first) == 3
        assert first.closed


async def test_refusing_the_heartbeat_is_an_answer(clock: LoopClock) -> None:
    """ "Method not found" comes from somebody who lives."""

    def refuses(server: FakeServer) -> None:
        server._on = lambda m: [{"id": m["id"], "error": {"code": -32601, "message": "no"}}] if m.get("method") == "ping" else None

    fleet = Fleet({"a": refuses})
    async with fleet as host:
        await pass_time(clock, 400)
        assert pings(fleet.started["a"][0]) > 3
        assert state(host) == "ready"
        assert len(fleet.started["a"]) == 1


async def test_miss_after_an_answer_counts_from_one_again(clock: LoopClock) -> None:
    """In a row is in a row: two misses, an answered call, two misses."""
    fleet = Fleet({"a": deaf})
    async with fleet as host:
        for _ in range(3):
            await pass_time(clock, 160)
            assert (await host.call("a.echo", {"text": "x"})).ok
        assert pings(fleet.started["a"][0]) > 3
        assert len(fleet.started["a"]) == 1


async def test_server_that_owes_an_answer_is_left_to_its_deadline(clock: LoopClock) -> None:
    """It may do one thing at a time, and be busy with just that."""
    fleet = Fleet({"a": silent})
    async with fleet as host:
        call = start(host, "a.echo", timeout_s=10_000.0)
        await in_flight(fleet, "a")
        await pass_time(clock, 300)
        assert pings(fleet.started["a"][0]) == 0
        call.cancel()


async def test_zero_switches_it_off(clock: LoopClock) -> None:
    """`heartbeat_s = 0`."""
    fleet = Fleet({"a": plain}, spec={"heartbeat_s": 0.0})
    async with fleet:
        await pass_time(clock, 300)
        assert pings(fleet.started["a"][0]) == 0


async def test_unused_server_rests_and_the_next_call_starts_it(clock: LoopClock) -> None:
    """Its tools stay offered meanwhile; nobody asks a resting server whether it lives."""
    fleet = Fleet({"a": plain}, spec={"idle_stop_s": 20.0})
    async with fleet as host:
        await pass_time(clock, 15)
        assert (await host.call("a.echo", {"text": "x"})).ok
        await pass_time(clock, 15)
        assert state(host) == "ready"
        await pass_time(clock, 15)
        assert state(host) == "idle"
        assert fleet.started["a"][0].closed
        assert [tool.name for tool in await host.tools()] == ["echo"]
        await pass_time(clock, 200)
        assert len(fleet.started["a"]) == 1
        assert (await host.call("a.echo", {"text": "again"})).ok
        assert (state(host), len(fleet.started["a"])) == ("ready", 2)


async def test_heartbeats_do_not_keep_an_unused_server_up(clock: LoopClock) -> None:
    """They are ours, not somebody's use of it."""
    fleet = Fleet({"a": plain}, spec={"idle_stop_s": 200.0, "heartbeat_s": 20.0})
    async with fleet as host:
        await pass_time(clock, 260)
        assert pings(fleet.started["a"][0]) > 2
        assert state(host) == "idle"


async def test_restart_that_somebody_else_wants_is_made(clock: LoopClock) -> None:
    """`dragoman restart` in another process; names that are not here are passed over."""
    wishes: list[list[str]] = [["a", "elsewhere"]]
    fleet = Fleet({"a": plain}, wanted=lambda: wishes.pop() if wishes else [])
    async with fleet as host:
        await pass_time(clock, 20)
        await until(lambda: len(fleet.started["a"]) == 2 and state(host) == "ready")


async def test_changes_are_heard_over_a_restart(clock: LoopClock) -> None:
    """The subscription is made again, and everything it covers counts as changed; an active one keeps its server from resting."""

    def on(message: Json) -> list[Json | bytes] | None:
        return [{"id": message["id"], "result": {}}] if message.get("method") == "resources/subscribe" else None

    def prepare(server: FakeServer) -> None:
        server._on = on

    fleet = Fleet({"a": prepare}, spec={"idle_stop_s": 50.0})
    async with fleet as host, host.listen("a", resources=["file:///a"]) as changes:
        fleet.started["a"][0].say({"method": "notifications/resources/updated", "params": {"uri": "file:///a"}})
        change = await anext(changes)
        assert (change.uri, change.missed) == ("file:///a", False)
        await host.restart("a")
        change = await asyncio.wait_for(anext(changes), 20)
        assert (change.uri, change.missed) == ("file:///a", True)
        assert fleet.started["a"][1].methods().count("resources/subscribe") == 1
        await pass_time(clock, 200)
        assert state(host) == "ready"
        await host.remove("a")
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(anext(changes), 20)
