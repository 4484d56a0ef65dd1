"""What a broken server of 2024-11-05 answers to a POST, or puts on its stream: that call has an end with a name, others go on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from dragoman.errors import AuthRequired, ConnectionLost, DragomanError
from tests.runtime.fakes import Json, client
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange

HTML = b"<html>" + b"nginx " * 1000


def drop(exchange: Exchange) -> None:
    exchange.drop()


REFUSALS: dict[str, tuple[Callable[[Exchange], None], type[DragomanError], str, str, str]] = {
    "who": (
        lambda exchange: exchange.reply("401 Unauthorized", b"", None, WWW_Authenticate='Bearer realm="r"'),
        AuthRequired,
        'does not let us in: HTTP 401 .*realm="r"',
        "Authorization",
        "no",
    ),
    "page-502": (
        lambda exchange: exchange.reply("502 Bad Gateway", HTML, "text/html"),
        ConnectionLost,
        "HTTP 502 .*page, .nginx",
        "fault is",
        "perhaps",
    ),
    "too-many": (
        lambda exchange: exchange.reply("429 Too Many Requests", b"", None, Retry_After="7"),
        ConnectionLost,
        r"429 .*\(Retry-After: 7\)",
        "call again",
        "no",
    ),
    "moved": (lambda exchange: exchange.reply("302 Found", b"", None, Location="/x"), ConnectionLost, "only 307 and 308", "its URL", "no"),
    "hang-up": (drop, ConnectionLost, "closed the connection without an answer", "log says more", "perhaps"),
}


@pytest.mark.parametrize("how", REFUSALS)
async def test_post_that_is_not_taken_ends_its_call_and_says_what_to_do(how: str) -> None:
    """RFC 9110; our choice of words."""
    answer, kind, says, hint, maybe_ran = REFUSALS[how]

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("params", {}).get("name") != "odd":
            return False
        answer(exchange)
        return True

    async with serving("sse", odd) as server, client(server.url, revision="2024-11-05") as mine:
        with pytest.raises(DragomanError) as caught:
            await mine.call_tool("odd", {})
        assert isinstance(caught.value, kind)
        assert re.search(says, str(caught.value)), str(caught.value)
        assert hint in str(caught.value.hint)
        assert caught.value.maybe_ran == maybe_ran
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"


STREAMS: dict[str, Callable[[bytes], list[bytes]]] = {
    "lf": lambda message: [b"data: " + message + b"\n\n"],
    "cr": lambda message: [b"event: message\rdata:" + message + b"\r\r"],
    "byte-by-byte": lambda message: [bytes([byte]) for byte in b"data: " + message + b"\r\n\r\n"],
    "array": lambda message: [b"data: [" + message + b"]\n\n"],
    "after-a-broken-one": lambda message: [b"data: {not json\n\nevent: other\ndata: x\n\ndata: " + message + b"\n\n"],
    "id-as-text": lambda message: [b"data: " + re.sub(rb'"id":(\d+)', rb'"id":"\1"', message) + b"\n\n"],
}


@pytest.mark.parametrize("how", STREAMS)
async def test_event_that_can_be_read_is_read(how: str) -> None:
    """Our choice: lenient in, as with the newer transports."""
    text = "a\u2028b\u0085c é 🐙"
    body = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' + text + '"}]}}'

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("params", {}).get("name") != "odd":
            return False
        exchange.reply("202 Accepted")
        for chunk in STREAMS[how]((body % message["id"]).encode()):
            dialect.listening[-1].chunk(chunk)
        return True

    async with serving("sse", odd) as server, client(server.url, revision="2024-11-05") as mine:
        assert (await mine.call_tool("odd", {})).text == text
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"
