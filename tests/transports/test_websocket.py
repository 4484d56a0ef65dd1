"""A WebSocket: asking for it with every refusal named, messages both ways, silence, every end. The rest is in test_contract.py."""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, web

import dragoman
from dragoman.errors import AuthRequired, ConfigError, ConnectFailed, LocalProtocolError, TransportError
from dragoman.protocol.actions import Send
from dragoman.runtime.eras import RememberedEras
from dragoman.testing.transports import Reports, request, respond
from dragoman.transports.base import Closed, Received
from dragoman.transports.websocket import WebSocketTransport
from tests.transports.loopback import Exchange, loopback
from tests.transports.ws_peer import answering, serving

WAIT_S = 10.0
CERTIFICATE = Path(__file__).parent / "localhost.pem"


async def refusal(url: str, **options: Any) -> TransportError:
    transport = WebSocketTransport(url, **options)
    with pytest.raises((ConnectFailed, AuthRequired)) as caught:
        await transport.open(Reports())
    await transport.close()
    return caught.value


async def answered(url: str, **options: Any) -> None:
    """One message each way."""
    transport, reports = WebSocketTransport(url, **options), Reports()
    await transport.open(reports)
    await transport.perform(request(1, "echo"))
    await reports.until(lambda: reports.answers() == [1], "an answer")
    await transport.close()
    assert reports.all[-1] == Closed("closed by us")


# --- asking for it ----------------------------------------------------------------------------------------------------


async def test_request_carries_the_headers_and_no_more() -> None:
    """RFC 6455, 4.1, and the subprotocol; credentials in the URL become a header and are in no message."""
    seen: list[web.Request] = []

    async def handler(asked: web.Request) -> web.StreamResponse:
        seen.append(asked)
        return await answering(respond)(asked)

    async with serving(handler) as url:
        secret = url.replace("ws://", "ws://ada:pa55@") + "?key=s3cret"
        transport = WebSocketTransport(secret, headers={"X-Tenant": "seven"})
        assert transport.label == url + "?…"
        await transport.open(Reports())
        await transport.close()
    headers = seen[0].headers
    assert (headers["Sec-WebSocket-Protocol"], headers["X-Tenant"], headers["Authorization"]) == ("mcp", "seven", "Basic YWRhOnBhNTU=")
    assert not {"Content-Type", "Sec-WebSocket-Extensions", "Origin", "Cookie"} & set(headers)
    assert seen[0].query_string == "key=s3cret"


@pytest.mark.parametrize(
    ("status", "said", "hint"),
    [
        (404, "refused to speak WebSocket: HTTP 404 Not Found: no such page", "http:// or https://"),
        (503, "refused to speak WebSocket: HTTP 503 Service Unavailable: no such page", None),
        (200, "refused to speak WebSocket: HTTP 200 OK: no such page", "http:// or https://"),
        (302, "redirects to /elsewhere (HTTP 302)", "use that address"),
    ],
)
async def test_answer_that_is_no_upgrade_is_told_with_its_status(status: int, said: str, hint: str | None) -> None:
    """RFC 6455, 4.1: any status but 101 is HTTP's."""

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text="no such page", headers={"Location": "/elsewhere"})

    async with serving(handler) as url:
        failed = await refusal(url)
    assert isinstance(failed, ConnectFailed)
    assert said in failed.message
    assert (failed.status, failed.body) == (status, "no such page")
    assert (hint is None and failed.hint is None) or (hint is not None and hint in (failed.hint or ""))


async def test_missing_credential_is_an_error_of_its_own() -> None:
    """As over HTTP: 401 with its challenge."""

    async def handler(_: web.Request) -> web.StreamResponse:
        return web.Response(status=401, headers={"WWW-Authenticate": "Bearer realm=x"})

    async with serving(handler) as url:
        failed = await refusal(url)
    assert isinstance(failed, AuthRequired)
    assert "WWW-Authenticate: Bearer realm=x" in failed.message


@pytest.mark.parametrize(
    ("protocols", "said"),
    [((), 'refused the subprotocol "mcp"'), (("chat",), 'refused the subprotocol "mcp"')],
)
@pytest.mark.filterwarnings("ignore:Client protocols")
async def test_server_without_the_subprotocol_is_named(protocols: tuple[str, ...], said: str) -> None:
    """RFC 6455, 4.2.2: a server that does not speak it leaves the header out. It is no MCP endpoint then."""
    async with serving(answering(respond, protocols)) as url:
        failed = await refusal(url)
    assert said in failed.message


