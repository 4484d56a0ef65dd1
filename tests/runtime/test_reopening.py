"""A legacy session over HTTP that the server forgot: a new one is opened, and only what was turned away unread is sent again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.errors import CallFailed, ConnectionLost
from tests.runtime.fakes import Json, client, until, words
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange, result

INIT = "POST initialize"


async def test_call_in_a_forgotten_session_is_repeated_in_a_new_one() -> None:
    """MCP 2025-11-25 basic/transports#session-management: a fresh initialize without an id."""
    async with serving("legacy") as server:
        async with client(server.url) as mine:
            assert (await mine.call_tool("echo", {"text": "1"})).text == "1"
            server.sessions.clear()
            assert (await mine.call_tool("echo", {"text": "2"})).text == "2"
            assert mine.is_open
            assert server.count(INIT) == 2
            second = [e for e in server.server.requests if e.body and e.message.get("method") == "initialize"][1]
            assert second.header("mcp-session-id") is None
        assert server.sessions == set()  # the new one was ended
        assert server.count("DELETE") == 1  # and the old one not again


@pytest.mark.parametrize(
    ("status", "body"),
    [("404 Not Found", b""), ("400 Bad Request", b"Bad Request: No valid session ID provided")],
)
async def test_any_way_of_saying_so_will_do(status: str, body: bytes) -> None:
    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call" or exchange.header("mcp-session-id") in dialect.sessions:
            return False
        exchange.reply(status, body, "text/plain")
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        server.sessions.clear()
        assert (await mine.call_tool("echo", {"text": "2"})).text == "2"


async def test_many_calls_in_a_forgotten_session_share_one_new_session() -> None:
    async with serving("legacy") as server, client(server.url) as mine:
        server.sessions.clear()
        results = await asyncio.gather(*(mine.call_tool("echo", {"text": str(n)}) for n in range(8)))
        assert [one.text for one in results] == [str(n) for n in range(8)]
        assert server.count(INIT) == 2


async def test_what_is_in_flight_on_its_own_stream_still_gets_its_answer() -> None:
    """Another call being turned away says nothing about a stream that is open."""
    slow: list[Exchange] = []

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call" or message["params"]["name"] != "slow":
            return False
        exchange.start_events()
        slow.append(exchange)
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        waiting = asyncio.create_task(mine.call_tool("slow"))
        await until(lambda: bool(slow))
        server.sessions.clear()
        await mine.call_tool("echo")
        slow[0].event(result(slow[0].message["id"], **words("done")))
        assert (await waiting).text == "done"


async def test_what_is_in_flight_and_gets_none_ends_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from dragoman.runtime import reopening

    monkeypatch.setattr(reopening, "_LINGER_S", 0.01)
    slow: list[Exchange] = []

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call" or message["params"]["name"] != "slow":
            return False
        slow.append(exchange)
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        waiting = asyncio.create_task(mine.call_tool("slow"))
        await until(lambda: bool(slow))
        server.sessions.clear()
        await mine.call_tool("echo")
        with pytest.raises(ConnectionLost, match="its session is gone") as caught:
            await waiting
        assert caught.value.maybe_ran == "perhaps"
        assert len(slow) == 1


async def test_stream_that_cannot_be_continued_in_a_forgotten_session_is_lost_and_not_repeated() -> None:
    """It was taken by the server, so it may have run."""

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        dialect.sessions.clear()
        exchange.start_events()
        exchange.chunk(b"id: e1\nretry: 1\ndata: \n\n")
        exchange.finish()
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        with pytest.raises(ConnectionLost, match="could not be continued") as caught:
            await mine.call_tool("echo")
        assert caught.value.maybe_ran == "perhaps"
        assert server.count("POST tools/call") == 1


