"""HTTP+SSE of 2024-11-05 against a server whose every byte is the test's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from dragoman.errors import AuthRequired, ConfigError, ConnectFailed
from dragoman.protocol.actions import Close, CloseStream, Listen, Send
from dragoman.transports.base import Closed, Received, StreamEnded
from dragoman.transports.sse_legacy import SseTransport
from tests.transports.loopback import WAIT_S, Exchange, Recorder, loopback, request, result

Streams = list[Exchange]


def server_of(
    endpoint: bytes = b"/messages?sid=42", *, posts: Callable[[Exchange, Exchange], Awaitable[None]] | None = None, first: bytes = b""
) -> tuple[Callable[[Exchange], Awaitable[None]], Streams]:
    """A handler: GET opens the stream and names the endpoint, POST answers 202 and puts an answer on the stream."""
    streams: Streams = []

    async def handler(exchange: Exchange) -> None:
        if exchange.line.startswith("GET"):
            streams.append(exchange)
            exchange.start_events()
            exchange.chunk(first + b"event: endpoint\ndata: " + endpoint + b"\n\n")
        elif posts is not None:
            await posts(exchange, streams[-1])
        else:
            exchange.reply("202 Accepted", b"Accepted", "text/plain")
            if "id" in exchange.message:
                streams[-1].event(result(exchange.message["id"]))

    return handler, streams


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[tuple[SseTransport, Recorder]]:
    transport, recorder = SseTransport(url, **options), Recorder()
    await transport.open(recorder)
    try:
        yield transport, recorder
    finally:
        await transport.close()
        assert len(recorder.closed()) == 1


def answers(recorder: Recorder) -> list[Any]:
    return [msgspec.json.decode(r.message) for r in recorder.reports if isinstance(r, Received)]


@pytest.mark.parametrize(
    "endpoint", [b"/messages?sid=42", b"messages?sid=42", b"http://127.0.0.1:PORT/messages?sid=42", b" /messages?sid=42 "]
)
async def test_messages_are_posted_where_the_first_event_says_and_answers_come_on_the_stream(endpoint: bytes) -> None:
    """MCP 2024-11-05 basic/transports#http-with-sse: a URI, resolved against that of the stream."""
    handlers: list[Callable[[Exchange], Awaitable[None]]] = []

    async def dispatch(exchange: Exchange) -> None:
        if not handlers:  # the port is known by now
            handlers.append(server_of(endpoint.replace(b"PORT", str(server.port).encode()), first=b": hello\n\nretry: 100\n\n")[0])
        await handlers[0](exchange)

    async with loopback(dispatch) as server, opened(server.url, headers={"X-Team": "blue"}) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.until(lambda: answers(recorder) == [result(1)])
        get, post = server.requests
        assert get.line == "GET /mcp HTTP/1.1"
        assert get.header("Accept") == "text/event-stream"
        assert post.line == "POST /messages?sid=42 HTTP/1.1"
        assert post.header("Content-Type") == "application/json"
        assert post.header("X-Team") == get.header("X-Team") == "blue"
        assert [r.via for r in recorder.reports if isinstance(r, Received)] == [None]


async def test_answer_may_come_before_its_post_is_acknowledged() -> None:
    """Seen in the wild."""
    go_on = asyncio.Event()

    async def posts(exchange: Exchange, stream: Exchange) -> None:
        stream.event(result(exchange.message["id"]))
        await go_on.wait()
        exchange.reply("202 Accepted")

    handler, _ = server_of(posts=posts)
    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.until(lambda: answers(recorder) == [result(1)])
        go_on.set()


async def test_nothing_overtakes_the_message_that_confirms_the_session() -> None:
    """MCP 2024-11-05 basic/lifecycle#initialization."""
    take = asyncio.Event()

    async def posts(exchange: Exchange, stream: Exchange) -> None:
        await take.wait()
        exchange.reply("202 Accepted")

    handler, _ = server_of(posts=posts)
    async with loopback(handler) as server, opened(server.url) as (transport, _recorder):
        notice = Send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', None, (), "confirms")
        performing = asyncio.create_task(transport.perform(notice))
        await asyncio.sleep(0.02)
        assert not performing.done()
        take.set()
        async with asyncio.timeout(WAIT_S):
            await performing


