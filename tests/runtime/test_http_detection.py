"""Which dialect a URL speaks, found out against servers of each: what is sent, what is remembered, and what it says if nothing fits."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dragoman.errors import AuthRequired, ConnectFailed, VersionMismatch
from dragoman.runtime.eras import RememberedEras
from dragoman.wire.revisions import LEGACY
from tests.runtime.fakes import Json, client, until
from tests.runtime.http_fakes import Dialect, Odd, serving
from tests.transports.loopback import Exchange, result

PROBE, INIT, INITIALIZED = "POST server/discover", "POST initialize", "POST notifications/initialized"


def probe_gets(status: str, body: bytes = b"", kind: str | None = None) -> Odd:
    """A server that answers the probe in this way."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "server/discover":
            return False
        exchange.reply(status, body.replace(b"ID", str(message["id"]).encode()), kind)
        return True

    return odd


def everything_gets(status: str, body: bytes = b"", kind: str | None = None, **headers: str) -> Odd:
    async def odd(_dialect: Dialect, exchange: Exchange, _message: Json) -> bool:
        exchange.reply(status, body, kind, **headers)
        return True

    return odd


async def test_modern_server_is_asked_once_and_neither_listened_to_nor_ended() -> None:
    """MCP 2026-07-28 streamable-http: POST only."""
    async with serving("modern") as server:
        async with client(server.url) as mine:
            assert (await mine.call_tool("echo", {"text": "hi"})).text == "hi"
            assert mine.server.era == "modern"
        assert server.asked == [PROBE, "POST tools/call"]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        ("200 OK", b'{"jsonrpc":"2.0","id":ID,"result":{}}', "application/json"),
        ("200 OK", b'{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"Method not found"}}', "application/json"),
        ("400 Bad Request", b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Server not initialized"}}', "application/json"),
        ("400 Bad Request", b"Unsupported protocol version (supported versions: 2025-06-18)", "text/plain"),
        ("400 Bad Request", b"", None),
        ("404 Not Found", b"", None),
        ("406 Not Acceptable", b"no", "text/plain"),
        ("500 Oops", b"TypeError", "text/html"),
        ("200 OK", b"welcome", "text/html"),
    ],
)
async def test_legacy_server_is_found_whatever_it_says_to_the_probe(status: str, body: bytes, kind: str | None) -> None:
    """MCP 2026-07-28 streamable-http#backward-compatibility; some are seen in the wild."""
    async with serving("legacy", probe_gets(status, body, kind)) as server:
        async with client(server.url) as mine:
            assert mine.server.revision == ("2025-06-18" if b"2025-06-18" in body else LEGACY[0])
            await mine.list_tools()
            await until(lambda: bool(server.listening))
            assert mine.violations == {}
        assert server.asked[:3] == [PROBE, INIT, INITIALIZED]  # nothing overtakes the third
        assert sorted(server.asked[3:]) == ["DELETE", "GET", "POST tools/list"]
        assert server.sessions == set()