def accepting(*lines: str) -> Any:
    """A server that answers every request with these lines."""

    async def handler(exchange: Exchange) -> None:
        exchange.send("\r\n".join(["HTTP/1.1 101 Switching Protocols", *lines, "", ""]).encode())

    return handler


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: AAAA", "Sec-WebSocket-Protocol: mcp"], "does not switch"),
        (["Upgrade: h2c", "Connection: Upgrade"], "does not switch"),
    ],
)
async def test_false_upgrade_is_not_believed(lines: list[str], said: str) -> None:
    """RFC 6455, 4.1: the key proves that it was read by who speaks WebSocket, not by a cache."""
    async with loopback(accepting(*lines)) as server:
        failed = await refusal(server.url.replace("http", "ws", 1))
    assert said in failed.message
    assert isinstance(failed, ConnectFailed)
    assert failed.status == 101


async def test_nobody_there_and_no_answer_are_told_apart() -> None:
    """The phase is named."""

    async def silent(_: Exchange) -> None:
        await asyncio.Event().wait()

    async with loopback(silent) as server:
        url = server.url.replace("http", "ws", 1)
        assert "did not answer within 0.1 s" in (await refusal(url, connect_s=0.1)).message
    failed = await refusal(url)
    assert "cannot connect to" in failed.message
    assert failed.hint == "is the server running, and is the port right?"


async def test_tls_is_checked() -> None:
    """`wss://` is encrypted, and the certificate has to be right."""
    server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_tls.load_cert_chain(CERTIFICATE)
    async with serving(answering(respond), server_tls) as url:
        url = url.replace("127.0.0.1", "localhost")
        await answered(url, trust=ssl.create_default_context(cafile=CERTIFICATE))
        assert "TLS with" in (await refusal(url)).message


