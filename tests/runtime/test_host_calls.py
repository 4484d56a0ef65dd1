"""Calls through a host: what a person approved is what goes out, what changed is seen, and no secret comes back."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from dragoman.errors import (
    CallTimeout,
    ConnectFailed,
    DragomanError,
    LocalProtocolError,
    ServerError,
    ToolChanged,
    UnknownTool,
)
from dragoman.runtime.gauges import Vitals
from dragoman.transports.base import Closed
from dragoman.wire.listing import Tool
from dragoman.wire.results import PromptResult, ReadResult, ToolResult
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, turns, until, words
from tests.runtime.hosts import Fleet, Thinks, in_flight, plain, silent, start

# --- approval and what changes meanwhile --------------------------------------------------------------------------


async def test_person_who_thinks_does_not_eat_the_time_of_the_call(clock: LoopClock) -> None:
    """``timeout_s`` starts after approval."""
    ada = Thinks()
    fleet = Fleet({"a": plain}, tiers={"*": "L2"}, approver=ada)
    async with fleet as host:
        call = start(host, "a.echo", timeout_s=2.0)
        await ada.asked.wait()
        await clock.advance(60.0)
        ada.may.set()
        assert (await call).ok


async def test_time_of_a_call_covers_all_its_rounds(clock: LoopClock) -> None:
    """A server that asks for one more round each time does not get the whole time each time."""

    def prepare(server: FakeServer) -> None:
        def on(message: Json) -> list[Json | bytes] | None:
            if message.get("method") != "tools/call":
                return None
            clock._ahead += 1.0
            return [{"id": message["id"], "result": {"resultType": "input_required", "requestState": "again"}}]

        server._on, server._era = on, "modern"

    fleet = Fleet({"a": prepare})
    async with fleet as host:
        outcome = await host.call("a.echo", timeout_s=2.5)
        assert isinstance(outcome.error, CallTimeout)
        assert outcome.error.after_s == 2.5
        assert len(fleet.calls("a")) == 3
        assert fleet.sink.status == "unknown"


@pytest.mark.parametrize(("after", "words"), [([ECHO | {"description": "Deletes."}], "was changed"), ([], "is no longer offered")])
async def test_tool_that_changed_while_a_person_thought_is_not_called(after: list[Json], words: str) -> None:
    """A yes is for the tool as it was shown; a server may list something else a second later."""
    listings = [[ECHO], after]

    def prepare(server: FakeServer) -> None:
        server._on = lambda m: [{"id": m["id"], "result": {"tools": listings.pop(0)}}] if m.get("method") == "tools/list" else None

    ada = Thinks()
    fleet = Fleet({"a": prepare}, tiers={"*": "L2"}, approver=ada)
    async with fleet as host:
        call = start(host, "a.echo")
        await ada.asked.wait()
        fleet.started["a"][0].say({"method": "notifications/tools/list_changed"})
        await until(lambda: not listings)
        await turns()
        ada.may.set()
        outcome = await call
        assert isinstance(outcome.error, ToolChanged)
        assert f"{words}" in str(outcome.error)
        assert fleet.calls("a") == []
        assert fleet.sink.status == "refused"


async def test_tool_listed_anew_without_a_change_is_called() -> None:
    """Another object, the same definition."""
    ada = Thinks()
    fleet = Fleet({"a": plain}, tiers={"*": "L2"}, approver=ada)
    async with fleet as host:
        call = start(host, "a.echo")
        await ada.asked.wait()
        server = fleet.started["a"][0]
        server.say({"method": "notifications/tools/list_changed"})
        await until(lambda: server.methods().count("tools/list") == 2)
        await turns()
        ada.may.set()
        assert (await call).ok


async def test_cancelled_call_is_told_to_the_server_and_written_down() -> None:
    """The cancellation comes out again."""
    fleet = Fleet({"a": silent})
    async with fleet as host:
        call = start(host, "a.echo")
        await in_flight(fleet, "a")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert fleet.sink.story == ["asked", "sending", "ended: cancelled"]
        await until(lambda: fleet.started["a"][0].methods()[-1] == "notifications/cancelled")


# --- tools --------------------------------------------------------------------------------------------------------


def growing(server: FakeServer) -> None:
    """Has one tool more after each call, and says so before it answers."""
    tools = [ECHO]

    def on(message: Json) -> list[Json | bytes] | None:
        if message.get("method") == "tools/list":
            return [{"id": message["id"], "result": {"tools": list(tools)}}]
        if message.get("method") == "tools/call":
            tools.append(ECHO | {"name": f"grown_{len(tools)}"})
            return [{"method": "notifications/tools/list_changed"}, {"id": message["id"], "result": words("grew")}]
        return None

    server._on = on


async def test_new_tool_is_there_as_soon_as_it_was_announced() -> None:
    """A model that was told of a tool by another one calls it at once: no moment in which it is unknown."""
    fleet = Fleet({"a": growing}, tiers={"echo": "L0", "grown_*": "L1"})
    async with fleet as host:
        await host.call("a.echo")
        outcome = await host.call("a.grown_1")
        assert (outcome.ok, outcome.call.tier) == (True, "L1")
        assert [tool.full_name for tool in await host.tools()] == ["a.echo", "a.grown_1", "a.grown_2"]


async def test_switched_off_tool_is_not_there_and_the_nearest_name_is_offered() -> None:
    """Tier ``off``."""
    tools = [ECHO, ECHO | {"name": "secret"}]

    def prepare(server: FakeServer) -> None:
        server._on = lambda m: [{"id": m["id"], "result": {"tools": tools}}] if m.get("method") == "tools/list" else None

    async with Fleet({"a": prepare}, tiers={"*": "L0", "secret": "off"}) as host:
        assert [tool.name for tool in await host.tools()] == ["echo"]
        assert isinstance((await host.call("a.secret")).error, UnknownTool)
        near = await host.call("a__ecko")
        assert near.hint is not None
        assert "a.echo" in near.hint


async def test_resources_and_prompts_go_through_the_chain() -> None:
    """They are calls too: L0, audited, labelled, their servers' errors outcomes."""
    answers: dict[str, Json] = {
        "resources/read": {"contents": [{"uri": "a://b", "text": "lentils"}]},
        "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "cook"}}]},
    }

    def prepare(server: FakeServer) -> None:
        server._on = lambda m: [{"id": m["id"], "result": answers[m["method"]]}] if m.get("method") in answers else None

    fleet = Fleet({"a": prepare})
    async with fleet as host, host.turn(principal="ada") as turn:
        read, prompt = await turn.read("a", "a://b"), await turn.prompt("a", "dinner", {"for": "two"})
        assert isinstance(read.unwrap(), ReadResult)
        assert isinstance(prompt.unwrap(), PromptResult)
        assert "lentils" in read.for_model()
        assert "untrusted" in read.labels & prompt.labels
        assert isinstance((await host.read("nope", "a://b")).error, UnknownTool)
        answers.clear()
        assert isinstance((await host.read("a", "a://b")).error, ServerError)
        records = [event for event in fleet.sink.events if event.event == "asked"][:2]
        assert [(record.principal, record.turn) for record in records] == [("ada", turn.id)] * 2
        assert [record.detail["kind"] for record in records] == ["resource", "prompt"]


