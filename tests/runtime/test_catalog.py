"""What a server offers right now: listed openly, cached, refreshed once for many changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest

from dragoman.errors import ServerError
from dragoman.runtime.catalog import Catalog
from dragoman.wire.listing import Tool
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, client, turns

CHANGED: Json = {"method": "notifications/tools/list_changed"}


def listings(server: FakeServer) -> int:
    return server.methods().count("tools/list")


async def test_tools_are_listed_at_the_first_question_and_then_kept() -> None:
    server = FakeServer()
    seen: list[tuple[Tool, ...]] = []
    async with client(server) as mine:
        catalog = Catalog(mine, seen.append)
        assert listings(server) == 0
        await catalog.current()
        await catalog.current()
        assert listings(server) == 1
        assert [[tool.name for tool in tools] for tools in seen] == [["echo"]]
        await catalog.close()


async def test_calling_a_tool_lists_nothing() -> None:
    """No hidden requests."""
    server = FakeServer()
    async with client(server) as mine:
        await mine.call_tool("echo")
        assert "tools/list" not in server.methods()


async def test_many_who_ask_at_once_share_one_listing() -> None:
    server = FakeServer()
    async with client(server) as mine:
        catalog = Catalog(mine)
        await asyncio.gather(*(catalog.current() for _ in range(10)))
        assert listings(server) == 1


async def test_storm_of_changes_makes_one_listing_and_at_most_one_after_it(clock: LoopClock) -> None:
    server = FakeServer()
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        for _ in range(1000):
            server.say(CHANGED)
        await turns()
        await clock.advance(0.1)
        await turns(30)
        assert listings(server) == 2
        await catalog.current()
        assert listings(server) == 2
        server.say(CHANGED)
        await turns()
        await clock.advance(10)
        await turns(30)
        assert listings(server) == 3
        await catalog.close()


async def test_change_during_a_listing_makes_another_one(clock: LoopClock) -> None:
    """What was listed may be from before the change."""
    names = iter(["first", "second", "third"])

    def on(message: Json) -> Iterable[Json] | None:
        if message.get("method") != "tools/list":
            return None
        name = next(names)
        return [*([CHANGED] if name == "first" else []), {"id": message["id"], "result": {"tools": [ECHO | {"name": name}]}}]

    seen: list[tuple[Tool, ...]] = []
    async with client(FakeServer(on)) as mine:
        catalog = Catalog(mine, seen.append)
        await catalog.current()
        await clock.advance(0.1)
        await turns(30)
        await catalog.current()
        assert [[tool.name for tool in tools] for tools in seen] == [["first"], ["second"]]
        await catalog.close()


async def test_server_that_announces_a_change_at_each_listing_is_asked_less_and_less_often(clock: LoopClock) -> None:
    server = FakeServer(lambda m: [CHANGED, {"id": m["id"], "result": {"tools": []}}] if m.get("method") == "tools/list" else None)
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        for _ in range(600):  # a minute
            await clock.advance(0.1)
        assert 5 < listings(server) < 30
        await catalog.close()


async def test_other_changes_list_no_tools(clock: LoopClock) -> None:
    server = FakeServer()
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        server.say({"method": "notifications/prompts/list_changed"})
        await turns()
        await clock.advance(1)
        assert listings(server) == 1


async def test_failed_listing_is_raised_and_tried_again_at_the_next_question() -> None:
    failing = [True]

    def on(message: Json) -> Iterable[Json] | None:
        if message.get("method") == "tools/list" and failing:
            failing.pop()
            return [{"id": message["id"], "error": {"code": -1, "message": "not now"}}]
        return None

    seen: list[tuple[Tool, ...]] = []
    async with client(FakeServer(on)) as mine:
        catalog = Catalog(mine, seen.append)
        with pytest.raises(ServerError):
            await catalog.current()
        assert not seen
        await catalog.current()
        assert [len(tools) for tools in seen] == [1]


async def test_failed_refresh_after_a_change_is_logged_and_the_old_list_stays_marked_stale(
    clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    failing: list[bool] = []

    def on(message: Json) -> Iterable[Json] | None:
        if message.get("method") == "tools/list" and failing:
            failing.pop()
            return [{"id": message["id"], "error": {"code": -1, "message": "not now"}}]
        return None

    server = FakeServer(on)
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        failing.append(True)
        server.say(CHANGED)
        await turns()
        await clock.advance(0.1)
        await turns(30)
        assert "the tools changed and could not be listed" in caplog.text
        await catalog.current()
        assert listings(server) == 3
        await catalog.close()


async def test_server_without_tools_is_not_asked_for_any() -> None:
    def on(message: Json) -> Iterable[Json] | None:
        if message.get("method") != "initialize":
            return None
        return [{"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"prompts": {}}}}]

    server = FakeServer(on)
    async with client(server) as mine:
        seen: list[tuple[Tool, ...]] = []
        await Catalog(mine, seen.append).current()
        assert seen == [()]
        assert listings(server) == 0


async def test_modern_server_tells_changes_only_to_those_who_listen(clock: LoopClock) -> None:
    """MCP 2026-07-28 basic/patterns/subscriptions."""
    server = FakeServer(lambda m: [] if m.get("method") == "subscriptions/listen" else None, era="modern")
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        catalog.watch()
        catalog.watch()
        await turns()
        (listen,) = [m for m in server.sent if m["method"] == "subscriptions/listen"]
        assert listen["params"]["notifications"] == {"toolsListChanged": True}
        await clock.advance(10_000)  # it has no deadline
        server.say(CHANGED)
        await turns()
        await clock.advance(0.1)
        await turns(30)
        assert listings(server) == 2
        await catalog.close()
        await turns()
        assert server.sent[-1]["method"] == "notifications/cancelled"


async def test_closing_while_it_lists_leaves_no_task() -> None:
    server = FakeServer(lambda m: [] if m.get("method") == "tools/list" else None)
    async with client(server) as mine:
        catalog = Catalog(mine)
        asking = asyncio.create_task(catalog.current())
        await turns()
        server.say(CHANGED)
        await turns()
        await catalog.close()
        with pytest.raises(asyncio.CancelledError):
            await asking
