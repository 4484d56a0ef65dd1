"""Whatever a broken server or proxy answers to a call, over HTTP of both eras: an error that says what to do, and the next call works.

How a connection that is refused from the start is told of is in test_http_detection.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

import dragoman
from dragoman.errors import AuthRequired, CallFailed, CallTimeout, ConnectionLost, DragomanError, MalformedResponse, ResultTooLarge
from tests.runtime.fakes import Json, client, words
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange, result

Answer = Callable[[Exchange, int], Any]
HTML = b"<html><head><title>502 Bad Gateway</title></head><body>" + b"nginx " * 1000 + b"</body></html>"
JSON, PAGE, UNREADABLE, LOST = "application/json", "text/html", "HTTP that can be read", ConnectionLost
AT_FAULT, NO_ENDPOINT, PATIENCE = "fault is", "MCP endpoint", "call again"


class Case(NamedTuple):
    """What is answered; then the error, words of its message and of its hint, and whether the tool may have run."""

    name: str
    answer: Answer
    error: type[DragomanError]
    says: str
    hint: str
    maybe_ran: str = "perhaps"


def plain(status: str, body: bytes = b"", kind: str | None = None, **headers: str) -> Answer:
    return lambda exchange, _: exchange.reply(status, body, kind, **headers)


def raw(data: bytes, *, drop: bool = True) -> Answer:
    def answer(exchange: Exchange, _: int) -> None:
        exchange.send(data)
        if drop:
            exchange.drop()

    return answer


def stream(*chunks: bytes, end: bool = True) -> Answer:
    def answer(exchange: Exchange, _: int) -> None:
        exchange.start_events()
        for chunk in chunks:
            exchange.chunk(chunk)
        exchange.finish() if end else exchange.drop()

    return answer


def foreign(exchange: Exchange, number: int) -> None:
    exchange.reply_json(result(number + 1000, **words("not yours")))


def foreign_event(exchange: Exchange, number: int) -> None:
    exchange.start_events()
    exchange.event(result(number + 1000, **words("not yours")))
    exchange.finish()


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
CASES = (
    Case(
        "page-200",
        plain("200 OK", b"It works!</h1>", PAGE),
        LOST,
        "answer is text/html, .* It works!",
        NO_ENDPOINT,
    ),
    Case("no-type", plain("200 OK", b"hello"), LOST, "200 without an answer to this request: hello", AT_FAULT),
    Case("no-json", plain("200 OK", b"oops", JSON), LOST, "without an answer to this request: oops", AT_FAULT),
    Case("empty", plain("200 OK", b"", JSON), LOST, "HTTP 200 without an answer", AT_FAULT),
    Case("accepted", plain("202 Accepted"), LOST, "HTTP 202 without an answer", AT_FAULT),
    Case("no-content", raw(b"HTTP/1.1 204 No Content\r\n\r\n"), LOST, "HTTP 204 without an answer", AT_FAULT),
    Case("page-502", plain("502 Bad Gateway", HTML, PAGE), LOST, '502 Bad Gateway: a web page, "502 Bad Gateway"$', AT_FAULT),
    Case("page-500", plain("500 Oops", HTML, PAGE), LOST, 'HTTP 500 Oops: a web page, "502', AT_FAULT),
    Case("busy", plain("503 Service Unavailable", b"", None, Retry_After="7"), LOST, r"503 .*\(Retry-After: 7\)", PATIENCE),
    Case("too-many", plain("429 Too Many Requests", b"", None, Retry_After="7"), LOST, r"429 .*\(Retry-After: 7\)", PATIENCE, "no"),
    Case("too-large", plain("413 Content Too Large"), LOST, "HTTP 413", "send less", "no"),
    Case("forbidden", plain("403 Forbidden", HTML, PAGE), AuthRequired, "HTTP 403 Forbidden: a web page", "rule of the server's", "no"),
    Case(
        "who", plain("401 Unauthorized", b"", None, WWW_Authenticate='Bearer realm="r"'), AuthRequired, 'realm="r"', "Authorization", "no"
    ),
    Case("who-plain", plain("401 Unauthorized", HTML, PAGE), AuthRequired, "HTTP 401 Unauthorized: a web page", "Authorization", "no"),
    Case(
        "scope",
        plain("403 Forbidden", b"", None, WWW_Authenticate='Bearer error="insufficient_scope", scope="files:write"'),
        AuthRequired,
        "files:write",
        "scope",
        "no",
    ),
    Case(
        "moved",
        plain("301 Moved", b"", None, Location="/elsewhere"),
        LOST,
        "301 redirects to /elsewhere; only 307 and 308",
        "its URL",
        "no",
    ),
    Case(
        "found",
        plain("302 Found", b"", None, Location="/elsewhere"),
        LOST,
        "302 redirects to /elsewhere; only 307 and 308",
        "its URL",
        "no",
    ),
    Case("away", plain("307 Temporary", b"", None, Location="http://other.invalid/"), LOST, "other.invalid/; only", "its URL", "no"),
    Case("to-ftp", plain("308 Permanent", b"", None, Location="ftp://127.0.0.1/"), LOST, "redirects to ftp", "its URL", "no"),
    Case("nowhere", plain("307 Temporary"), LOST, "redirects to nowhere", "its URL", "no"),
    Case("foreign-id", foreign, LOST, "without an answer to this request: {.*not yours", AT_FAULT),
    Case("foreign-event", foreign_event, LOST, "ended without an answer", AT_FAULT),
    Case("no-event", stream(), LOST, "ended without an answer", AT_FAULT),
    Case("cut-event", stream(b'data: {"jsonrpc":"2.0","id":1,"resu'), LOST, "ended without an answer", AT_FAULT),
    Case("cut-stream", stream(b'data: {"jsonrpc":"2.0",', end=False), LOST, "broke off", AT_FAULT),
    Case("half-json", plain("200 OK", b'{"jsonrpc":"2.0","id":1,"result":{"conte', JSON), CallFailed, "answer", ""),
    Case("brotli", plain("200 OK", b"\x0b\x00\x80", JSON, Content_Encoding="br"), LOST, "as br", "compression"),
    Case(
        "compress",
        plain("200 OK", b"\x1f\x9d", JSON, Content_Encoding="compress"),
        LOST,
        "as compress",
        "compression",
    ),
    Case("lie", plain("200 OK", b'{"a":1}', JSON, Content_Encoding="gzip"), LOST, "decoded as gzip", "compression"),
    Case(
        "lie-in-events",
        raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\ndata: {}\n\n"),
        LOST,
        "decoded as gzip",
        "compression",
    ),
    Case("shorter", raw(OK + b'Content-Length: 2\r\n\r\n{"jsonrpc":"2.0"'), LOST, UNREADABLE, AT_FAULT),
    Case("header-flood", raw(OK + b"X: y\r\n" * 5000 + b"\r\n"), LOST, UNREADABLE, AT_FAULT),
    Case("longer", raw(OK + b'Content-Length: 500\r\n\r\n{"jsonrpc":"2.0"'), LOST, "broke off", AT_FAULT),
    Case("not-a-length", raw(OK + b"Content-Length: ten\r\n\r\n{}"), LOST, UNREADABLE, AT_FAULT),
    Case("two-lengths", raw(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), LOST, UNREADABLE, AT_FAULT),
    Case(
        "bad-chunk",
        raw(OK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n"),
        LOST,
        "broke off|can be read",
        AT_FAULT,
    ),
    Case("cut-chunk", raw(OK + b'Transfer-Encoding: chunked\r\n\r\nff\r\n{"a"'), LOST, "broke off", AT_FAULT),
    Case("no-http", raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), LOST, UNREADABLE, AT_FAULT),
    Case("long-header", raw(OK + b"X: " + b"a" * 100_000 + b"\r\n\r\n"), LOST, UNREADABLE, AT_FAULT),
    Case("hang-up", raw(b""), LOST, "closed the connection without an answer", "log says more"),
)


async def fails(era: str, answer: Answer, **options: Any) -> DragomanError:
    """The error of a call that is answered so; the calls beside it and after it are answered well."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("params", {}).get("name") != "odd":
            return False
        made: Awaitable[None] | None = answer(exchange, message["id"])
        if made is not None:
            await made
        return True

    async with serving(era, odd) as server, client(server.url, **options) as mine:
        beside = asyncio.create_task(mine.call_tool("echo", {"text": "beside"}))
        with pytest.raises(DragomanError) as caught:
            await mine.call_tool("odd", {})
        assert (await beside).text == "beside"
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"
        assert server.count("POST tools/call") == 3  # nothing was sent twice
        assert str(caught.value.server) == server.url
        assert str(caught.value).count(server.url) == 1  # named, and once
    return caught.value


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_bad_answer_has_a_name_and_says_what_to_do(era: str, case: Case) -> None:
    """RFC 9110 and 9112; our choice of words."""
    error = await fails(era, case.answer)
    assert isinstance(error, case.error), repr(error)
    assert re.search(case.says, str(error), re.DOTALL), str(error)
    assert case.hint in (error.hint or ""), error.hint
    assert error.maybe_ran in (case.maybe_ran, "yes" if isinstance(error, MalformedResponse) else "")
    assert len(str(error)) < 700
    assert "\n" not in str(error)


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("part", ["status", "headers", "body", "events"])
async def test_answer_that_trickles_in_ends_at_the_deadline_of_its_call(era: str, part: str) -> None:
    """Our choice: a byte now and then is no silence, and no answer either."""
    heads = {
        "status": b"HTTP/1.1 200 OK",
        "headers": OK + b"X-Slow: aaaaaaaaaaaaaaaaaaaaaaaaa",
        "body": OK + b"Content-Length: 10000\r\n\r\n{",
        "events": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: a",
    }

    async def trickle(exchange: Exchange, _: int) -> None:
        exchange.send(heads[part][:-5])
        for byte in heads[part][-5:] + b"a" * 1000:
            exchange.send(bytes([byte]))
            await asyncio.sleep(0.02)

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("params", {}).get("name") != "odd":
            return False
        seen.append(exchange)
        await trickle(exchange, message["id"])
        return True

    seen: list[Exchange] = []
    async with serving(era, odd) as server, client(server.url, idle_s=5.0) as mine:
        with pytest.raises(CallTimeout, match=r"within 0\.2 s"):
            await mine.call_tool("odd", {}, timeout_s=0.2)
        async with asyncio.timeout(10):
            await seen[0].gone.wait()  # and its connection is not kept
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"


