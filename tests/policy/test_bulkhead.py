"""Places for calls: bounded, in order, in turn, and always given back."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.clock import FakeClock
from dragoman.errors import ConnectionLost, ServerBusy
from dragoman.policy.bulkhead import Bulkhead, LaneRule, Places
from dragoman.policy.chain import Call, Outcome
from dragoman.testing.layers import spawn_layer
from tests.policy.kit import call_of, tool


class Bench:
    """A layer around servers whose calls end when they are told to."""

    def __init__(self, total: int = 100, **rule: Any) -> None:
        made = LaneRule(**{"concurrent": 2, "queue": 10, "queue_s": 30.0, **rule})
        self.clock = FakeClock()
        self.places = Places(self.clock, lambda server: made, total)
        self.layer = Bulkhead(self.places)
        self.running: dict[str, asyncio.Future[None]] = {}
        self.began: list[str] = []
        self.seen: list[Call] = []
        self.most: Counter[str] = Counter()

    async def _inside(self, call: Call) -> Outcome:
        self.began.append(call.id)
        self.seen.append(call)
        self.running[call.id] = asyncio.get_running_loop().create_future()
        servers = Counter(name[0] for name in self.running)
        self.most |= servers | Counter(all=len(self.running))
        try:
            await self.running[call.id]
        finally:
            del self.running[call.id]
        return Outcome(call=call)

    async def start(self, call_id: str, **more: Any) -> asyncio.Task[Outcome]:
        """A call of the server that its id begins with."""
        task = asyncio.create_task(self._call(Call(id=call_id, server=call_id[0], name="x", **more)))
        await turn()
        return task

    async def _call(self, call: Call) -> Outcome:
        return await self.layer(call, self._inside)

    async def end(self, call_id: str, error: BaseException | None = None) -> None:
        place = self.running[call_id]
        if error is None:
            place.set_result(None)
        else:
            place.set_exception(error)
        await turn()


async def turn() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


async def test_calls_beyond_the_limit_wait_in_order() -> None:
    """Our contract: per-server concurrency, first come, first served."""
    bench = Bench()
    tasks = [await bench.start(f"a{n}") for n in range(5)]
    assert bench.began == ["a0", "a1"]
    assert bench.places.waiting("a") == 3
    await bench.end("a1")
    await bench.end("a0")
    await bench.end("a2")
    assert bench.began == ["a0", "a1", "a2", "a3", "a4"]
    for name in ("a3", "a4"):
        await bench.end(name)
    assert all([(await task).call.id for task in tasks])
    assert (bench.places.running, bench.places.waiting("a")) == (0, 0)


async def test_a_full_server_does_not_hold_up_another() -> None:
    """Our contract: one server's trouble is that server's alone."""
    bench = Bench()
    tasks = [await bench.start(name) for name in ("a0", "a1", "a2", "b0")]
    assert bench.began == ["a0", "a1", "b0"]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    assert bench.places.running == 0


async def test_servers_take_turns_for_the_places_of_all() -> None:
    """Our contract: fair; the one with a hundred waiting does not starve the one with one."""
    bench = Bench(total=1, concurrent=5)
    names = ["a0", "a1", "a2", "a3", "b0", "b1", "c0"]
    tasks = [await bench.start(name) for name in names]
    for _ in names:
        await bench.end(bench.began[-1])
    assert bench.began == ["a0", "a1", "b0", "c0", "a2", "b1", "a3"]
    await asyncio.gather(*tasks)


async def test_full_queue_refuses_by_name_with_limits_and_the_next_step() -> None:
    """Our contract: bounded; nothing was sent."""
    bench = Bench(queue=1)
    tasks = [await bench.start(f"a{n}") for n in range(3)]
    with pytest.raises(ServerBusy) as caught:
        await bench._call(Call(id="a3", server="a", name="x"))
    error = caught.value
    assert (error.layer, error.server, error.maybe_ran, error.cli_exit) == ("bulkhead", "a", "no", 3)
    assert str(error) == "2 calls are with the server a (limit 2), and 1 more wait, limit 1; nothing was sent"
    assert error.hint is not None
    assert "servers.a.limits.concurrent" in error.hint
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_deadline_in_the_queue_refuses_by_name_and_gives_up_its_turn() -> None:
    """Our contract: a bounded queue with a deadline."""
    bench = Bench(concurrent=1, queue_s=0.01)
    first = await bench.start("a0")
    with pytest.raises(ServerBusy) as caught:
        await bench._call(Call(id="a1", server="a", name="x"))
    assert "and none of them ended within 0.01 s; nothing was sent" in str(caught.value)
    assert bench.places.waiting("a") == 0
    await bench.end("a0")
    await first
    assert bench.began == ["a0"]


async def test_queue_takes_no_longer_than_the_call_has() -> None:
    """Our contract: the deadline of a call covers the queue."""
    bench = Bench(concurrent=1, queue_s=1000.0)
    first = await bench.start("a0")
    with pytest.raises(ServerBusy) as caught:
        await bench._call(Call(id="a1", server="a", name="x", timeout_s=0.01))
    assert "or the timeout" in (caught.value.hint or "")
    first.cancel()
    await asyncio.wait([first])


async def test_time_in_the_queue_is_taken_off_the_calls_time() -> None:
    """Our contract: timeout_s covers queue, retries and all rounds."""
    bench = Bench(concurrent=1)
    first = await bench.start("a0")
    second = await bench.start("a1", timeout_s=20.0, max_timeout_s=100.0)
    bench.clock.advance(5)
    await bench.end("a0")
    await bench.end("a1")
    await asyncio.gather(first, second)
    assert (bench.seen[1].timeout_s, bench.seen[1].max_timeout_s) == (15.0, 95.0)


async def test_places_come_back_whatever_the_ending() -> None:
    """Errors, and cancelling while running or waiting; also in the moment in which the place was given."""
    bench = Bench(concurrent=1)
    failing, waiting, last = [await bench.start(f"a{n}") for n in range(3)]
    await bench.end("a0", ConnectionLost("gone"))
    assert isinstance(failing.exception(), ConnectionLost)
    assert bench.began == ["a0", "a1"]
    waiting.cancel()
    last.cancel()
    await asyncio.wait([waiting, last])
    assert (bench.places.running, bench.places.waiting("a"), len(bench.places.ring)) == (0, 0, 0)
    running, granted = [await bench.start(f"a{n}") for n in (3, 4)]
    bench.running["a3"].set_result(None)
    await asyncio.sleep(0)
    await asyncio.sleep(0)  # the place was handed on, and its caller has not run yet
    granted.cancel()
    await asyncio.wait([running, granted])
    after = await bench.start("a5")
    assert bench.began[-1] == "a5"
    await bench.end("a5")
    await after
    assert bench.places.running == 0


async def test_calls_of_a_server_that_was_removed_still_give_their_places_back() -> None:
    """And a new server of that name starts with all of its own."""
    bench = Bench(total=2)
    old = await bench.start("a0")
    bench.places.drop("a")
    new = await bench.start("a1")
    await bench.end("a0")
    await bench.end("a1")
    await asyncio.gather(old, new)
    assert bench.places.running == 0
    assert bench.places.lane("a").running == 0


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await spawn_layer(Bulkhead(Places(FakeClock()))).cancelled(call_of(tool(), {}))


@given(
    st.lists(st.tuples(st.sampled_from(["start", "end", "cancel"]), st.integers(0, 2), st.integers(0, 30)), max_size=60),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_any_interleaving_keeps_the_limits_the_order_and_every_place(
    steps: list[tuple[str, int, int]], concurrent: int, total: int
) -> None:
    """Our contract: never over a limit, in order for each server, nobody waits while there is a place, nothing leaks."""

    async def run() -> None:
        bench = Bench(total=total, concurrent=concurrent, queue=100)
        tasks: dict[str, asyncio.Task[Outcome]] = {}
        for step, which, pick in steps:
            if step == "start":
                name = f"{'abc'[which]}{len(tasks):03}"
                tasks[name] = await bench.start(name)
            elif step == "end" and bench.running:
                await bench.end(sorted(bench.running)[pick % len(bench.running)])
            elif step == "cancel" and tasks:
                task = tasks[sorted(tasks)[pick % len(tasks)]]
                task.cancel()
                await turn()
            waits = {server for server in "abc" if bench.places.waiting(server)}
            idle = {server for server in waits if bench.places.lane(server).running < concurrent}
            assert not (idle and bench.places.running < total), "somebody waits for a place that is free"
        for server in "abc":
            began = [name for name in bench.began if name[0] == server]
            assert began == sorted(began)
            assert bench.most[server] <= concurrent
        assert bench.most["all"] <= total
        for task in tasks.values():
            task.cancel()
        if tasks:
            await asyncio.wait(tasks.values())
        assert (bench.places.running, len(bench.places.ring)) == (0, 0)

    asyncio.run(run())
