"""What legacy Streamable HTTP adds to POSTs: a session, a GET stream, streams that are continued, and an end."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from dragoman.protocol.actions import CloseStream, Listen, Resume, Send
from dragoman.protocol.streams import Position
from dragoman.transports import http
from dragoman.transports.base import Received, StreamEnded
from tests.transports.loopback import WAIT_S, Exchange, Recorder, loopback, opened, request, result

VERSION = ("MCP-Protocol-Version", "2025-11-25")
SECRET = "s3cret-session"


def initialize(request_id: int = 1) -> Send:
    return Send(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": "initialize"}), request_id, (), "opens")


def within(request_id: int) -> Send:
    return Send(msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "method": "tools/call"}), request_id, (VERSION,), "within")


def notice(session: Any = "within") -> Send:
    return Send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', None, (VERSION,), session)


def method_of(exchange: Exchange) -> str:
    return exchange.line.split()[0]


async def polite(exchange: Exchange) -> None:
    """Answers everything; the GET stream stays open."""
    match method_of(exchange):
        case "GET":
            exchange.start_events()
        case "DELETE":
            exchange.reply("200 OK")
        case _ if "id" not in exchange.message:
            exchange.reply("202 Accepted")
        case _ if exchange.message["method"] == "initialize":
            body = msgspec.json.encode(result(exchange.message["id"]))
            exchange.reply("200 OK", body, "application/json", mcp_session_id=SECRET)
        case _:
            exchange.reply_json(result(exchange.message["id"]))


def ends_of_none(recorder: Recorder) -> list[StreamEnded]:
    return [r for r in recorder.reports if isinstance(r, StreamEnded) and r.via is None]


async def seen(server: Any, count: int) -> list[Exchange]:
    """The requests, once there are so many."""
    async with asyncio.timeout(WAIT_S):
        while len(server.requests) < count:  # noqa: ASYNC110  # what is waited for happens in the server's task
            await asyncio.sleep(0.002)
    found: list[Exchange] = server.requests
    return found


async def test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete() -> None:
    """MCP 2025-11-25 basic/transports#session-management: POST, GET and DELETE; header names in any case."""
    async with loopback(polite) as server:
        async with opened(server.url) as (transport, recorder):
            await transport.perform(request(9))  # of the stateless era: sends none, keeps none
            await recorder.ended(9)
            await transport.perform(initialize())
            await recorder.ended(1)
            await transport.perform(notice("confirms"))
            await transport.perform(Listen((VERSION,)))
            await transport.perform(within(2))
            await recorder.ended(2)
            await transport.perform(request(3))
            await recorder.ended(3)
            await seen(server, 6)
        first, init, *rest = server.requests
        assert first.header("mcp-session-id") is None
        assert init.header("mcp-session-id") is None
        assert init.header("mcp-protocol-version") is None
        by = {(method_of(e), e.message.get("id") if e.body else None): e for e in rest}
        assert by["POST", 3].header("mcp-session-id") is None
        for key in (("POST", None), ("POST", 2), ("GET", None), ("DELETE", None)):
            assert by[key].header("mcp-session-id") == SECRET
            assert by[key].header("mcp-protocol-version") == "2025-11-25"
        assert by["GET", None].header("accept") == "text/event-stream"
        assert by["GET", None].header("content-type") is None
        assert by["GET", None].header("last-event-id") is None
        assert method_of(server.requests[-1]) == "DELETE"


async def test_new_initialize_forgets_the_old_session_before_it_is_sent() -> None:
    """MCP 2025-11-25 basic/transports#session-management: a new session starts without an id."""
    async with loopback(polite) as server, opened(server.url) as (transport, recorder):
        for number in (1, 2):
            await transport.perform(initialize(number))
            await recorder.ended(number)
        assert server.requests[1].header("mcp-session-id") is None


