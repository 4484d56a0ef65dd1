"""Hearing of changes in both eras: who agreed to what, which change is whose, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dragoman.errors import CallTimeout, ConnectionLost, LocalProtocolError, ServerError
from dragoman.protocol.actions import CloseStream, Performable, Send
from dragoman.runtime.catalog import Catalog
from dragoman.runtime.subscriptions import MAX_WAITING, Change, Filter
from dragoman.transports.base import Closed, StreamEnded
from tests.runtime.fakes import FakeServer, Json, LoopClock, client, turns

ID = "io.modelcontextprotocol/subscriptionId"
EXPECTED_WAIT_S = 20


def acknowledged(of: Any, **granted: Any) -> Json:
    return {"method": "notifications/subscriptions/acknowledged", "params": {"_meta": {ID: of}, "notifications": granted}}


def changed(what: str, of: Any = None, **params: Any) -> Json:
    meta = {} if of is None else {"_meta": {ID: of}}
    return {"method": f"notifications/{what}", "params": {**meta, **params}}


def agreeing(message: Json) -> Iterable[Json] | None:
    """Grants all that is asked for."""
    if message.get("method") != "subscriptions/listen":
        return None
    return [acknowledged(message["id"], **message["params"]["notifications"])]


def modern(on: Callable[[Json], Iterable[Json] | None] = agreeing) -> FakeServer:
    return FakeServer(on, era="modern")


def listens(server: FakeServer) -> list[Json]:
    return [message for message in server.sent if message.get("method") == "subscriptions/listen"]


async def soon(changes: Any) -> Change:
    async with asyncio.timeout(EXPECTED_WAIT_S):
        return await anext(changes)


async def test_listen_asks_for_what_is_wanted_and_nothing_else_and_tells_changes() -> None:
    """MCP 2026-07-28 basic/patterns/subscriptions: what is left out is not subscribed."""
    server = modern()
    async with client(server) as mine, mine.listen(tools=True, resources=["file:///a"]) as changes:
        (listen,) = listens(server)
        assert listen["params"]["notifications"] == {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
        assert changes.granted == Filter(tools_list_changed=True, resource_subscriptions=("file:///a",))
        assert changes.missing == Filter()
        server.say(changed("tools/list_changed", listen["id"]))
        assert await soon(changes) == Change("tools")
        server.say(changed("resources/updated", listen["id"], uri="file:///a/part"))
        assert await soon(changes) == Change("resource", "file:///a/part")
    await turns()
    assert server.sent[-1] == {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": server.sent[-1]["params"]}
    assert server.sent[-1]["params"]["requestId"] == listen["id"]
    assert changes.ended == "closed"


async def test_what_the_server_does_not_grant_is_said() -> None:
    server = modern(lambda m: [acknowledged(m["id"], toolsListChanged=True)] if m.get("method") == "subscriptions/listen" else None)
    async with client(server) as mine, mine.listen(tools=True, prompts=True, resources=["a:b"]) as changes:
        assert changes.missing == Filter(prompts_list_changed=True, resource_subscriptions=("a:b",))


@pytest.mark.parametrize("granted", [{}, {"toolsListChanged": None}, {"resourceSubscriptions": None}, {"toolsListChanged": 1}])
async def test_acknowledgement_of_an_odd_shape_grants_nothing_and_hangs_nothing(granted: Json) -> None:
    server = modern(lambda m: [acknowledged(m["id"], **granted)] if m.get("method") == "subscriptions/listen" else None)
    async with client(server) as mine, mine.listen(tools=True) as changes:
        assert changes.granted == Filter()


async def test_two_subscriptions_are_told_apart_by_id_and_its_type() -> None:
    """MCP 2026-07-28: the id of the listen request, string or number as it was sent."""
    server = modern()
    async with client(server) as mine, mine.listen(tools=True) as first, mine.listen(tools=True, prompts=True) as second:
        one, two = (message["id"] for message in listens(server))
        server.say(changed("tools/list_changed", str(two)))
        server.say(changed("tools/list_changed", 999))
        server.say(changed("prompts/list_changed", one))
        server.say(changed("tools/list_changed", two))
        assert await soon(second) == Change("tools")
        server.say(changed("tools/list_changed", one))
        assert await soon(first) == Change("tools")
        assert not first._waiting
        assert not second._waiting


async def test_equal_changes_that_wait_are_one_and_endless_resources_become_one_of_each() -> None:
    server = modern()
    async with client(server) as mine, mine.listen(tools=True, resources=["r:"]) as changes:
        (listen,) = listens(server)
        for _ in range(100):
            server.say(changed("tools/list_changed", listen["id"]))
        await turns()
        assert await soon(changes) == Change("tools")
        for number in range(MAX_WAITING + 2):  # and one for the resource that was asked for
            server.say(changed("resources/updated", listen["id"], uri=f"r:{number}"))
        await turns()
        assert [await soon(changes), await soon(changes)] == [Change("tools", None, True), Change("resource", "r:", True)]
        assert not changes._waiting


async def test_thousands_of_resources_that_nobody_reads_cost_each_notice_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them were gone through at each notice, once there were more than may wait."""
    gone_through = 0
    changes_of = Filter.changes

    def counted(wanted: Filter, *, missed: bool) -> Iterable[Change]:
        nonlocal gone_through
        gone_through += 1
        return changes_of(wanted, missed=missed)

    monkeypatch.setattr(Filter, "changes", counted)
    server = modern()
    uris = [f"r:{number}" for number in range(2 * MAX_WAITING)]
    async with client(server) as mine, mine.listen(resources=uris) as changes:
        (listen,) = listens(server)
        for round_ in range(3):
            for uri in uris:
                server.say(changed("resources/updated", listen["id"], uri=f"{uri}/{round_}"))
        await turns()
        assert len(changes._waiting) <= MAX_WAITING + len(uris)
    assert 1 <= gone_through <= 3 * len(uris) / MAX_WAITING