async def test_log_level_and_subscriptions_are_set_up_again_and_the_lists_are_stale() -> None:
    """MCP 2025-11-25 basic/transports#session-management: the new session knows nothing of the old one."""
    changed: list[str] = []
    async with serving("legacy") as server, client(server.url) as mine:
        mine.on_change(changed.append)
        await mine.set_log_level("debug")
        await mine.set_log_level("error")
        await mine.subscribe("a://1")
        await mine.subscribe("a://2")
        await mine.unsubscribe("a://1")
        server.sessions.clear()
        server.asked.clear()
        await mine.call_tool("echo")
        assert server.count("POST logging/setLevel") == server.count("POST resources/subscribe") == 1
        assert server.level == "error"
        again = [e.message for e in server.server.requests if e.body and e.message.get("method") == "resources/subscribe"][-1]
        assert again["params"]["uri"] == "a://2"
        assert "notifications/tools/list_changed" in changed
        assert server.asked.index("POST logging/setLevel") < len(server.asked) - server.asked[::-1].index("POST tools/call") - 1


async def test_server_that_forgets_every_session_at_once_is_asked_twice_and_no_more() -> None:
    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        exchange.reply("404 Not Found")
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        with pytest.raises(ConnectionLost, match="HTTP 404") as caught:
            await mine.call_tool("echo")
        assert caught.value.maybe_ran == "no"
        assert server.count("POST tools/call") == 2


async def test_server_that_opens_no_new_session_is_tried_again_by_the_next_call() -> None:
    """A restart takes a while; the client must not be dead after it."""
    down = False

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if not down or message.get("method") != "initialize":
            return False
        exchange.reply("503 Service Unavailable")
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        server.sessions.clear()
        down = True
        with pytest.raises(CallFailed, match="Session not found") as caught:
            await mine.call_tool("echo")
        assert "a new session could not be opened: HTTP 503" in str(caught.value.hint)
        assert caught.value.maybe_ran == "no"
        down = False
        assert (await mine.call_tool("echo", {"text": "back"})).text == "back"


async def test_call_made_while_a_new_session_is_opened_waits_for_it() -> None:
    held: list[Exchange] = []

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "initialize" or dialect.count(INIT) != 2 or held:
            return False
        held.append(exchange)
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        server.sessions.clear()
        first = asyncio.create_task(mine.call_tool("echo", {"text": "1"}))
        await until(lambda: bool(held))
        second = asyncio.create_task(mine.call_tool("echo", {"text": "2"}))
        await asyncio.sleep(0)
        assert server.count("POST tools/call") == 1  # the one that was turned away
        await server.handle(held[0])
        assert [(await call).text for call in (first, second)] == ["1", "2"]
        assert server.count("POST tools/call") == 3


async def test_call_turned_away_while_a_new_session_is_opened_already_waits_for_that_one() -> None:
    held: list[Exchange] = []
    late: list[Exchange] = []

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") == "initialize" and dialect.count(INIT) == 2 and not held:
            held.append(exchange)
        elif message.get("method") == "tools/call" and message["params"]["name"] == "late" and not late:
            late.append(exchange)
        else:
            return False
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        second = asyncio.create_task(mine.call_tool("late", {"text": "2"}))
        await until(lambda: bool(late))
        server.sessions.clear()
        first = asyncio.create_task(mine.call_tool("echo", {"text": "1"}))
        await until(lambda: bool(held))
        late[0].reply("404 Not Found")
        await until(lambda: mine._session.driver.connection.open_requests == 1)  # only initialize, on the new connection
        await asyncio.sleep(0.01)
        await server.handle(held[0])
        assert [(await call).text for call in (first, second)] == ["1", "2"]
        assert server.count(INIT) == 3  # the held one was counted twice


async def test_client_closed_while_a_new_session_is_opened_leaves_nothing_behind() -> None:
    hold = asyncio.Event()
    count = 0

    async def odd(_dialect: Dialect, _exchange: Exchange, message: Json) -> bool:
        nonlocal count
        if message.get("method") != "initialize":
            return False
        count += 1
        if count == 2:
            hold.set()
            return True  # never answered
        return False

    async with serving("legacy", odd) as server:
        mine = client(server.url)
        await mine.open()
        server.sessions.clear()
        call: asyncio.Task[Any] = asyncio.create_task(mine.call_tool("echo"))
        async with asyncio.timeout(20):
            await hold.wait()
            await mine.close()
            with pytest.raises(CallFailed):
                await call
        assert not mine.is_open