async def test_session_that_is_not_named_anew_is_over() -> None:
    """MCP 2025-11-25 basic/transports#session-management: a server need not have sessions, also after a restart."""

    async def handler(exchange: Exchange) -> None:
        if exchange.message["id"] == 1:
            await polite(exchange)
        else:
            exchange.reply_json(result(exchange.message["id"]))

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        for send in (initialize(1), initialize(2), within(3)):
            await transport.perform(send)
            assert send.request_id is not None
            await recorder.ended(send.request_id)
        assert server.requests[2].header("mcp-session-id") is None


@pytest.mark.parametrize("stated", ["", "a b", "é", "x" * 5000])
async def test_session_id_that_is_none_is_not_kept(stated: str) -> None:
    """MCP 2025-11-25 basic/transports#session-management: visible ASCII; the length is our choice."""

    async def handler(exchange: Exchange) -> None:
        body = msgspec.json.encode(result(exchange.message["id"]))
        exchange.reply("200 OK", body, "application/json", Mcp_Session_Id=stated)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(initialize())
        await recorder.ended(1)
        await transport.perform(within(2))
        await recorder.ended(2)
        assert server.requests[1].header("mcp-session-id") is None


async def test_session_id_is_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    """MCP 2025-11-25 basic/transports#session-management: neither in the log nor in a report, whatever goes wrong."""
    caplog.set_level(logging.DEBUG)

    async def handler(exchange: Exchange) -> None:
        if method_of(exchange) == "POST" and exchange.message.get("id") == 1:
            await polite(exchange)
        else:
            exchange.drop()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(initialize())
        await recorder.ended(1)
        await transport.perform(Listen((VERSION,)))
        await transport.perform(within(2))
        await recorder.ended(2)
        await recorder.until(lambda: bool(ends_of_none(recorder)))
        assert SECRET not in repr(recorder.reports)
        assert SECRET not in repr(transport.label)
    assert SECRET not in caplog.text


async def test_nothing_overtakes_the_message_that_confirms_the_session() -> None:
    """MCP 2025-11-25 basic/lifecycle#initialization: after initialize, the notification comes first."""
    take = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        await take.wait()
        exchange.reply("202 Accepted")

    async with loopback(handler) as server, opened(server.url) as (transport, _):
        performing = asyncio.create_task(transport.perform(notice("confirms")))
        await seen(server, 1)
        assert not performing.done()
        take.set()
        async with asyncio.timeout(WAIT_S):
            await performing


