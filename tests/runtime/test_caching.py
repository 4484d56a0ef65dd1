"""Results that are kept for as long as their server says, and never longer, and never for somebody else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.clock import FakeClock
from dragoman.runtime.caching import MAX_BYTES, MAX_TTL_S, ResultCache, is_within, outers
from tests.runtime.fakes import ECHO, FakeServer, Json, client, turns, words

METHODS: dict[str, Json] = {
    "tools/list": {"tools": [ECHO]},
    "prompts/list": {"prompts": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "a:b", "text": "x"}]},
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {}, "prompts": {}}},
}


def keeping(ttl_ms: Any = 60_000, scope: Any = "private") -> Callable[[Json], Iterable[Json] | None]:
    def on(message: Json) -> Iterable[Json] | None:
        method = message.get("method", "")
        if method == "tools/call":
            return [{"id": message["id"], "result": {**words("x"), "ttlMs": ttl_ms, "cacheScope": scope}}]
        if method not in METHODS:
            return None
        hints = {} if ttl_ms is None else {"ttlMs": ttl_ms}
        return [{"id": message["id"], "result": {**METHODS[method], **hints, "cacheScope": scope, "resultType": "complete"}}]

    return on


def server_that(on: Callable[[Json], Iterable[Json] | None] | None = None) -> FakeServer:
    return FakeServer(on or keeping(), era="modern")


def cached(server: FakeServer, clock: FakeClock, **options: Any) -> Any:
    return client(server, cache=ResultCache(clock=clock), **options)


async def ask_everything(mine: Any) -> None:
    await mine.list_tools()
    await mine.list_prompts()
    await mine.list_resources()
    await mine.list_resource_templates()
    await mine.read_resource("a:b")
    await mine.request("server/discover")


async def test_six_methods_are_kept_until_their_time_is_over() -> None:
    """MCP 2026-07-28 server/utilities/caching."""
    clock, server = FakeClock(), server_that()
    async with cached(server, clock) as mine:
        server.sent.clear()
        await ask_everything(mine)
        assert sorted(server.methods()) == sorted(METHODS)
        clock.advance(59.9)
        await ask_everything(mine)
        assert len(server.sent) == len(METHODS)
        clock.advance(0.2)
        await ask_everything(mine)
        assert len(server.sent) == 2 * len(METHODS)


@pytest.mark.parametrize("ttl_ms", [None, 0, -1, "60000", True])
async def test_result_without_a_time_is_stale_at_once(ttl_ms: Any) -> None:
    server = server_that(keeping(ttl_ms))
    async with cached(server, FakeClock()) as mine:
        server.sent.clear()
        await ask_everything(mine)
        await ask_everything(mine)
        assert len(server.sent) == 2 * len(METHODS)


async def test_call_of_a_tool_and_ping_are_never_kept() -> None:
    server = server_that()
    async with cached(server, FakeClock()) as mine:
        server.sent.clear()
        for _ in range(2):
            await mine.call_tool("echo")
            await mine.request("tools/call", {"name": "echo", "arguments": {}})
            await mine.ping()
        assert server.methods().count("tools/call") == 4
        assert server.methods().count("server/discover") == 2


async def test_other_params_are_another_result() -> None:
    server = server_that()
    async with cached(server, FakeClock()) as mine:
        await mine.read_resource("a:b")
        await mine.read_resource("a:c")
        await mine.request("tools/list", {"cursor": "1"})
        await mine.request("tools/list", {"cursor": "2"})
        assert server.methods().count("resources/read") == 2
        assert server.methods().count("tools/list") == 2


async def test_cache_can_be_left_out_for_a_client_and_for_one_question() -> None:
    server = server_that()
    async with client(server, cache=False) as mine:
        await mine.list_tools()
        await mine.list_tools()
        assert server.methods().count("tools/list") == 2
    other = server_that()
    async with client(other) as mine:
        await mine.list_tools()
        await mine.list_tools()
        await mine.list_tools(cache=False)
        await mine.read_resource("a:b")
        await mine.read_resource("a:b", cache=False)
        assert other.methods().count("tools/list") == 2
        assert other.methods().count("resources/read") == 2


async def test_list_that_was_handed_out_can_be_changed_without_harm() -> None:
    server = server_that()
    async with client(server) as mine:
        (await mine.list_tools()).clear()
        assert [tool.name for tool in await mine.list_tools()] == ["echo"]


CHANGES = [
    ("tools/list_changed", {}, {"tools/list"}),
    ("prompts/list_changed", {}, {"prompts/list"}),
    ("resources/list_changed", {}, {"resources/list", "resources/templates/list"}),
    ("resources/updated", {"uri": "a:b"}, {"resources/read"}),
    ("resources/updated", {"uri": "a:b/part"}, {"resources/read"}),
    ("resources/updated", {"uri": "a:bc"}, set()),
    ("resources/updated", {}, {"resources/read"}),
]


@pytest.mark.parametrize(("notice", "params", "dropped"), CHANGES)
async def test_notice_of_a_change_drops_what_it_is_about(notice: str, params: Json, dropped: set[str]) -> None:
    server = server_that()
    async with cached(server, FakeClock()) as mine:
        await ask_everything(mine)
        server.sent.clear()
        server.say({"method": f"notifications/{notice}", "params": params})
        await turns()
        await ask_everything(mine)
        assert set(server.methods()) == dropped


async def test_result_that_was_on_its_way_when_it_changed_is_not_kept() -> None:
    held: list[Json] = []

    def slow(message: Json) -> Iterable[Json] | None:
        if message.get("method") == "tools/list" and not held:
            held.append(message)
            return []
        return keeping()(message)

    server = server_that(slow)
    async with client(server) as mine:
        asking = asyncio.ensure_future(mine.list_tools())
        await turns()
        server.say({"method": "notifications/tools/list_changed"})
        server.say(*keeping()(held[0]) or ())
        await asking
        await mine.list_tools()
        assert server.methods().count("tools/list") == 2


async def test_listing_is_good_as_long_as_the_shortest_of_its_pages() -> None:
    def pages(message: Json) -> Iterable[Json] | None:
        if message.get("method") != "tools/list":
            return None
        if "cursor" not in message["params"]:
            return [{"id": message["id"], "result": {"tools": [ECHO], "nextCursor": "2", "ttlMs": 60_000, "cacheScope": "public"}}]
        return [{"id": message["id"], "result": {"tools": [ECHO | {"name": "b"}], "ttlMs": 1_000, "cacheScope": "public"}}]

    clock, server = FakeClock(), server_that(pages)
    async with cached(server, clock) as mine:
        assert len(await mine.list_tools()) == 2
        assert len(await mine.list_tools()) == 2
        assert server.methods().count("tools/list") == 2
        clock.advance(1.1)
        assert len(await mine.list_tools()) == 2
        assert server.methods().count("tools/list") == 4  # from the start: half of a list would be none


async def read_twice(cache: ResultCache, scope: Any, first: Json, second: Json) -> int:
    """How many of two clients of one server had to ask it."""
    asked = 0
    for options in (first, second):
        server = server_that(keeping(scope=scope))
        mine = client(server, cache=cache, **options)
        mine._server_key = ("the same", "", "")
        async with mine:
            await mine.read_resource("a:b")
            asked += server.methods().count("resources/read")
    return asked


@pytest.mark.parametrize(
    ("scope", "first", "second", "asked"),
    [
        ("private", {"principal": "ada"}, {"principal": "ada"}, 1),
        ("private", {"principal": "ada"}, {"principal": "bob"}, 2),
        ("private", {"headers": {"Authorization": "a"}}, {"headers": {"Authorization": "b"}}, 2),
        (None, {"principal": "ada"}, {"principal": "bob"}, 2),
        ("everyone", {"principal": "ada"}, {"principal": "bob"}, 2),
        ("public", {"principal": "ada"}, {"principal": "bob"}, 1),
    ],
)
async def test_only_what_is_public_is_shared_between_principals(scope: Any, first: Json, second: Json, asked: int) -> None:
    """MCP 2026-07-28 server/utilities/caching#cache-scope; a scope that is missing or unknown is private."""
    assert await read_twice(ResultCache(), scope, first, second) == asked


