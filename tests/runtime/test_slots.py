"""A slot: one start for all who wait, every failure named, and no start that survives its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import Any

import pytest

from dragoman.errors import ConnectFailed, DragomanError, NotAllowed, SpawnFailed
from dragoman.policy.rules import Rules
from dragoman.runtime.client import Client
from dragoman.runtime.eras import RememberedEras
from dragoman.runtime.slots import Slot
from dragoman.runtime.specs import ServerSpec
from dragoman.transports.base import Closed, Sink
from dragoman.wire.listing import Tool
from tests.runtime.fakes import FakeServer, Json, LoopClock, turns, until


class Case:
    """A slot over fake servers, one for each start, and what it told."""

    def __init__(self, *servers: FakeServer, **spec: Any) -> None:
        self.servers = list(servers)
        self.listed: list[tuple[str, ...]] = []
        self.tried: list[DragomanError | None] = []
        known = ServerSpec(name="fake", make_client=self._make, rules=Rules("fake"), **spec)
        self.slot = Slot(known, {}, self._listed, self._tried)

    def _make(self, **options: Any) -> Client:
        return Client(self.servers[self.slot.starts - 1], eras=RememberedEras(), connect_timeout_s=20.0, timeout_s=20.0, **options)

    def _listed(self, slot: Slot, client: Client, tools: tuple[Tool, ...]) -> None:
        assert client.server.name == "fake"
        self.listed.append(tuple(tool.name for tool in tools))

    def _tried(self, slot: Slot, ms: float, error: DragomanError | None) -> None:
        assert ms >= 0
        self.tried.append(error)


def broken(error: BaseException) -> FakeServer:
    server = FakeServer()
    server.open_error = error
    return server


async def test_however_many_ask_there_is_one_start() -> None:
    """Our choice: a burst of calls to a server that is down starts it once."""
    case = Case(FakeServer())
    clients = await asyncio.gather(*(case.slot.connected() for _ in range(20)))
    assert len(set(map(id, clients))) == 1
    assert case.slot.starts == 1
    assert case.listed == [("echo",)]
    assert case.tried == [None]
    await case.slot.stop()


async def test_failure_is_named_and_kept_for_a_moment(clock: LoopClock) -> None:
    """A hundred calls to a server that cannot start are one attempt; later it is tried again, whether or not anybody asks."""
    case = Case(broken(SpawnFailed("cannot start fake")), FakeServer())
    for _ in range(3):
        with pytest.raises(SpawnFailed, match="cannot start"):
            await case.slot.connected()
    assert (case.slot.state, case.slot.starts, len(case.tried)) == ("down", 1, 1)
    assert case.slot.error is case.tried[0]
    assert case.slot.error is not None
    assert case.slot.error.server == "fake"
    await clock.advance(2.0)
    await until(lambda: case.slot.state == "ready")
    assert case.tried[1:] == [None]
    await case.slot.stop()


async def test_waiting_callers_learn_by_name_that_the_server_was_stopped() -> None:
    """Not as a cancellation: that would look as if the caller had cancelled."""
    server = FakeServer()
    server.opens_slowly = True
    case = Case(server)
    waiting = [asyncio.ensure_future(case.slot.connected()) for _ in range(2)]
    await until(lambda: server.opened == 1)
    await case.slot.stop()
    for task in waiting:
        with pytest.raises(NotAllowed, match="the server fake was stopped"):
            await task
    assert server.closed
    with pytest.raises(NotAllowed, match="was stopped"):
        await case.slot.connected()
    assert case.slot.starts == 1


async def test_stop_during_a_restart_has_the_last_word() -> None:
    """Else a server that was removed, or whose host was closed, would run on with nobody to end it."""
    first, second = FakeServer(), FakeServer()
    first.opens_slowly = True
    case = Case(first, second)
    waiting = asyncio.ensure_future(case.slot.connected())
    await until(lambda: first.opened == 1)
    restarting = asyncio.ensure_future(case.slot.restart())
    await asyncio.sleep(0)
    await case.slot.stop()
    for task in (restarting, waiting):
        with pytest.raises(NotAllowed, match="was stopped"):
            await task
    assert (case.slot.state, second.opened) == ("stopped", 0)


async def test_who_waits_for_a_start_waits_for_the_next_one_when_it_is_restarted() -> None:
    """A cancellation would look as if the caller had cancelled, and so it would stand in the audit."""
    first, second = FakeServer(), FakeServer()
    first.opens_slowly = True
    case = Case(first, second)
    waiting = asyncio.ensure_future(case.slot.connected())
    await until(lambda: first.opened == 1)
    restarted, again = await asyncio.gather(case.slot.restart(), case.slot.connected())
    assert restarted is again is await waiting
    assert (case.slot.state, case.slot.starts, first.closed) == ("ready", 2, True)
    await case.slot.stop()


async def test_restarts_at_one_time_end_in_one_server() -> None:
    """Two people, or a person and a wish."""
    servers = [FakeServer() for _ in range(9)]
    case = Case(*servers)
    await case.slot.connected()
    clients = await asyncio.gather(*(case.slot.restart() for _ in range(5)))
    assert len(set(map(id, clients))) == 1
    assert (case.slot.state, clients[0].is_open) == ("ready", True)
    await case.slot.stop()
    await turns()
    assert all(server.closed for server in servers if server.opened)
    assert asyncio.all_tasks() == {asyncio.current_task()}


class Stubborn(FakeServer):
    """Opens in spite of a cancellation."""

    async def open(self, report: Sink) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await super().open(report)


async def test_transport_that_lets_a_cancellation_pass_does_not_outlive_stop() -> None:
    """Transports may be the program's own."""
    server = Stubborn()
    case = Case(server)
    waiting = asyncio.ensure_future(case.slot.connected())
    await turns()
    await case.slot.stop()
    with pytest.raises(NotAllowed, match="was stopped"):
        await waiting
    assert (case.slot.state, case.slot.client, server.closed) == ("stopped", None, True)