async def test_result_ends_it_gracefully() -> None:
    """MCP 2026-07-28 basic/patterns/subscriptions#graceful-closure."""
    server = modern()
    async with client(server) as mine, mine.listen(tools=True) as changes:
        (listen,) = listens(server)
        server.say(changed("tools/list_changed", listen["id"]))
        server.say({"id": listen["id"], "result": {"resultType": "complete", "_meta": {ID: listen["id"]}}})
        assert [change async for change in changes] == [Change("tools")]
        assert changes.ended == "finished"
        assert (await mine.call_tool("echo", {"text": "x"})).text == "x"


async def test_cancellation_by_the_server_ends_it() -> None:
    """MCP 2026-07-28 basic/patterns/cancellation: how a server tears a subscription down on stdio."""
    server = modern()
    async with client(server) as mine, mine.listen(tools=True) as changes:
        (listen,) = listens(server)
        server.say({"method": "notifications/cancelled", "params": {"requestId": listen["id"]}})
        assert [change async for change in changes] == []
        assert changes.ended == "cancelled"
        assert len(listens(server)) == 1


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_end_of_the_connection_is_raised_and_our_own_close_is_not(era: str) -> None:
    server = FakeServer(agreeing, era=era)
    async with client(server) as mine, mine.listen(tools=True) as changes:
        server.end(Closed("died"))
        with pytest.raises(ConnectionLost):
            await soon(changes)
        assert changes.ended == "lost"
    other = FakeServer(agreeing, era=era)
    async with client(other) as mine, mine.listen(tools=True) as changes:
        await mine.close()
        assert [change async for change in changes] == []
        assert changes.ended == "closed"


async def test_server_that_refuses_or_never_agrees_is_an_error_of_listen(clock: LoopClock) -> None:
    refusing = modern(lambda m: [{"id": m["id"], "error": {"code": -32601, "message": "no"}}] if "listen" in str(m.get("method")) else None)
    async with client(refusing) as mine:
        with pytest.raises(ServerError):
            await mine.listen(tools=True).__aenter__()
    silent = modern(lambda m: [] if m.get("method") == "subscriptions/listen" else None)
    async with client(silent) as mine:
        entering = asyncio.ensure_future(mine.listen(tools=True, timeout_s=5).__aenter__())
        await turns()
        await clock.advance(6)
        with pytest.raises(CallTimeout, match="did not acknowledge"):
            await entering
        await turns()
        assert silent.methods()[-1] == "notifications/cancelled"


async def test_it_has_no_deadline_once_agreed(clock: LoopClock) -> None:
    server = modern()
    async with client(server) as mine, mine.listen(tools=True) as changes:
        await clock.advance(100_000)
        (listen,) = listens(server)
        server.say(changed("tools/list_changed", listen["id"]))
        assert await soon(changes) == Change("tools")


async def test_change_before_the_acknowledgement_is_taken_and_counted() -> None:
    """MCP 2026-07-28: the acknowledgement comes first; what comes before breaks the protocol."""

    def hasty(message: Json) -> Iterable[Json] | None:
        return (
            [changed("tools/list_changed", message["id"]), *(agreeing(message) or ())] if "listen" in str(message.get("method")) else None
        )

    async with client(modern(hasty)) as mine, mine.listen(tools=True) as changes:
        assert await soon(changes) == Change("tools")
        assert mine.violations["before-acknowledged"] == 1


