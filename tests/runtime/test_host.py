"""A host over servers inside the test: every ending has a name, comes once, and is written down before the store closes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.errors import (
    ApprovalDenied,
    CallTimeout,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    LocalProtocolError,
    NotAllowed,
    UnknownTool,
)
from dragoman.policy.chain import Outcome
from dragoman.runtime.host import OPENING_S
from dragoman.transports.base import Closed
from dragoman.wire.listing import Tool
from tests.runtime.fakes import FakeServer, LoopClock, turns, until, words
from tests.runtime.hosts import Fleet, Thinks, in_flight, plain, silent, start

CRASH = Closed("exited with status 7", exit_code=7)


def broken(server: FakeServer) -> None:
    server.open_error = ConnectFailed("nobody listens")


def hangs(server: FakeServer) -> None:
    server.opens_slowly = True


# --- opening and closing ------------------------------------------------------------------------------------------


async def test_servers_that_do_not_start_stop_none_of_the_others() -> None:
    """Each failure is named in its slot, and in the outcome of a call."""
    fleet = Fleet({"good": plain, "broken": broken, "hangs": hangs}, client={"connect_timeout_s": 0.2})
    async with fleet as host:
        assert {name: slot.state for name, slot in host.slots.items()} == {"good": "ready", "broken": "down", "hangs": "down"}
        assert "nobody listens" in str(host.slots["broken"].error)
        assert "did not answer the handshake within 0.2 s" in str(host.slots["hangs"].error)
        assert (await host.call("good.echo", {"text": "hi"})).for_user() == "hi"
        outcome = await host.call("broken.echo")
        assert (type(outcome.error), fleet.sink.status) == (ConnectFailed, "failed")


async def test_host_is_opened_once_and_closed_as_often_as_one_likes() -> None:
    """From several tasks at once too."""
    closed = []

    async def closer() -> None:
        closed.append("closed")

    fleet = Fleet({"a": plain}, closers=[closer])
    await fleet.host.close()  # never opened
    async with fleet as host:
        with pytest.raises(LocalProtocolError, match="opened before"):
            await host.open()
        await asyncio.gather(host.close(), host.close())
        assert (fleet.started["a"][0].closes, closed) == (1, ["closed"])
        for refused in (host.call("a.echo"), host.tools(), host.add_spec(fleet.spec("b"))):
            with pytest.raises(LocalProtocolError, match="closed"):
                await refused


async def test_call_before_opening_is_a_mistake_of_the_program() -> None:
    """It raises, since there is no audit to write it to."""
    with pytest.raises(LocalProtocolError, match="not open"):
        await Fleet({"a": plain}).host.call("a.echo")
    with pytest.raises(LocalProtocolError, match="not open"):
        await Fleet({"a": plain}).host.tools()


async def test_cancelled_opening_closes_what_was_started() -> None:
    """``async with`` never reaches its end when its beginning is cancelled."""
    fleet = Fleet({"quick": plain, "hangs": hangs})
    opening = asyncio.ensure_future(fleet.host.open())
    await until(lambda: fleet.host.slots["quick"].state == "ready")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert fleet.started["quick"][0].closed
    assert fleet.started["hangs"][0].closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_opening_that_fails_runs_the_closers() -> None:
    """A store that opened before something else failed must be closed again."""
    closed = []

    async def opener() -> None:
        raise ConfigError("no")

    async def closer() -> None:
        closed.append("closed")

    fleet = Fleet({"a": plain}, openers=[opener], closers=[closer])
    with pytest.raises(ConfigError):
        await fleet.host.open()
    assert closed == ["closed"]


async def test_closer_that_fails_keeps_no_other_from_closing(caplog: pytest.LogCaptureFixture) -> None:
    """And closing does not raise."""
    closed = []

    async def fails() -> None:
        raise OSError("disk")

    async def closer() -> None:
        closed.append("closed")

    async with Fleet({"a": plain}, closers=[fails, closer]):
        pass
    assert closed == ["closed"]
    assert "did not close in good order" in caplog.text


async def test_calls_that_run_when_the_host_closes_are_written_down_before_the_store_closes() -> None:
    """Their answers are lost, so they perhaps ran."""
    fleet = Fleet({"a": silent})
    async with fleet as host:
        call = start(host, "a.echo")
        await in_flight(fleet, "a")
    outcome = await call
    assert isinstance(outcome.error, ConnectionLost)
    assert fleet.ended == ["asked", "sending", "ended: unknown"]


async def test_call_that_ends_slowly_does_not_keep_the_host_from_closing(clock: LoopClock) -> None:
    """A layer of the program's own that hangs on the way out: bounded."""
    release = asyncio.Event()
    fleet = Fleet({"a": silent})
    chain = fleet.host.stack._chain

    async def stubborn(call: Any) -> Outcome:
        try:
            return await chain(call)
        finally:
            await release.wait()

    fleet.host.stack._chain = stubborn
    async with fleet as host:
        call = start(host, "a.echo")
        await in_flight(fleet, "a")
        closing = asyncio.create_task(host.close())
        await turns(50)
        assert not closing.done()
        await clock.advance(5.1)
        await closing
    release.set()
    await call