async def test_old_transport_is_the_last_resort_and_says_how_to_leave_it(caplog: pytest.LogCaptureFixture) -> None:
    """MCP 2026-07-28 streamable-http#httpsse."""
    async with serving("sse") as server:
        async with client(server.url) as mine:
            assert (await mine.call_tool("echo", {"text": "hi"})).text == "hi"
        assert server.asked == [PROBE, INIT, "GET", INIT, INITIALIZED, "POST tools/call"]
    (warning,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "speaks only HTTP+SSE of 2024-11-05" in warning.getMessage()
    assert "Streamable HTTP" in warning.getMessage()


async def test_pinned_first_revision_is_the_old_transport_at_once() -> None:
    """Our choice: 2024-11-05 over a URL has one meaning."""
    async with serving("sse") as server, client(server.url, revision="2024-11-05") as mine:
        assert mine.server.revision == "2024-11-05"
        assert server.asked == ["GET", INIT, INITIALIZED]


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
async def test_pinned_revision_is_spoken_at_once_and_nothing_else_is_tried(revision: str) -> None:
    async with serving("legacy") as server, client(server.url, revision=revision) as mine:
        assert mine.server.revision == revision
        assert server.asked[:2] == [INIT, INITIALIZED]
    async with serving("sse") as old:
        with pytest.raises(ConnectFailed, match="HTTP 405"):
            await client(old.url, revision=revision).open()
        assert old.asked == [INIT]
    async with serving("modern") as new:
        with pytest.raises(VersionMismatch, match="2026-07-28"):
            await client(new.url, revision=revision).open()


async def test_pinned_modern_revision_against_a_legacy_server_says_what_it_answered() -> None:
    """MCP 2026-07-28 versioning#compatibility-matrix: an error to act on."""
    async with serving("legacy") as server:
        with pytest.raises(VersionMismatch, match=r"we asked for 2026-07-28, the only one.*Missing session ID"):
            await client(server.url, revision="2026-07-28").open()
        assert server.asked == [PROBE]


async def test_what_was_found_is_remembered_for_the_origin_and_found_anew_when_contradicted() -> None:
    """MCP 2026-07-28 basic/versioning#backward-compatibility: the era is cached per origin."""
    eras = RememberedEras()
    async with serving("legacy") as server:
        for _ in range(2):
            async with client(server.url, eras=eras):
                pass
        assert server.count(PROBE) == 1
        server.era = "modern"
        async with client(server.url, eras=eras) as mine:
            assert mine.server.era == "modern"
        server.era, server.asked = "sse", []
        async with client(server.url, eras=eras) as mine:
            assert mine.server.era == "legacy"
        server.era, server.asked = "legacy", []
        async with client(server.url, eras=eras):
            assert PROBE not in server.asked


@pytest.mark.parametrize(
    ("status", "headers", "error", "words"),
    [
        (
            "401 Unauthorized",
            {"WWW_Authenticate": 'Bearer realm="x"'},
            AuthRequired,
            'HTTP 401 Unauthorized (WWW-Authenticate: Bearer realm="x")',
        ),
        ("403 Forbidden", {"WWW_Authenticate": "Bearer"}, AuthRequired, "HTTP 403 Forbidden"),
        ("403 Forbidden", {}, ConnectFailed, "HTTP 403 Forbidden"),
        ("502 Bad Gateway", {}, ConnectFailed, "HTTP 502 Bad Gateway: down"),
        ("503 Service Unavailable", {"Retry_After": "30"}, ConnectFailed, "HTTP 503 Service Unavailable (Retry-After: 30): down"),
    ],
)
async def test_what_says_nothing_of_eras_ends_it_after_one_request(
    status: str, headers: dict[str, str], error: type[Exception], words: str
) -> None:
    """MCP 2026-07-28 versioning#compatibility-matrix; nothing is remembered either."""
    eras = RememberedEras()
    async with serving("legacy", everything_gets(status, b"down", "text/plain", **headers)) as server:
        with pytest.raises(error) as caught:
            await client(server.url, eras=eras).open()
        assert words in str(caught.value)
        assert getattr(caught.value, "server", None) == server.url
        assert server.asked == [PROBE]


async def test_nobody_there_is_said_at_once() -> None:
    with pytest.raises(ConnectFailed, match=r"cannot connect to http://127.0.0.1:1/mcp: Connection refused"):
        await client("http://127.0.0.1:1/mcp").open()


async def test_page_that_is_no_endpoint_is_named_with_status_kind_and_words() -> None:
    """Three requests, then the error of the last one that says something."""
    async with serving("legacy", everything_gets("200 OK", b"this is not json", "text/plain")) as server:
        with pytest.raises(ConnectFailed, match=r"this is no MCP endpoint: answer is text/plain.*this is not json"):
            await client(server.url).open()
        assert server.asked == [PROBE, INIT]
    async with serving("legacy", everything_gets("404 Not Found", b"nothing here", "text/plain")) as server:
        with pytest.raises(ConnectFailed, match="HTTP 404 Not Found: nothing here") as caught:
            await client(server.url).open()
        assert server.asked == [PROBE, INIT, "GET"]
        assert "HTTP+SSE of 2024-11-05 either" in str(caught.value.hint)


async def test_old_transport_that_points_elsewhere_is_what_the_error_is_about() -> None:
    """Seen in the wild: a wrong base URL made clients wait for ever."""

    async def odd(_dialect: Dialect, exchange: Exchange, _message: Json) -> bool:
        if not exchange.line.startswith("GET"):
            return False
        exchange.start_events()
        exchange.chunk(b"event: endpoint\ndata: http://localhost:8080/messages\n\n")
        return True

    async with serving("sse", odd) as server:
        with pytest.raises(ConnectFailed, match="wants messages posted to http://localhost:8080/messages"):
            await client(server.url).open()


async def test_batches_of_one_are_read_and_batches_of_more_in_bodies_and_events() -> None:
    """MCP 2025-03-26 basic#batching: receiving is mandatory."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
        batch: list[Any] = [note, result(message["id"], content=[{"type": "text", "text": "hi"}])]
        if message["params"]["name"] == "stream":
            exchange.start_events()
            exchange.event(batch)
            exchange.finish()
        else:
            exchange.reply_json(batch)
        return True

    notes: list[Any] = []
    async with serving("legacy", odd) as server, client(server.url, revision="2025-03-26", on_log=notes.append) as mine:
        assert (await mine.call_tool("body")).text == "hi"
        assert (await mine.call_tool("stream")).text == "hi"
        await until(lambda: len(notes) == 2)
        assert mine.violations == {}


async def test_server_asks_on_the_listening_stream_and_is_answered_in_a_post_of_the_session() -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server."""
    async with serving("legacy") as server, client(server.url, roots=["/srv"]) as mine:
        await until(lambda: bool(server.listening))
        server.listening[0].event({"jsonrpc": "2.0", "id": "ask-1", "method": "roots/list"})
        await until(lambda: server.count("POST answer") == 1)
        post = server.server.requests[-1]
        assert post.message["id"] == "ask-1"
        assert post.message["result"]["roots"][0]["uri"] == "file:///srv"
        assert post.header("mcp-session-id") in server.sessions
        assert post.header("mcp-protocol-version") == mine.server.revision