GOOD: dict[str, Callable[[Exchange, bytes], None]] = {
    "no-type": lambda exchange, message: exchange.reply("200 OK", message),
    "other-type": lambda exchange, message: exchange.reply("200 OK", message, "text/plain; charset=utf-8"),
    "upper-case-type": lambda exchange, message: exchange.reply("200 OK", message, "Application/JSON;charset=UTF-8"),
    "bom": lambda exchange, message: exchange.reply("200 OK", b"\xef\xbb\xbf" + message, JSON),
    "blanks": lambda exchange, message: exchange.reply("200 OK", b"\r\n  " + message + b"\r\n", JSON),
    "array": lambda exchange, message: exchange.reply("200 OK", b"[" + message + b"]", JSON),
    "gzip": lambda exchange, message: exchange.reply("200 OK", gzip.compress(message), JSON, Content_Encoding="gzip"),
    "gzip-in-capitals": lambda exchange, message: exchange.reply("200 OK", gzip.compress(message), JSON, Content_Encoding="GZIP"),
    "identity": lambda exchange, message: exchange.reply("200 OK", message, JSON, Content_Encoding="identity"),
    "status-201": lambda exchange, message: exchange.reply("201 Created", message, JSON),
    "events": lambda exchange, message: in_events(exchange, b"data: " + message + b"\n\n"),
    "events-bom": lambda exchange, message: in_events(exchange, b"\xef\xbb\xbfdata:" + message + b"\n\n"),
    "events-cr": lambda exchange, message: in_events(exchange, b"event: message\rdata: " + message + b"\r\r"),
    "events-crlf": lambda exchange, message: in_events(exchange, b": hi\r\n\r\ndata: " + message + b"\r\n\r\n"),
    "events-byte-by-byte": lambda exchange, message: in_events(exchange, *(bytes([byte]) for byte in b"data: " + message + b"\n\n")),
    "events-array": lambda exchange, message: in_events(exchange, b"data: [" + message + b"]\n\n"),
    "events-after-a-broken-one": lambda exchange, message: in_events(exchange, b"data: {not json\n\ndata: " + message + b"\n\n"),
    "events-unended": lambda exchange, message: in_events(exchange, b"data: " + message + b"\n\n: and then", end=False),
    "headers-many": lambda exchange, message: exchange.send(
        OK + b"".join(b"X-%d: y\r\n" % number for number in range(100)) + b"Content-Length: %d\r\n\r\n" % len(message) + message
    ),
}