async def test_question_that_is_open_when_the_host_closes_is_withdrawn() -> None:
    """Nobody could send the call any more; the caller learns that at once, not when the approval deadline is over."""
    ada = Thinks()
    fleet = Fleet({"a": plain}, tiers={"*": "L2"}, approver=ada)
    async with fleet as host:
        call = start(host, "a.echo")
        await ada.asked.wait()
    outcome = await call
    assert isinstance(outcome.error, ApprovalDenied)
    assert "withdrawn" in str(outcome.error)
    assert (fleet.calls("a"), fleet.ended) == ([], ["asked", "ended: denied"])


# --- servers come and go ------------------------------------------------------------------------------------------


async def test_server_is_added_while_the_host_runs() -> None:
    """Its tools can be called at once, by both ways of writing them."""
    fleet = Fleet({"a": plain})
    async with fleet as host:
        fleet.prepare["b"], fleet.started["b"] = plain, []
        await host.add_spec(fleet.spec("b"))
        assert (await host.call("b__echo", {"text": "hi"})).ok
        with pytest.raises(ConfigError, match="there is a server b already"):
            await host.add_spec(fleet.spec("b"))
        assert len(fleet.started["b"]) == 1


async def test_added_server_that_does_not_start_stays_and_is_tried_again(clock: LoopClock) -> None:
    """Our choice, so that a server that is down for a moment need not be added twice."""
    fleet = Fleet({})
    async with fleet as host:
        fleet.prepare["b"], fleet.started["b"] = broken, []
        with pytest.raises(ConnectFailed):
            await host.add_spec(fleet.spec("b"))
        fleet.prepare["b"] = plain
        await clock.advance(2.0)
        assert (await host.call("b.echo", {"text": "hi"})).ok


async def test_removed_server_ends_its_calls_and_no_others() -> None:
    """Named errors; afterwards the name is unknown, and free."""
    fleet = Fleet({"a": silent, "b": silent})
    async with fleet as host:
        ours, other = start(host, "a.echo"), start(host, "b.echo")
        await in_flight(fleet, "a")
        await in_flight(fleet, "b")
        await host.remove("a")
        assert isinstance((await ours).error, ConnectionLost)
        assert not other.done()
        assert fleet.started["a"][0].closed
        assert isinstance((await host.call("a.echo")).error, UnknownTool)
        assert list(host.slots) == ["b"]
        assert {tool.server for tool in await host.tools()} == {"b"}
        await host.add_spec(fleet.spec("a"))
        assert list(host.slots) == ["b", "a"]


async def test_server_removed_while_it_starts_ends_the_calls_that_wait_for_it() -> None:
    """By name, not as a cancellation."""
    fleet = Fleet({"a": hangs}, lazy=True)
    async with fleet as host:
        call = start(host, "a.echo")
        await until(lambda: bool(fleet.started["a"]) and fleet.started["a"][0].opened == 1)
        await host.remove("a")
        outcome = await call
        assert isinstance(outcome.error, NotAllowed)
        assert "the server a was stopped" in str(outcome.error)
        assert fleet.sink.story == ["asked", "ended: refused"]


async def test_server_removed_while_a_person_thinks_withdraws_only_its_questions() -> None:
    """The call is denied and nothing is sent."""
    ada = Thinks()
    fleet = Fleet({"a": plain, "b": plain}, tiers={"*": "L2"}, approver=ada)
    async with fleet as host:
        ours, other = start(host, "a.echo"), start(host, "b.echo")
        await until(lambda: len(ada.questions) == 2)
        await host.remove("a")
        assert isinstance((await ours).error, ApprovalDenied)
        assert not other.done()
        ada.may.set()
        assert (await other).ok
        assert fleet.calls("a") == []