async def test_stop_before_the_start_has_run_at_all() -> None:
    """The task is cancelled before its first step."""
    case = Case(FakeServer())
    waiting = asyncio.ensure_future(case.slot.connected())
    await asyncio.sleep(0)
    await case.slot.stop()
    with pytest.raises(NotAllowed, match="was stopped"):
        await waiting
    assert case.servers[0].opened == 0


async def test_caller_who_gives_up_takes_nobody_with_him() -> None:
    """The start goes on for the others."""
    server = FakeServer()
    server.gate.clear()
    case = Case(server)
    impatient, patient = (asyncio.ensure_future(case.slot.connected()) for _ in range(2))
    await until(lambda: server.waiting.is_set())
    impatient.cancel()
    await turns()
    assert impatient.cancelled()
    server.gate.set()
    assert (await patient).is_open
    await case.slot.stop()


async def test_server_that_died_is_started_again(caplog: pytest.LogCaptureFixture) -> None:
    """And the log says so, but not for one that never was up."""
    caplog.set_level(logging.INFO, "dragoman")
    case = Case(FakeServer(), FakeServer())
    first = await case.slot.connected()
    assert "fake: restarted" not in caplog.messages
    case.servers[0].end(Closed("exited with status 7", exit_code=7))
    second = await case.slot.connected()
    assert second is not first
    assert second.is_open
    assert "fake: restarted" in caplog.messages
    await case.slot.stop()


async def test_first_success_after_a_failure_is_no_restart(caplog: pytest.LogCaptureFixture, clock: LoopClock) -> None:
    """Nothing was running before."""
    caplog.set_level(logging.INFO, "dragoman")
    case = Case(broken(ConnectFailed("no")), FakeServer())
    with pytest.raises(ConnectFailed):
        await case.slot.connected()
    await clock.advance(2.0)
    await case.slot.connected()
    assert "fake: restarted" not in caplog.messages
    await case.slot.stop()


async def test_server_lost_while_it_lists_looks_like_no_call() -> None:
    """The call that wanted it was never sent: an error of a call with "perhaps it ran" would be a lie in the audit."""

    def on(message: Json) -> list[Json | bytes] | None:
        if message.get("method") != "tools/list":
            return None
        server.end(Closed("exited with status 7", exit_code=7))
        return []

    server = FakeServer(on)
    case = Case(server)
    with pytest.raises(ConnectFailed, match="could not be used") as caught:
        await case.slot.connected()
    assert caught.value.maybe_ran == "no"
    assert "status 7" in str(caught.value)


async def test_failed_start_leaves_no_task_behind() -> None:
    """A server that announces changes while its tools are listed, and then refuses to list them."""

    def on(message: Json) -> list[Json | bytes] | None:
        if message.get("method") != "tools/list":
            return None
        return [{"method": "notifications/tools/list_changed"}, {"id": message["id"], "error": {"code": -32603, "message": "no"}}]

    case = Case(FakeServer(on))
    with pytest.raises(ConnectFailed):
        await case.slot.connected()
    await turns()
    await case.slot.stop()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert case.servers[0].closed


async def test_mistake_in_the_options_does_not_stop_the_server_for_ever() -> None:
    """It is raised as it is; the slot is not closed by it."""

    def make(**options: Any) -> Client:
        return Client(FakeServer(), eras=RememberedEras(), **options)

    slot = Slot(ServerSpec(name="fake", make_client=make, rules=Rules("fake")), {"no_such": 1}, lambda *_: None, lambda *_: None)
    for _ in range(2):
        with pytest.raises(TypeError, match="no_such"):
            await slot.connected()
    assert (slot.state, slot.starts) == ("configured", 2)


@pytest.mark.parametrize(
    ("spec", "state", "words"),
    [
        ({"enabled": False}, "disabled", "switched off"),
        ({"held_back": "nobody approved it"}, "not approved", "nobody approved it"),
    ],
)
async def test_server_that_may_not_start_is_not_started(spec: dict[str, Any], state: str, words: str) -> None:
    """A project file that nobody approved, or ``enabled = false``."""
    case = Case(FakeServer(), **spec)
    assert case.slot.state == state
    with pytest.raises(NotAllowed, match=words) as caught:
        await case.slot.connected()
    assert caught.value.hint is not None
    assert "dragoman enable fake" in caught.value.hint
    assert case.slot.starts == 0


async def test_tools_beyond_the_limit_are_set_aside() -> None:
    """``limits.tools``; the rest works."""
    many = [{"name": f"t{number}", "inputSchema": {"type": "object"}} for number in range(5)]
    server = FakeServer(lambda m: [{"id": m["id"], "result": {"tools": many}}] if m.get("method") == "tools/list" else None)
    case = Case(server, max_tools=2)
    await case.slot.connected()
    assert case.listed == [("t0", "t1")]
    await case.slot.stop()


async def test_what_was_set_aside_is_shown() -> None:
    """One broken tool does not hide."""
    tools = [{"name": "fine", "inputSchema": {}}, {"name": 17}]
    server = FakeServer(lambda m: [{"id": m["id"], "result": {"tools": tools}}] if m.get("method") == "tools/list" else None)
    case = Case(server)
    await case.slot.connected()
    assert len(case.slot.flaws) == 1
    await case.slot.stop()
