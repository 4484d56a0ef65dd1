"""Streamable HTTP of the modern era against a server that misbehaves on request."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from dragoman.protocol.actions import HTTP, Close, CloseStream, Send, SetTimer
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import Negotiated, RequestLost, ResultReceived
from dragoman.protocol.handshake import Identity
from dragoman.transports import http
from dragoman.transports.base import Report, StreamEnded, Transport
from dragoman.transports.http import HttpTransport
from dragoman.wire.listing import Implementation
from tests.transports.fakes import feed
from tests.transports.loopback import WAIT_S, Exchange, Recorder, loopback, opened, request, result


async def echo(exchange: Exchange) -> None:
    exchange.reply_json(result(exchange.message["id"], got=exchange.message["params"]))


def test_importing_the_transport_does_not_import_the_http_library() -> None:
    """Our choice: a stdio-only process must not pay for aiohttp."""
    code = "import sys, dragoman.transports.http; sys.exit('aiohttp' in sys.modules or 'ssl' not in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0


async def test_one_post_for_each_message_with_the_headers_of_the_era() -> None:
    """MCP 2026-07-28 streamable-http#sending-messages and #standard-request-headers; the protocol's headers win."""
    user = {"authorization": "Bearer t0p", "ACCEPT": "text/html", "mcp-method": "forged", "Content-type": "text/plain", "X-Team": "blue "}
    async with loopback(echo) as server, opened(server.url + "?key=1", headers=user) as (transport, recorder):
        assert server.connections == 0  # opening asks nothing of anybody
        await transport.perform(request(1, name="a"))
        end = await recorder.ended(1)
        (got,) = server.requests
        assert got.line == "POST /mcp?key=1 HTTP/1.1"
        assert got.message == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a"}}
        assert got.header("Content-Type") == "application/json"
        assert got.header("Accept") == "application/json, text/event-stream"
        assert got.header("MCP-Protocol-Version") == "2026-07-28"
        assert got.header("Mcp-Method") == "tools/call"
        assert got.header("Authorization") == "Bearer t0p"
        assert got.header("X-Team") == "blue"
        assert got.header("Accept-Encoding") == "gzip, deflate"
        assert (got.header("User-Agent") or "").startswith("dragoman/")
        assert recorder.messages(1) == [result(1, got={"name": "a"})]
        assert (end.sent, end.status) == (True, 200)
        assert transport.label == server.url + "?…"


async def test_connections_are_kept_and_session_ids_and_cookies_are_not() -> None:
    """MCP 2026-07-28 streamable-http#backward-compat: a session id is ignored. Our choice: no cookies."""

    async def handler(exchange: Exchange) -> None:
        body = msgspec.json.encode(result(exchange.message["id"]))
        exchange.reply("200 OK", body, "application/json", Mcp_Session_Id="s1", Set_Cookie="a=b; Path=/")

    # By name: a cookie jar takes nothing from a bare address, so that this test could not fail.
    async with loopback(handler) as server, opened(server.url.replace("127.0.0.1", "localhost")) as (transport, recorder):
        for number in (1, 2, 3):
            await transport.perform(request(number))
            await recorder.ended(number)
        assert server.connections == 1
        for exchange in server.requests:
            assert exchange.header("mcp-session-id") is None
            assert exchange.header("cookie") is None
            assert exchange.header("last-event-id") is None


async def test_events_are_reported_as_they_arrive_and_the_end_after_them() -> None:
    """MCP 2026-07-28 streamable-http#receiving-messages: progress, then the answer, comments and other events between."""
    go_on = asyncio.Event()
    note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.chunk(b": keep-alive\n\nid: e1\nretry: 5\ndata:\n\nevent: endpoint\ndata: /other\n\n")
        exchange.event(note)
        await go_on.wait()
        exchange.event(result(1, ok=True))
        exchange.finish()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.until(lambda: recorder.messages(1) == [note])
        go_on.set()
        end = await recorder.ended(1)
        assert recorder.messages(1) == [note, result(1, ok=True)]
        assert isinstance(recorder.reports[-1], StreamEnded)
        assert "ended without an answer" in end.reason