async def test_proxy_that_tunnels_sees_no_header_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """As over HTTP: the proxy of the environment is used, and what is inside TLS is not told to it."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("403 Forbidden")

    async with loopback(handler) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://us:pw@127.0.0.1:{proxy.port}")
        failed = await refusal("wss://server.example/mcp", headers={"Authorization": "Bearer t0p"})
        (seen,) = proxy.requests
        assert seen.line == "CONNECT server.example:443 HTTP/1.1"
        assert seen.header("Proxy-Authorization") == "Basic dXM6cHc="
        assert "t0p" not in repr(seen.headers)
    assert failed.message == "the proxy does not connect to wss://server.example/mcp: HTTP 403 Forbidden"


@pytest.mark.parametrize("name", ["Sec-WebSocket-Protocol", "Upgrade", "sec-websocket-key"])
def test_headers_of_the_protocol_are_not_the_users(name: str) -> None:
    """They would break the request."""
    with pytest.raises(ConfigError, match="belongs to the protocol"):
        WebSocketTransport("ws://localhost/mcp", headers={name: "x"})


async def test_opening_twice_and_sending_before_opening_are_refused() -> None:
    """Bugs of the caller, before anything leaves."""
    async with serving(answering(respond)) as url:
        transport = WebSocketTransport(url)
        with pytest.raises(LocalProtocolError, match="not open yet"):
            await transport.perform(Send(b"{}"))
        await transport.open(Reports())
        with pytest.raises(LocalProtocolError, match="opened before"):
            await transport.open(Reports())
        await transport.close()


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_first_words_of_a_server_that_come_with_the_upgrade_are_heard() -> None:
    """They may be in the same packet."""

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(asked)
        await peer.send_str('{"method":"first"}')
        await peer.send_bytes(b'{"method":"second"}')
        await peer.receive()
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url), Reports()
        await transport.open(reports)
        await reports.until(lambda: len(reports.messages()) == 2, "two messages")
        assert [message["method"] for message in reports.messages()] == ["first", "second"]
        await transport.close()


async def test_ping_is_answered_and_silence_is_broken_by_one_of_ours() -> None:
    """RFC 6455, 5.5.2 and 5.5.3."""
    heard: asyncio.Queue[tuple[WSMsgType, bytes]] = asyncio.Queue()

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), autoping=False, compress=False)
        await peer.prepare(asked)
        await peer.ping(b"are you there")
        async for message in peer:
            heard.put_nowait((message.type, bytes(message.data)))
            if message.type is WSMsgType.PING:
                await peer.pong(message.data)
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url, idle_s=0.4), Reports()
        await transport.open(reports)
        async with asyncio.timeout(WAIT_S):
            assert await heard.get() == (WSMsgType.PONG, b"are you there")
            for _ in range(4):  # longer than may be silent: the answers count
                assert (await heard.get())[0] is WSMsgType.PING
        assert reports.all == []
        await transport.close()


async def test_server_that_answers_no_ping_is_given_up() -> None:
    """A connection whose other end is gone says nothing about it."""

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), autoping=False, compress=False)
        await peer.prepare(asked)
        async for _ in peer:
            pass
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url, idle_s=0.2), Reports()
        await transport.open(reports)
        await reports.until(reports.closed, "Closed")
        assert reports.all == [Closed("sent nothing for 0.2 s, not even the answer to a ping")]
        await transport.close()


async def test_sender_waits_while_the_server_does_not_read() -> None:
    """Backpressure: memory stays bounded; and closing does not wait for it."""
    gate = asyncio.Event()

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(asked)
        assert asked.transport is not None
        asked.transport.pause_reading()
        await gate.wait()
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url, flush_s=0.05), Reports()
        await transport.open(reports)

        async def send() -> None:
            for _ in range(200):
                await transport.perform(Send(b"x" * 200_000))

        sender = asyncio.create_task(send())
        for _ in range(300):
            await asyncio.sleep(0)
        assert not sender.done()
        async with asyncio.timeout(WAIT_S):
            await transport.close()
            await sender
        assert reports.all == [Closed("closed by us")]
        gate.set()


async def test_pings_of_a_server_that_reads_nothing_do_not_pile_up_as_answers() -> None:
    """Each would cost us a frame that nobody takes."""
    flooded, gate = asyncio.Event(), asyncio.Event()

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(asked)
        assert asked.transport is not None
        asked.transport.pause_reading()
        ping = b"\x89\x7d" + b"x" * 125
        for _ in range(200):
            asked.transport.write(ping * 500)
            await asyncio.sleep(0)
        await peer.send_str('{"method":"after"}')
        flooded.set()
        await gate.wait()
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url, flush_s=0.05), Reports()
        await transport.open(reports)
        assert transport._wire is not None
        queue = transport._wire._transport
        await reports.until(lambda: len(reports.messages()) == 1, "what came after 12 MB of pings")
        assert flooded.is_set()
        assert queue.get_write_buffer_size() < 1_000_000
        await transport.close()
        gate.set()


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text", "said"),
    [
        (1001, "going down", "closed with code 1001 (going away): going down"),
        (1008, "", "closed with code 1008 (policy violation)"),
        (4000, "\x1b[2Jbad", "closed with code 4000 (of its own): \\x1b[2Jbad"),
    ],
)
async def test_close_of_the_server_is_told_with_its_code(code: int, text: str, said: str) -> None:
    """RFC 6455, 7.4; what it says is escaped."""
    agreed: asyncio.Queue[int | None] = asyncio.Queue()

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(asked)
        await peer.send_str('{"id":1}')
        await peer.close(code=code, message=text.encode())
        agreed.put_nowait(peer.close_code)
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url), Reports()
        await transport.open(reports)
        await reports.until(reports.closed, "Closed")
        assert reports.all == [Received(bytearray(b'{"id":1}')), Closed(said)]
        async with asyncio.timeout(WAIT_S):
            assert await agreed.get() == code  # we answered with the same
        await transport.close()


async def test_connection_that_breaks_without_a_close_is_an_end() -> None:
    """1006 in the words of browsers."""

    async def handler(asked: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(asked)
        assert asked.transport is not None
        asked.transport.close()
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url), Reports()
        await transport.open(reports)
        await reports.until(reports.closed, "Closed")
        assert reports.all == [Closed("hung up without a word")]
        await transport.close()


async def test_closing_while_connecting_opens_nothing() -> None:
    """Any task may close at any time."""
    asked, gate = asyncio.Event(), asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        asked.set()
        await gate.wait()
        return await answering(respond)(request)

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url), Reports()
        opening = asyncio.create_task(transport.open(reports))
        async with asyncio.timeout(WAIT_S):
            await asked.wait()
            await transport.close()
            gate.set()
            with pytest.raises(ConnectFailed, match="closed while it was opened"):
                await opening
        assert reports.all == []


async def test_nothing_is_left_of_a_closed_transport() -> None:
    """No descriptor, no timer, no task."""
    async with serving(answering(respond)) as url:
        await answered(url)  # whatever is opened once
        before = set(os.listdir("/proc/self/fd"))
        for _ in range(3):
            await answered(url)
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) <= 3
    assert set(os.listdir("/proc/self/fd")) <= before


# --- as a target ------------------------------------------------------------------------------------------------------


async def test_client_takes_a_websocket_url_and_finds_the_era() -> None:
    """The same as any other target; headers go with it."""

    def server(message: bytes) -> list[bytes]:
        asked = json.loads(message)
        if "id" not in asked:
            return []
        info = {"name": "socket", "version": "1"}
        reply: dict[str, Any] = {"error": {"code": -32601, "message": "no"}}
        if asked["method"] == "initialize":
            reply = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif asked["method"] == "tools/call":
            reply = {"result": {"content": [{"type": "text", "text": "hello"}]}}
        return [json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}).encode()]

    async with (
        serving(answering(server)) as url,
        dragoman.Client(url, headers={"X-Tenant": "seven"}, eras=RememberedEras()) as client,
    ):
        assert (client.label, client.server.revision) == (url, "2025-11-25")
        assert (await client.call_tool("greet")).text == "hello"


def test_aiohttp_is_imported_when_one_is_opened() -> None:
    """It takes a third of a second, which other servers need not pay."""
    code = "import sys, dragoman.transports.websocket; sys.exit('aiohttp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=30, check=False).returncode == 0