async def test_turn_groups_its_calls_and_every_other_call_is_one_of_its_own() -> None:
    """Budgets and provenance are per turn."""
    fleet = Fleet({"a": plain})
    async with fleet as host:
        async with host.turn() as turn:
            await turn.call("a.echo")
            await turn.call("a.echo")
        await host.call("a.echo")
        ids = [event.turn for event in fleet.sink.events if event.event == "asked"]
        assert ids[0] == ids[1] == turn.id
        assert ids[2] == fleet.sink.events[-1].call


async def test_outcome_says_what_happened_and_unwraps() -> None:
    """The face of every call."""
    results = [words("fine"), words("no such ship") | {"isError": True}]

    def prepare(server: FakeServer) -> None:
        server._on = lambda m: [{"id": m["id"], "result": results.pop(0)}] if m.get("method") == "tools/call" else None

    async with Fleet({"a": prepare}) as host:
        good, bad, unknown = [await host.call(f"a.{name}") for name in ("echo", "echo", "ecko")]
        assert (good.ok, good.hint, good.for_user()) == (True, None, "fine")
        assert "unverified" in good.for_model()
        assert isinstance(good.unwrap(), ToolResult)
        assert not bad.ok
        assert isinstance(bad.unwrap(), ToolResult)
        assert bad.hint is not None
        assert "no such ship" in bad.hint
        assert not unknown.ok
        with pytest.raises(UnknownTool):
            unknown.unwrap()