async def test_closing_the_stream_of_a_request_closes_its_connection_and_no_other() -> None:
    """MCP 2026-07-28 streamable-http#cancellation: disconnecting is the cancellation, seen at the server; nothing is posted."""
    arrived = asyncio.Queue[Exchange]()

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        arrived.put_nowait(exchange)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        async with asyncio.timeout(WAIT_S):
            await transport.perform(request(1))
            first = await arrived.get()
            await transport.perform(request(2))
            second = await arrived.get()
            await asyncio.create_task(transport.perform(CloseStream(1)))  # from another task than the one that sent it
            await first.gone.wait()
        assert not second.gone.is_set()
        second.event(result(2))
        second.finish()
        await recorder.ended(2)
        assert recorder.messages(1) == []
        assert not [r for r in recorder.reports if isinstance(r, StreamEnded) and r.via == 1]
        assert len(server.requests) == 2
        await transport.perform(CloseStream(1))  # unknown by now
        await transport.perform(request(3))
        await transport.perform(CloseStream(3))  # before its task has run at all
        await transport.perform(Close("done"))
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "kind", "body", "reason"),
    [
        (
            "400 Bad Request",
            "application/json",
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"v"}}',
            "HTTP 400 Bad Request: {",
        ),
        ("404 Not Found", "text/plain", b' {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}', "HTTP 404 Not Found: {"),
        ("500 Oops", None, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"m"}}', "HTTP 500 Oops: {"),
    ],
)
async def test_body_of_a_refusal_is_reported_before_the_end(status: str, kind: str | None, body: bytes, reason: str) -> None:
    """MCP 2026-07-28 streamable-http#protocol-version-header: 4xx carry JSON-RPC errors; servers do not always label them."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(status, body, kind)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert recorder.messages(1) == [msgspec.json.decode(body)]
        assert end.reason.startswith(reason)
        assert end.status == int(status[:3])


@pytest.mark.parametrize(
    ("status", "kind", "body", "reason"),
    [
        (
            "502 Bad Gateway",
            "text/html",
            b"<h1>no\x1b[31m\nbackend</h1>" + b"x" * 900,
            "HTTP 502 Bad Gateway: <h1>no\\x1b[31m\\nbackend</h1>xxx",
        ),
        ("503 Service Unavailable", None, b"", "HTTP 503 Service Unavailable"),
        ("202 Accepted", None, b"", "HTTP 202 without an answer"),
        ("200 OK", "application/json", b"", "HTTP 200 without an answer"),
        ("200 OK", "text/html; charset=utf-8", b"<p>hi</p>", "answer is text/html, not JSON or an event stream: <p>hi</p>"),
    ],
)
async def test_answer_that_is_no_message_ends_with_words_for_a_person(status: str, kind: str | None, body: bytes, reason: str) -> None:
    """Our choice: the status, the kind and the first 200 characters, control characters escaped."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(status, body, kind)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert recorder.messages(1) == []
        assert end.reason.startswith(reason)
        assert len(end.reason) < 260
        assert end.sent


async def test_challenge_of_a_401_is_in_the_reason() -> None:
    """Our choice until credentials are negotiated: say what the server wants."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("401 Unauthorized", b"", None, WWW_Authenticate='Bearer realm="x"')

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert end.reason == 'HTTP 401 Unauthorized (WWW-Authenticate: Bearer realm="x")'
        assert end.status == 401


async def test_stream_that_is_cut_and_connection_that_is_dropped_may_have_run() -> None:
    """MCP 2026-07-28 changelog: a broken stream loses the request; it is not sent again."""

    async def handler(exchange: Exchange) -> None:
        if exchange.message["id"] == 1:
            exchange.start_events()
            exchange.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        exchange.drop()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        cut = await recorder.ended(1)
        await transport.perform(request(2))
        dropped = await recorder.ended(2)
        assert len(recorder.messages(1)) == 1
        assert "broke off" in cut.reason
        assert dropped.reason == f"{server.url} closed the connection without an answer"
        assert cut.sent
        assert dropped.sent
        assert len(server.requests) == 2


async def test_notice_is_posted_and_a_refusal_of_it_is_only_counted() -> None:
    """MCP 2026-07-28 streamable-http#sending-messages: 202 accepts a notification; nothing waits for one."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("202 Accepted" if exchange.message["method"] == "notifications/good" else "400 Bad Request")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        for method in ("notifications/good", "notifications/bad"):
            await transport.perform(Send(msgspec.json.encode({"jsonrpc": "2.0", "method": method}), None, (("Mcp-Method", method),)))
        async with asyncio.timeout(WAIT_S):
            # A notice that fails is told to nobody, so there is no event to wait for.
            while transport.notices_failed == 0 or len(server.requests) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert transport.notices_failed == 1
        assert recorder.reports == []