@pytest.mark.parametrize(
    "endpoint", [b"http://localhost:8080/messages", b"https://127.0.0.1/messages", b"//evil.invalid/m", b"http://u:p@127.0.0.1:PORT/m"]
)
async def test_endpoint_elsewhere_is_refused_by_name_and_nothing_is_posted_there(endpoint: bytes) -> None:
    """MCP 2024-11-05 basic/transports#http-with-sse and our choice: a credential never leaves its origin."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.chunk(b"event: endpoint\ndata: " + endpoint.replace(b"PORT", str(server.port).encode()) + b"\n\n")

    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url), Recorder()
        with pytest.raises(ConnectFailed, match="which is not within http:") as caught:
            await transport.open(recorder)
        await transport.close()
        assert caught.value.status is None
        assert "base URL" in str(caught.value.hint)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind", "body", "error", "words"),
    [
        ("404 Not Found", "text/plain", b"no", ConnectFailed, "HTTP 404 Not Found: no"),
        ("200 OK", "text/html", b"<p>hi", ConnectFailed, "answer is text/html, not JSON or an event stream: <p>hi"),
        ("401 Unauthorized", None, b"", AuthRequired, "HTTP 401 Unauthorized"),
    ],
)
async def test_answer_that_is_no_stream_of_events_has_a_status(
    status: str, kind: str | None, body: bytes, error: type[Exception], words: str
) -> None:
    """So that whoever tried several transports knows that this one is not spoken here."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(status, body, kind)

    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url), Recorder()
        with pytest.raises(error, match=words) as caught:
            await transport.open(recorder)
        await transport.close()
        if isinstance(caught.value, ConnectFailed):
            assert caught.value.status == int(status[:3])


async def test_stream_that_does_not_say_where_to_post_to_is_given_up() -> None:
    """Our choice: twice the time for connecting."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.event(result(1))

    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url, connect_s=0.03), Recorder()
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(ConnectFailed, match="did not say within"):
                await transport.open(recorder)
        await transport.close()


@pytest.mark.parametrize("cut", [True, False])
async def test_stream_that_ends_at_once_is_a_failed_connection(cut: bool) -> None:
    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.drop() if cut else exchange.finish()

    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url), Recorder()
        with pytest.raises(ConnectFailed, match="broke off" if cut else "before it said where to post to"):
            await transport.open(recorder)
        await transport.close()


async def test_nobody_there_is_a_failed_connection_without_a_status() -> None:
    transport, recorder = SseTransport("http://127.0.0.1:1/sse"), Recorder()
    with pytest.raises(ConnectFailed, match="cannot connect") as caught:
        await transport.open(recorder)
    assert caught.value.status is None
    await transport.close()


async def test_end_of_the_stream_is_the_end_of_the_connection() -> None:
    """MCP 2024-11-05 basic/transports#http-with-sse: there is nothing to resume."""
    handler, streams = server_of()
    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url), Recorder()
        await transport.open(recorder)
        streams[0].finish()
        await recorder.until(lambda: bool(recorder.closed()))
        assert recorder.closed()[0].reason == f"{server.url} ended the stream of events"
        await transport.perform(request(1))
        await transport.close()
        assert len(recorder.closed()) == 1
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("how", "status", "words"), [("400 Bad Request", 400, "HTTP 400 Bad Request: no"), ("drop", None, "without an answer")]
)
async def test_post_that_is_refused_ends_its_request_and_no_other(how: str, status: int | None, words: str) -> None:
    async def posts(exchange: Exchange, stream: Exchange) -> None:
        if exchange.message.get("id") == 2:
            exchange.reply("202 Accepted")
            stream.event(result(2))
        elif how == "drop":
            exchange.drop()
        else:
            exchange.reply(how, b"no", "text/plain")

    handler, _ = server_of(posts=posts)
    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(Send(b"{}"))  # a notice: nobody waits for it
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert (end.status, end.sent) == (status, True)
        assert words in end.reason
        await transport.perform(request(2))
        await recorder.until(lambda: answers(recorder) == [result(2)])
        assert len([r for r in recorder.reports if isinstance(r, StreamEnded)]) == 1


async def test_close_may_be_called_from_anywhere_and_again_and_ends_everything() -> None:
    handler, streams = server_of(posts=lambda exchange, stream: asyncio.Event().wait())  # type: ignore[arg-type, return-value]  # never answers
    async with loopback(handler) as server:
        transport, recorder = SseTransport(server.url), Recorder()
        await transport.close()  # before it was opened
        transport = SseTransport(server.url)
        await transport.open(recorder)
        await transport.perform(request(1))
        await transport.perform(CloseStream(1))  # means nothing here, like what belongs to newer transports
        await transport.perform(Listen())
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(transport.close(), asyncio.create_task(transport.perform(Close("done"))))
            await streams[0].gone.wait()
        assert [type(r) for r in recorder.reports] == [Closed]


def test_url_and_headers_are_checked_before_anything_is_opened() -> None:
    with pytest.raises(ConfigError):
        SseTransport("ftp://x")
    with pytest.raises(ConfigError):
        SseTransport("http://x", headers={"a": "b\nc"})