def in_events(exchange: Exchange, *chunks: bytes, end: bool = True) -> None:
    exchange.start_events()
    for chunk in chunks:
        exchange.chunk(chunk)
    exchange.finish() if end else exchange.drop()


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("how", GOOD)
async def test_answer_that_can_be_read_is_read(era: str, how: str) -> None:
    """Our choice: lenient in; the text has what breaks careless readers: a line separator of Unicode, and characters of several bytes."""
    text = "a\u2028b\u0085c é 🐙 \u2029"
    body = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' + text + '"}]}}'

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("params", {}).get("name") != "odd":
            return False
        GOOD[how](exchange, (body % message["id"]).encode())
        return True

    async with serving(era, odd) as server, client(server.url) as mine:
        assert (await mine.call_tool("odd", {})).text == text
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_redirect_within_the_origin_is_followed_with_method_and_body(era: str, status: str) -> None:
    """RFC 9110 15.4.8 and 15.4.9; a loop of them ends."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        name = message.get("params", {}).get("name")
        path = exchange.line.split()[1]
        if name == "loop" or (name == "odd" and path == "/mcp"):
            exchange.reply(status, b"", None, Location="/mcp/")
            return True
        return False

    async with serving(era, odd) as server, client(server.url) as mine:
        assert (await mine.call_tool("odd", {"text": "there"})).text == "there"
        assert [exchange.line for exchange in server.server.requests][-2:] == ["POST /mcp HTTP/1.1", "POST /mcp/ HTTP/1.1"]
        with pytest.raises(ConnectionLost, match="more than 3 redirects") as caught:
            await mine.call_tool("loop", {})
        assert caught.value.maybe_ran == "no"


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("events", [True, False])
async def test_answer_over_the_limit_is_stopped_there_and_says_what_to_raise(era: str, events: bool) -> None:
    """Our choice: a bomb of 40 MB in 40 KB is read no further than the limit."""
    bomb = gzip.compress(b"data: " + b"a" * 40_000_000 if events else b'{"x":"' + b"a" * 40_000_000)
    kind = "text/event-stream" if events else JSON
    error = await fails(era, plain("200 OK", bomb, kind, Content_Encoding="gzip"), frame_limit=1_000_000)
    if events:  # it has no end, so that nothing says which request it answers
        assert isinstance(error, ConnectionLost)
    else:
        assert isinstance(error, ResultTooLarge)
        assert "frame_limit" in str(error.hint)


def test_errors_are_those_that_the_package_names() -> None:
    """Our contract: nothing of the HTTP library comes out."""
    assert all(getattr(dragoman, case.error.__name__) is case.error for case in CASES)