async def test_two_servers_share_nothing() -> None:
    cache = ResultCache()
    for _ in range(2):
        server = server_that(keeping(scope="public"))
        async with client(server, cache=cache) as mine:
            await mine.read_resource("a:b")
            assert server.methods().count("resources/read") == 1


async def test_result_after_a_question_to_us_is_not_kept() -> None:
    """MCP 2026-07-28 server/utilities/caching#cache-key."""

    def asking(message: Json) -> Iterable[Json] | None:
        if message.get("method") == "resources/read" and "requestState" not in message["params"]:
            return [{"id": message["id"], "result": {"resultType": "input_required", "requestState": "s"}}]
        return keeping()(message)

    server = server_that(asking)
    async with client(server) as mine:
        await mine.read_resource("a:b")
        await mine.read_resource("a:b")
        assert server.methods().count("resources/read") == 4


async def test_what_is_large_is_not_kept_and_no_more_than_the_limit_is() -> None:
    def large(message: Json) -> Iterable[Json] | None:
        text = "x" * MAX_BYTES if message.get("params", {}).get("uri") == "large:" else "x"
        if message.get("method") != "resources/read":
            return None
        return [{"id": message["id"], "result": {"contents": [{"uri": "a:b", "text": text}], "ttlMs": 60_000}}]

    server, cache = server_that(large), ResultCache(max_entries=3)
    async with client(server, cache=cache) as mine:
        await mine.read_resource("large:")
        assert len(cache) == 0
        for number in range(5):
            await mine.read_resource(f"n:{number}")
        assert len(cache) == 3


async def test_nothing_is_kept_for_ever() -> None:
    clock, server = FakeClock(), server_that(keeping(10**15))
    async with cached(server, clock) as mine:
        await mine.list_tools()
        clock.advance(MAX_TTL_S + 1)
        await mine.list_tools()
        assert server.methods().count("tools/list") == 2


async def test_legacy_server_is_asked_each_time() -> None:
    server = FakeServer(lambda m: keeping()(m) if m.get("method") == "tools/list" else None)
    async with client(server) as mine:
        await mine.list_tools()
        await mine.list_tools()
        assert server.methods().count("tools/list") == 2


@given(st.text("a/:", max_size=8), st.text("a/:", max_size=8))
def test_what_a_uri_is_within_can_be_looked_up(uri: str, outer: str) -> None:
    """A subscription to thousands of resources looks each notice up instead of trying all of them."""
    assert (outer in set(outers(uri))) == is_within(uri, outer)