async def test_header_that_would_break_out_is_not_sent() -> None:
    """Our choice: a line break in a header of one request fails that request, provably unsent."""
    async with loopback(echo) as server, opened(server.url) as (transport, recorder):
        await transport.perform(Send(b"{}", 1, (("Mcp-Name", "a\r\nX-Evil: 1"),)))
        end = await recorder.ended(1)
        assert end.reason == "header Mcp-Name holds the character \\r; nothing was sent"
        assert not end.sent
        assert server.requests == []


async def test_two_hundred_requests_at_once_share_64_connections() -> None:
    """Our choice: more requests wait in a queue, and none is lost."""
    async with loopback(echo) as server, opened(server.url) as (transport, recorder):
        for number in range(200):
            await transport.perform(request(number))
        for number in range(200):
            await recorder.ended(number)
            assert len(recorder.messages(number)) == 1
        assert server.connections <= 64


async def test_close_ends_open_exchanges_reports_once_and_may_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: from any task, twice, at the same time; afterwards nothing is sent or reported."""
    monkeypatch.setattr(http, "_CLOSE_S", 10 * WAIT_S)  # that is for what does not end; an open stream is ended
    arrived = asyncio.Event()

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        arrived.set()

    async with loopback(handler) as server:
        transport, recorder = HttpTransport(server.url), Recorder()
        await transport.close()  # before it was opened: nothing to close
        transport = HttpTransport(server.url)
        await transport.open(recorder)
        await transport.perform(request(1))
        async with asyncio.timeout(WAIT_S):
            await arrived.wait()
            await asyncio.gather(transport.close(), transport.close(), asyncio.create_task(transport.close()))
        await transport.close()
        await transport.perform(request(2))
        await transport.perform(CloseStream(1))
        assert [type(report).__name__ for report in recorder.reports] == ["Closed"]
        async with asyncio.timeout(WAIT_S):
            await server.requests[0].gone.wait()
        assert len(server.requests) == 1


async def test_engine_over_sockets_discovers_calls_and_loses_one_request_only() -> None:
    """MCP 2026-07-28: discover, three calls at once on three streams, one of which is cut."""
    calls: list[Exchange] = []

    async def handler(exchange: Exchange) -> None:
        message = exchange.message
        if message["method"] == "server/discover":
            return exchange.reply_json(result(message["id"], supportedVersions=["2026-07-28"], capabilities={"tools": {}}))
        calls.append(exchange)
        if len(calls) == 3:
            for call in reversed(calls):
                if call.message["params"]["name"] == "cut":
                    call.drop()
                else:
                    call.reply_json(result(call.message["id"], resultType="complete", name=call.message["params"]["name"]))
        return None

    async with loopback(handler) as server:
        connection = Connection(Role.CLIENT, Identity(Implementation("tester", "1")), traits=HTTP, known="modern")
        transport: Transport = HttpTransport(server.url)
        events: list[Any] = []
        changed = asyncio.Event()

        def sink(report: Report) -> None:
            feed(connection, report)
            events.extend(connection.events())
            changed.set()

        async def pump(kind: type, count: int) -> None:
            async with asyncio.timeout(WAIT_S):
                for action in connection.actions():
                    if not isinstance(action, SetTimer):
                        await transport.perform(action)
                while sum(isinstance(event, kind) for event in events) < count:
                    changed.clear()
                    await changed.wait()

        await transport.open(sink)
        connection.begin()
        await pump(Negotiated, 1)
        ids = [connection.start_request("tools/call", {"name": name, "arguments": {}}) for name in ("one", "cut", "three")]
        await pump(ResultReceived, 2)
        await pump(RequestLost, 1)
        await transport.close()
        assert {event.request_id for event in events if isinstance(event, ResultReceived)} == {ids[0], ids[2]}
        assert [event.request_id for event in events if isinstance(event, RequestLost)] == [ids[1]]
