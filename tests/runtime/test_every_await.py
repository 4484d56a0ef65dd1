"""Cancel, timeout and close at every await of a call: resources come back, other calls do not notice, closing is bounded.

Our choice, and the reason that no cancel scope is ever open across an await of the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman import Client
from dragoman.errors import DragomanError
from dragoman.policy.questions import Decision, Question
from dragoman.runtime.asking import Elicitation, ElicitationAnswer
from dragoman.service.plumbing import Plumbing
from dragoman.testing import replay_http
from tests.clockwork import descriptors
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, client, turns, until, words
from tests.runtime.hosts import Fleet
from tests.runtime.scripted import FORM
from tests.runtime.stepping import MOMENTS, Moment, Stepped, at_every_await
from tests.transcripts import talks

TIMEOUT_S = 3.0
LONG_S = 1e6
ACTS = ("cancel", "timeout", "close")
ERAS = ("legacy", "modern")


class Harbour:
    """What a :class:`FakeServer` answers: ``slow`` when it is let, anything else after a question and two notices of progress."""

    def __init__(self, server: FakeServer) -> None:
        self.server = server
        self.slow: list[Any] = []
        self._asking: Any = None
        server._on = self.on

    def on(self, message: Json) -> list[Json] | None:
        params = message.get("params") or {}
        if message.get("id") == "q" and "method" not in message:
            return [*self._progress(self._asking, 2), {"id": self._asking["id"], "result": words("done")}]
        if message.get("method") == "tools/list":
            return [{"id": message["id"], "result": {"tools": [ECHO, {**ECHO, "name": "slow"}]}}]
        if message.get("method") != "tools/call":
            return None
        if params["name"] == "slow":
            self.slow.append(message["id"])
            return []
        if self.server._era == "modern":
            if "inputResponses" in params:
                return [*self._progress(message, 2), {"id": message["id"], "result": words("done") | {"resultType": "complete"}}]
            asked = {"resultType": "input_required", "inputRequests": {"k": FORM}, "requestState": "s"}
            return [*self._progress(message, 1), {"id": message["id"], "result": asked}]
        self._asking = message
        return [*self._progress(message, 1), {"id": "q", **FORM}]

    def _progress(self, asked: Json, done: int) -> list[Json]:
        token = asked["params"].get("_meta", {}).get("progressToken")
        return [] if token is None else [{"method": "notifications/progress", "params": {"progressToken": token, "progress": done}}]

    def let_go(self) -> None:
        for request_id in self.slow:
            result = words("unharmed") | ({"resultType": "complete"} if self.server._era == "modern" else {})
            self.server.say({"id": request_id, "result": result})
        self.slow.clear()


async def person(ask: Elicitation) -> ElicitationAnswer:
    await asyncio.sleep(0)
    return ElicitationAnswer("accept", {})


async def ending(task: asyncio.Task[Any]) -> Any:
    """The result, or the error, which must have a name; ``None`` where it was cancelled."""
    await asyncio.wait([task], timeout=20)
    assert task.done(), "the call hangs"
    if task.cancelled():
        return None
    error = task.exception()
    assert error is None or isinstance(error, DragomanError), f"no name for {error!r}"
    return error if error is not None else task.result()


async def others_gone(before: set[asyncio.Task[Any]]) -> None:
    async with asyncio.timeout(10):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)


def table(mine: Client) -> tuple[int, int, int]:
    """How much is open: in the engine, in the driver, among the deadlines."""
    driver = mine._session.driver
    assert driver._deadlines is not None
    return len(driver.connection._pending), len(driver._waiters), len(driver._deadlines._when)


# --- a client on a pipe ---------------------------------------------------------------------------------------------


class OnPipe:
    """One attempt: a fresh client, a call on its way, and the call that it happens to."""

    def __init__(self, act: str, era: str, when: Moment) -> None:
        self._act, self._era, self._when = act, era, when

    async def __call__(self, step: int) -> Stepped:
        server = FakeServer(era=self._era)
        harbour = Harbour(server)
        before = asyncio.all_tasks()
        clock = LoopClock(asyncio.get_running_loop())
        mine = client(server, on_elicitation=person)
        await mine.open()
        slow = asyncio.create_task(mine.call_tool("slow", {}, timeout_s=LONG_S))
        await until(lambda: bool(harbour.slow))
        closing: list[asyncio.Task[None]] = []

        def act() -> None:
            if self._act == "cancel":
                task.cancel()
            elif self._act == "timeout":
                clock._ahead += TIMEOUT_S + 1
            else:
                closing.append(asyncio.create_task(mine.close()))

        stepped = Stepped(mine.call_tool("ask", {}, timeout_s=TIMEOUT_S, on_progress=lambda progress: None), step, act, self._when)
        task = asyncio.create_task(_awaited(stepped))
        await ending(task)
        if self._act == "close" and stepped.acted:
            assert isinstance(await ending(slow), DragomanError)
            await asyncio.wait_for(closing[0], 10)
        else:
            await turns()
            assert table(mine) == (1, 1, 1), "something is kept of a call that is over"
            harbour.let_go()
            assert (await ending(slow)).text == "unharmed"
            assert table(mine) == (0, 0, 0)
        await mine.close()
        assert table(mine) == (0, 0, 0)
        assert server.closed
        await others_gone(before)
        return stepped


async def _awaited(stepped: Stepped) -> Any:
    return await stepped


@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("act", ACTS)
async def test_call_of_a_client(act: str, era: str, when: Moment) -> None:
    """A call with a question and progress, another call on the same connection meanwhile."""
    assert await at_every_await(OnPipe(act, era, when)) >= (1 if era == "legacy" else 3)


@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("act", ["cancel", "close"])
async def test_opening_of_a_client(act: str, when: Moment) -> None:
    """What was started for a connection that is no longer wanted is put away before that shows."""

    async def attempt(step: int) -> Stepped:
        server = FakeServer()
        before = asyncio.all_tasks()
        mine = client(server)
        closing: list[asyncio.Task[None]] = []

        def act_now() -> None:
            if act == "cancel":
                task.cancel()
            else:
                closing.append(asyncio.create_task(mine.close()))

        stepped = Stepped(mine.open(), step, act_now, when)
        task = asyncio.create_task(_awaited(stepped))
        await ending(task)
        for one in closing:
            await asyncio.wait_for(one, 10)
        await mine.close()
        assert server.closed or server.opened == 0
        await others_gone(before)
        return stepped

    assert await at_every_await(attempt) >= 1


# --- a client on HTTP -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(("name", "doing"), [("modern-http-json", talks.haggle), ("legacy-http-events", talks.captain)])
async def test_call_of_a_client_on_http(name: str, doing: talks.Step, act: str, when: Moment) -> None:
    """Exchanges are ended with their call, and those of nobody else; no socket stays open."""
    clock = LoopClock(asyncio.get_running_loop())
    other = talks.price if name == "modern-http-json" else talks.count

    async def attempt(step: int) -> Stepped:
        before, files = asyncio.all_tasks(), descriptors()
        async with replay_http(talks.FOLDER / f"{name}.jsonl") as server:
            mine = talks.client(talks.TALKS[name], server.url, timeout_s=TIMEOUT_S)
            await mine.open()
            closing: list[asyncio.Task[None]] = []

            def act_now() -> None:
                if act == "cancel":
                    task.cancel()
                elif act == "timeout":
                    clock._ahead += TIMEOUT_S + 1
                else:
                    closing.append(asyncio.create_task(mine.close()))

            stepped = Stepped(_call(doing, mine), step, act_now, when)
            task = asyncio.create_task(_awaited(stepped))
            await ending(task)
            if act != "close" or not stepped.acted:
                assert (await asyncio.wait_for(other(mine), 20)).text in ("12 dinar", "1 2")
                assert table(mine) == (0, 0, 0)
            for one in closing:
                await asyncio.wait_for(one, 10)
            await asyncio.wait_for(mine.close(), 10)
        await others_gone(before)
        await until(lambda: descriptors() == files)
        return stepped

    assert await at_every_await(attempt) >= 1


async def _call(doing: talks.Step, mine: Client) -> Any:
    return await doing(mine)


# --- a host with a store ------------------------------------------------------------------------------------------------


class Yes:
    """Agrees, after a moment."""

    async def decide(self, question: Question) -> Decision:
        await asyncio.sleep(0)
        return Decision(verdict="allow", by="ada", how="callback")


@pytest.mark.slow
@pytest.mark.parametrize("when", MOMENTS)
@pytest.mark.parametrize("tier", ["L0", "L2"])
@pytest.mark.parametrize("act", ACTS)
async def test_call_of_a_host_with_a_store(tmp_path: Path, act: str, tier: Any, when: Moment) -> None:
    """Through every layer, an approval and a durable record: whatever happens, the audit has one ending, and one of each other call."""
    count = 0
    clock = LoopClock(asyncio.get_running_loop())

    async def attempt(step: int) -> Stepped:
        nonlocal count
        count += 1
        harbours: list[Harbour] = []
        plumbing = Plumbing(tmp_path / f"{count}.db")
        before = asyncio.all_tasks()
        fleet = Fleet(
            {"harbour": lambda server: harbours.append(Harbour(server))},
            tiers={"slow": "L0", "*": tier},
            approver=Yes(),
            audit=plumbing,
            openers=[plumbing.open],
            client={"on_elicitation": person},
        )
        host = fleet.host
        await host.open()
        [harbour] = harbours
        slow = asyncio.create_task(host.call("harbour.slow", {}, timeout_s=LONG_S))
        await until(lambda: bool(harbour.slow))
        closing: list[asyncio.Task[None]] = []

        def act_now() -> None:
            if act == "cancel":
                task.cancel()
            elif act == "timeout":
                clock._ahead += TIMEOUT_S + 1
            else:
                closing.append(asyncio.create_task(host.close()))

        stepped = Stepped(host.call("harbour.echo", {}, timeout_s=TIMEOUT_S, on_progress=lambda progress: None), step, act_now, when)
        task = asyncio.create_task(_awaited(stepped))
        ended = await ending(task)
        closed = act == "close" and stepped.acted
        if not closed:
            await turns()
            driver = host.slots["harbour"].client._session.driver  # type: ignore[union-attr]  # it is up
            assert len(driver.connection._pending) == len(driver._waiters) == 1
            harbour.let_go()
        of_slow = await ending(slow)
        assert of_slow.ok != closed
        for one in closing:
            await asyncio.wait_for(one, 20)
        stories = await _stories(plumbing)
        await host.close()
        await plumbing.close()
        assert len(host.stack.flights) == 0
        await others_gone(before)
        assert sorted(stories) == [("echo", ["asked", "ended"]), ("slow", ["asked", "ended"])], f"{act} at {step}: {ended}"
        return stepped

    assert await at_every_await(attempt) >= (1 if tier == "L0" else 3)


async def _stories(plumbing: Plumbing) -> list[tuple[str, list[str]]]:
    """Of each call its tool and its first and last events; what is between them is of no interest here."""
    found: dict[str, tuple[str, list[str]]] = {}
    for record in await plumbing.store.tail(100):
        _, events = found.setdefault(record.call, ((record.tool or "").rpartition(".")[2], []))
        if record.event in ("asked", "ended"):
            events.append(record.event)
    return [(name, sorted(events)) for name, events in found.values()]


def test_harness_acts_at_the_await_that_was_named_and_at_none_other() -> None:
    """The tool itself: three awaits, an action at the second, at either moment."""
    events: list[str] = []

    async def three(ready: Callable[[], asyncio.Future[None]]) -> None:
        for name in "abc":
            await ready()
            events.append(name)

    async def run(when: Moment) -> list[str]:
        loop = asyncio.get_running_loop()
        events.clear()

        def ready() -> asyncio.Future[None]:
            future: asyncio.Future[None] = loop.create_future()
            loop.call_soon(future.set_result, None)
            return future

        stepped = Stepped(three(ready), 1, lambda: events.append("act"), when)
        await stepped
        assert (stepped.steps, stepped.acted) == (3, True)
        return list(events)

    assert [asyncio.run(run(when)) for when in MOMENTS] == [["a", "act", "b", "c"]] * 2