# --- other loops, other people's trouble --------------------------------------------------------------------------


async def test_host_is_used_from_another_threads_loop() -> None:
    """Calls, lists, servers that come and go; the host stays on its own loop."""
    fleet = Fleet({"a": plain})
    async with fleet as host:

        async def elsewhere() -> tuple[str, int, list[str]]:
            outcome = await host.call("a.echo", {"text": "from afar"})
            fleet.prepare["b"], fleet.started["b"] = plain, []
            await host.add_spec(fleet.spec("b"))
            listed = len(await host.tools())
            await host.remove("b")
            return outcome.for_user(), listed, list(host.slots)

        assert await asyncio.to_thread(asyncio.run, elsewhere()) == ("from afar", 2, ["a"])
        await asyncio.to_thread(asyncio.run, host.close())
        assert fleet.started["a"][0].closed


async def test_cancelling_from_another_loop_cancels_the_call() -> None:
    """It is written down as such."""
    fleet = Fleet({"a": silent})
    async with fleet as host:

        async def elsewhere() -> bool:
            call = asyncio.ensure_future(host.call("a.echo"))
            await in_flight(fleet, "a")
            call.cancel()
            await asyncio.wait([call], timeout=10)
            return call.cancelled()

        assert await asyncio.to_thread(asyncio.run, elsewhere())
        await until(lambda: fleet.sink.status == "cancelled")


def test_host_whose_loop_is_over_says_so() -> None:
    """Rather than wait for ever; closing it is harmless."""
    fleet = Fleet({})
    asyncio.run(fleet.host.open())

    async def later() -> None:
        with pytest.raises(LocalProtocolError, match="is over"):
            await fleet.host.call("a.echo")
        await fleet.host.close()

    asyncio.run(later())


def test_loop_that_ends_during_a_call_from_elsewhere_ends_it() -> None:
    """By name."""
    fleet = Fleet({"a": silent})
    ended = list[BaseException]()

    async def elsewhere() -> None:
        try:
            await fleet.host.call("a.echo")
        except LocalProtocolError as exc:
            ended.append(exc)

    async def home() -> None:
        await fleet.host.open()
        thread.start()
        await in_flight(fleet, "a")

    thread = threading.Thread(target=lambda: asyncio.run(elsewhere()))
    asyncio.run(home())
    thread.join(20)
    assert not thread.is_alive()
    assert len(ended) == 1


async def test_secrets_are_taken_out_of_what_servers_say_when_they_fail() -> None:
    """Last words on stderr, messages of errors: servers print what they were given."""

    def dies(server: FakeServer) -> None:
        def on(message: Json) -> list[Json | bytes] | None:
            if message.get("method") != "tools/call":
                return None
            server.end(Closed("said hunter2", detail="key hunter2\n", exit_code=7))
            return []

        server._on = on

    def cannot(server: FakeServer) -> None:
        server.open_error = ConnectFailed("bad key hunter2", body="hunter2", hint="drop hunter2")

    seen: list[str | None] = []

    class Watch:
        async def vitals(self, rows: Sequence[Vitals], *, closing: bool) -> None:
            seen.extend(row.seen.error for row in rows if row.seen is not None)

        async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
            seen.append(server)

    fleet = Fleet({"dies": dies, "cannot": cannot}, redact=lambda text: text.replace("hunter2", "***"), watcher=Watch())
    async with fleet as host:
        outcomes = [await host.call("dies.echo"), await host.call("cannot.echo")]
    for outcome in outcomes:
        assert outcome.error is not None
        for text in (outcome.for_user(), outcome.for_model(), outcome.hint, *map(str, vars(outcome.error).values()), repr(outcome.error)):
            assert "hunter2" not in str(text)
            assert "***" in outcome.for_user()
    assert "bad key ***" in seen
    assert "hunter2" not in str(seen) + str(fleet.sink.events)


async def test_watcher_that_fails_costs_no_connection_and_no_call() -> None:
    """Health and catalogs are for ``status``; a disk that is full must not stop reads."""

    class Full:
        async def vitals(self, rows: Sequence[Vitals], *, closing: bool) -> None:
            raise DragomanError("disk full")

        async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
            await asyncio.sleep(0)
            raise DragomanError("disk full")

    async with Fleet({"a": plain}, watcher=Full()) as host:
        assert (await host.call("a.echo", {"text": "hi"})).ok
