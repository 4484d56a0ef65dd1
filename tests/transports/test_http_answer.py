"""How an HTTP answer that settles nothing ends, in words: refusals, credentials, codings, redirects."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, ClassVar, cast

import pytest

from dragoman.protocol.actions import Listen, Resume
from dragoman.transports.base import Received, Report, StreamEnded
from dragoman.transports.http_answer import Events
from tests.transports.loopback import Exchange, loopback, opened
from tests.transports.test_http_legacy import ends_of_none, method_of, within


async def test_status_of_a_refusal_comes_with_its_message() -> None:
    """Whether a session is gone is seen from both together."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply_json({"jsonrpc": "2.0", "error": {"code": -32001, "message": "Session not found"}}, "404 Not Found")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(2))
        end = await recorder.ended(2)
        (got,) = [r for r in recorder.reports if isinstance(r, Received)]
        assert got.status == end.status == 404


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (
            "<!DOCTYPE html>\n<html><head><title>404 Not\n Found</title><style>b{}</style>",
            'HTTP 404 Not Found: a web page, "404 Not Found"',
        ),
        ("<HTML><body class=x><style>b{}</style>nothing\n<b>here", 'HTTP 404 Not Found: a web page, "nothing here"'),
        ("<html><body><p id=", "HTTP 404 Not Found: a web page"),
        ("no page <title>", "HTTP 404 Not Found: no page <title>"),
    ],
)
async def test_a_page_for_people_is_named_by_its_title(page: str, words: str) -> None:
    """Our choice: a wrong path often answers with a page, and its source tells nobody anything."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("404 Not Found", page.encode(), "text/html")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(2))
        assert (await recorder.ended(2)).reason == words


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_what_is_about_credentials_is_no_message(status: str) -> None:
    """They are HTTP's own: the challenge counts, not the body."""

    async def handler(exchange: Exchange) -> None:
        body = b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"token"}}'
        exchange.reply(status, body, "application/json", WWW_Authenticate='Bearer realm="x"')

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(2))
        end = await recorder.ended(2)
        assert recorder.messages(2) == []
        assert end.challenge == 'Bearer realm="x"'
        assert "token" in end.body


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize(
    ("coding", "body", "words"),
    [
        ("zstd", b"\x28\xb5\x2f\xfd\x00", "cannot be decoded as zstd; gzip and deflate were offered"),
        ("br", b"\x0b\x00\x80", "br"),
        ("compress", b"\x1f\x9d", "the body is coded as compress, which was not offered (gzip and deflate were)"),
        ("gzip", b"{}", "cannot be decoded as gzip; gzip and deflate were offered"),
    ],
)
async def test_content_coding_that_was_not_offered_or_is_a_lie_is_named(kind: str, coding: str, body: bytes, words: str) -> None:
    """RFC 9110 section 12.5.3: we offered gzip and deflate."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("200 OK", body, kind, Content_Encoding=coding)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        await transport.perform(Listen())
        end = await recorder.ended(1)
        await recorder.until(lambda: bool(ends_of_none(recorder)))
        assert words in end.reason
        assert words in ends_of_none(recorder)[0].reason


async def test_time_to_wait_is_in_the_reason() -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.reply("503 Service Unavailable", b"busy", "text/plain", Retry_After="120")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(within(1))
        assert (await recorder.ended(1)).reason == "HTTP 503 Service Unavailable (Retry-After: 120): busy"


@pytest.mark.parametrize(("method", "action"), [("POST", within(1)), ("GET", Listen()), ("GET", Resume(1, "e1", 0.0))])
async def test_redirects_within_the_origin_keep_the_method_and_others_are_named(method: str, action: Any) -> None:
    """RFC 9110 section 15.4: 307 and 308; nothing becomes a GET, and no session leaves its origin."""

    async def handler(exchange: Exchange) -> None:
        if exchange.line.split()[1] == "/mcp":
            exchange.reply("307 Temporary Redirect", Location="/elsewhere")
        else:
            exchange.reply("307 Temporary Redirect", Location="http://other.invalid/mcp")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(action)
        await recorder.until(lambda: bool(recorder.reports))
        (end,) = [r for r in recorder.reports if isinstance(r, StreamEnded)]
        assert [method_of(e) for e in server.requests] == [method, method]
        assert server.requests[0].body == server.requests[1].body
        assert "redirects to http://other.invalid/mcp" in end.reason
        assert end.status == 307


async def test_flood_of_events_in_one_read_is_taken_in_turns() -> None:
    """Our choice: 128 events a turn of the loop, as with lines on stdio."""

    class Content:
        def __init__(self) -> None:
            self.left = [b"data: {}\n\n" * 1000, b""]

        async def readany(self) -> bytes:
            return self.left.pop(0)

    class Response:
        content = Content()
        headers: ClassVar[dict[str, str]] = {}

    class Source:
        via, heard = 1, 0.0

    turn, each = 0, Counter[int]()
    reading = True

    def count() -> None:
        nonlocal turn
        turn += 1
        if reading:
            asyncio.get_running_loop().call_soon(count)

    def report(_: Report) -> None:
        each[turn] += 1

    count()
    await Events(1000, None, report, cast("Any", Source())).read(cast("Any", Response()))
    reading = False
    assert sum(each.values()) == 1000
    assert max(each.values()) <= 128