class Streams(FakeServer):
    """A server whose requests have streams of their own, that can be cut."""

    def __init__(self) -> None:
        super().__init__(agreeing, era="modern")
        self.traits = self.traits.__class__(request_scoped_streams=True, cancel_closes_stream=True)
        self.closed_streams: list[Any] = []

    async def perform(self, action: Performable) -> None:
        if isinstance(action, CloseStream):
            self.closed_streams.append(action.request_id)
        if isinstance(action, Send):
            await super().perform(action)

    def cut(self, request_id: Any) -> None:
        assert self._report is not None
        self._report(StreamEnded(request_id, "cut"))


async def test_cut_stream_is_opened_again_and_everything_counts_as_changed(clock: LoopClock) -> None:
    """MCP 2026-07-28: an end without a result is abrupt; after it, changes must be assumed."""
    server = Streams()
    async with client(server) as mine, mine.listen(tools=True, resources=["a:b"]) as changes:
        for round_number in range(1, 4):
            server.cut(listens(server)[-1]["id"])
            await turns()
            assert len(listens(server)) == round_number  # not at once
            await clock.advance(60)
            await turns(30)
            assert len(listens(server)) == round_number + 1
            assert [await soon(changes), await soon(changes)] == [Change("tools", None, True), Change("resource", "a:b", True)]
        last = listens(server)[-1]["id"]
    await turns()
    assert server.closed_streams[-1] == last  # over HTTP that is the cancellation


async def test_legacy_server_has_the_same_face() -> None:
    """resources/subscribe for resources; changes of lists come unasked. MCP 2025-11-25 server/resources#subscriptions."""
    server = FakeServer(lambda m: [{"id": m["id"], "result": {}}] if "subscribe" in str(m.get("method")) else None)
    async with client(server) as mine:
        async with mine.listen(tools=True, prompts=True, resources=["file:///a"]) as changes:
            assert changes.granted == Filter(tools_list_changed=True, resource_subscriptions=("file:///a",))
            assert changes.missing == Filter(prompts_list_changed=True)
            server.say(changed("resources/updated", uri="file:///other"))
            server.say(changed("resources/updated", uri="file:///a"))
            server.say(changed("resources/list_changed"))
            server.say(changed("tools/list_changed"))
            assert [await soon(changes), await soon(changes)] == [Change("resource", "file:///a"), Change("tools")]
        assert server.methods().count("resources/unsubscribe") == 1


async def test_resource_is_unsubscribed_on_a_legacy_server_when_nobody_wants_it_any_more() -> None:
    server = FakeServer(lambda m: [{"id": m["id"], "result": {}}] if "subscribe" in str(m.get("method")) else None)
    async with client(server) as mine, mine.listen(resources=["a:b"]):
        async with mine.listen(resources=["a:b"]):
            assert server.methods().count("resources/subscribe") == 1
        assert "resources/unsubscribe" not in server.methods()


async def test_nothing_to_listen_to_and_entering_twice_are_mistakes() -> None:
    server = modern()
    async with client(server) as mine:
        with pytest.raises(LocalProtocolError, match="nothing to listen to"):
            mine.listen()
        with pytest.raises(LocalProtocolError, match="list of URIs"):
            mine.listen(resources="file:///a")
        async with mine.listen(tools=True) as changes:
            with pytest.raises(LocalProtocolError, match="once"):
                await changes.__aenter__()


# --- the catalog --------------------------------------------------------------------------------------------------------


async def test_catalog_lists_once_more_when_the_server_agrees_after_the_first_listing(clock: LoopClock) -> None:
    """What changed between the two would never be told."""
    server = modern()
    async with client(server) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        catalog.watch()
        await turns(30)
        for _ in range(20):
            await clock.advance(10)
            await turns(30)
        assert server.methods().count("tools/list") == 2
        await catalog.close()


async def test_catalog_that_lists_after_the_server_agreed_lists_once(clock: LoopClock) -> None:
    server = modern()
    async with client(server) as mine:
        catalog = Catalog(mine)
        catalog.watch()
        await turns(30)
        await catalog.current()
        await clock.advance(10)
        await turns(30)
        assert server.methods().count("tools/list") == 1
        await catalog.close()


async def test_catalog_lists_again_after_its_stream_was_cut(clock: LoopClock) -> None:
    server = Streams()
    async with client(server) as mine:
        catalog = Catalog(mine)
        catalog.watch()
        await turns(30)
        await catalog.current()
        server.cut(listens(server)[-1]["id"])
        await turns()
        for _ in range(3):
            await clock.advance(10)
            await turns(30)
        assert server.methods().count("tools/list") == 2
        await catalog.close()