async def test_server_that_never_takes_the_confirmation_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_CONFIRM_S", 0.02)

    async def handler(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    async with loopback(handler) as server, opened(server.url) as (transport, _):
        async with asyncio.timeout(WAIT_S):
            await transport.perform(notice("confirms"))


async def test_messages_of_the_listening_stream_belong_to_no_request_and_its_end_says_how_far_it_came() -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server; priming events hold no message."""
    note = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.chunk(b"id: g1\nretry: 700\ndata:\n\n: idle\n\n")
        exchange.event(note)
        exchange.chunk(b"id: g2\ndata: {}\n")  # cut off
        exchange.finish()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(Listen((VERSION,)))
        await recorder.until(lambda: bool(ends_of_none(recorder)))
        (got,) = [r for r in recorder.reports if isinstance(r, Received)]
        assert (msgspec.json.decode(got.message), got.via) == (note, None)
        (end,) = ends_of_none(recorder)
        assert end.position is not None
        assert (end.position.last_event_id, end.position.retry_ms, end.status) == ("g1", 700, 200)
        assert len(server.requests) == 1  # to go on is somebody else's decision


@pytest.mark.parametrize(
    ("status", "kind", "body"),
    [
        ("405 Method Not Allowed", None, b""),
        ("405 Method Not Allowed", "application/json", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}'),
        ("200 OK", "text/html", b"<h1>MCP endpoint</h1>"),
        ("404 Not Found", None, b"gone"),
        ("204 No Content", None, b""),
    ],
)
async def test_answer_that_is_no_stream_of_events_is_reported_with_its_status_and_no_message(
    status: str, kind: str | None, body: bytes
) -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(status, body, kind)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(Listen((VERSION,)))
        await recorder.until(lambda: bool(ends_of_none(recorder)))
        (end,) = ends_of_none(recorder)
        assert (end.status, end.position) == (int(status[:3]), None)
        assert not [r for r in recorder.reports if isinstance(r, Received)]


async def test_stream_of_a_request_is_continued_by_a_get_that_names_the_last_event() -> None:
    """MCP 2025-11-25 basic/transports#resumability-and-redelivery."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        if method_of(exchange) == "POST":
            exchange.chunk(b"id: e1\nretry: 20\ndata: \n\n")
        else:
            exchange.chunk(b"id: e2\n")
            exchange.event(result(1, ok=True))
        exchange.finish()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        end = await recorder.ended(1)
        assert isinstance(end.position, Position)
        assert (end.position.last_event_id, end.position.retry_ms) == ("e1", 20)
        recorder.reports.clear()
        await transport.perform(Resume(1, "e1", 0.02))
        end = await recorder.ended(1)
        assert recorder.messages(1) == [result(1, ok=True)]
        assert end.position is not None
        assert end.position.last_event_id == "e2"
        assert [(method_of(e), e.header("last-event-id")) for e in server.requests] == [("POST", None), ("GET", "e1")]


async def test_stream_that_is_cut_still_says_how_far_it_came() -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.chunk(b"id: e7\ndata: {}\n\n")
        exchange.drop()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        end = await recorder.ended(1)
        assert end.position is not None
        assert end.position.last_event_id == "e7"
        assert "broke off" in end.reason


async def test_connection_that_broke_before_any_event_has_no_position() -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.drop()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        assert (await recorder.ended(1)).position is None


async def test_closing_a_stream_ends_also_what_waits_to_be_continued() -> None:
    async with loopback(polite) as server, opened(server.url) as (transport, recorder):
        await transport.perform(Resume(1, "e1", 3600.0))
        await transport.perform(CloseStream(1))
        await transport.perform(Resume(2, "e2", 0.0))
        (got,) = await seen(server, 1)
        assert got.header("last-event-id") == "e2"
        async with asyncio.timeout(WAIT_S):
            await transport.perform(CloseStream(2))
            await got.gone.wait()
        assert recorder.reports == []


async def test_continuing_from_inside_the_report_is_not_undone_by_the_end_of_the_old_exchange() -> None:
    """The new exchange has the same name as the one that is just ending; closing it must reach the new one."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        if method_of(exchange) == "POST":
            exchange.chunk(b"id: e1\ndata: \n\n")
            exchange.finish()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        await recorder.until(lambda: bool(recorder.reports))
        await transport.perform(Resume(1, "e1", 0.0))
        await seen(server, 2)
        await transport.perform(CloseStream(1))
        async with asyncio.timeout(WAIT_S):
            await server.requests[1].gone.wait()


@pytest.mark.parametrize("how", ["405 Method Not Allowed", "drop", "silence"])
async def test_end_of_the_session_is_bounded_and_optional_for_the_server(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP 2025-11-25 basic/transports#session-management: 405 is fine; two seconds at most are our choice."""
    monkeypatch.setattr(http, "_DELETE_S", 0.05)

    async def handler(exchange: Exchange) -> None:
        if method_of(exchange) != "DELETE":
            await polite(exchange)
        elif how == "drop":
            exchange.drop()
        elif how == "silence":
            await asyncio.Event().wait()
        else:
            exchange.reply(how)

    async with loopback(handler) as server:
        async with opened(server.url) as (transport, recorder):
            await transport.perform(initialize())
            await recorder.ended(1)
            async with asyncio.timeout(WAIT_S):
                await transport.close()
        assert method_of(server.requests[-1]) == "DELETE"


async def test_session_that_the_server_does_not_know_is_not_ended_again() -> None:
    async def handler(exchange: Exchange) -> None:
        if exchange.message["id"] == 1:
            await polite(exchange)
        else:
            exchange.reply("404 Not Found")

    async with loopback(handler) as server:
        async with opened(server.url) as (transport, recorder):
            await transport.perform(initialize())
            await recorder.ended(1)
            await transport.perform(within(2))
            assert (await recorder.ended(2)).status == 404
        assert [method_of(e) for e in server.requests] == ["POST", "POST"]