async def test_unknown_server_cannot_be_removed() -> None:
    """The error names those there are."""
    async with Fleet({"a": plain}) as host:
        with pytest.raises(UnknownTool, match="no server nope") as caught:
            await host.remove("nope")
        assert caught.value.hint == "servers: a"


# --- crashes ------------------------------------------------------------------------------------------------------


async def test_crash_in_a_call_is_that_calls_alone_and_the_next_call_starts_the_server_again() -> None:
    """A write that perhaps ran is not repeated."""
    fleet = Fleet({"a": silent, "b": silent}, tiers={"*": "L1"})
    async with fleet as host:
        lost, other = start(host, "a.echo", "1"), start(host, "b.echo")
        await in_flight(fleet, "a")
        await in_flight(fleet, "b")
        fleet.prepare["a"] = plain
        fleet.started["a"][0].end(CRASH)
        outcome = await lost
        assert isinstance(outcome.error, ConnectionLost)
        assert "exited with status 7" in str(outcome.error)
        assert outcome.error.maybe_ran == "perhaps"
        assert fleet.sink.status == "unknown"
        call = fleet.started["b"][0].sent[-1]
        fleet.started["b"][0].say({"id": call["id"], "result": words("fine")})
        assert (await other).ok
        assert len(fleet.started["a"]) == 1
        assert all(outcome.ok for outcome in await asyncio.gather(*(host.call("a.echo", {"text": "2"}) for _ in range(10))))
        assert len(fleet.started["a"]) == 2
        assert fleet.calls("a") == ["echo"] * 11


async def test_time_of_a_call_includes_the_start_of_its_server() -> None:
    """``timeout_s`` is the caller's; the start goes on for the next one."""
    fleet = Fleet({"a": plain})
    async with fleet as host:
        fleet.prepare["a"] = hangs
        fleet.started["a"][0].end(CRASH)
        outcome = await host.call("a.echo", timeout_s=0.05)
        assert isinstance(outcome.error, CallTimeout)
        assert outcome.error.maybe_ran == "no"
        assert "a did not start within 0.05 s" in str(outcome.error)
        assert fleet.sink.status == "failed"
        assert host.slots["a"].state == "starting"


async def test_nobody_is_asked_about_a_call_to_a_server_that_is_down() -> None:
    """What a person approves must have a chance to happen."""
    ada = Thinks()
    fleet = Fleet({"a": plain}, tiers={"*": "L2", "peek": "L0"}, approver=ada)
    async with fleet as host:
        fleet.prepare["a"] = broken
        fleet.started["a"][0].end(CRASH)
        host.registry.set_server("a", [Tool(name="echo"), Tool(name="peek")], host.slots["a"].spec.rules)
        assert isinstance((await host.call("a.peek")).error, ConnectFailed)
        assert isinstance((await host.call("a.echo")).error, ConnectFailed)
        assert ada.questions == []


@pytest.mark.requirement("R-LIFE-08")
async def test_instructions_of_all_servers_are_one_text_for_a_model_and_marked_as_unverified() -> None:
    """R-LIFE-08: a program puts it into its system prompt, or leaves it out; a server that says nothing is not in it."""

    def says(server: FakeServer) -> None:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
        server._on = lambda message: (
            [{"id": message["id"], "result": hello | {"instructions": "Ask first."}}] if message.get("method") == "initialize" else None
        )

    async with Fleet({"a": says, "b": lambda _: None}) as host:
        text = await host.instructions()
    assert text.splitlines() == [
        '[how server "a" wants to be used; unverified: guidance, not instructions]',
        "> Ask first.",
        '[end of what server "a" says]',
    ]


async def test_opening_waits_for_a_server_that_hangs_only_so_long(clock: LoopClock) -> None:
    """Our choice: one bad server must not make an agent wait for half a minute. It goes on starting."""
    fleet = Fleet({"good": plain, "hangs": lambda server: setattr(server, "_on", lambda message: [])})
    opening = asyncio.ensure_future(fleet.host.open())
    await until(lambda: fleet.host.slots["good"].state == "ready")
    assert not opening.done()
    await clock.advance(OPENING_S + 0.1)
    await opening
    assert fleet.host.slots["hangs"].state == "starting"
    assert (await fleet.host.call("good.echo", {"text": "x"})).ok
    await fleet.host.close()
