"""The HTTP session: what becomes of connections that fail, certificates, name servers, silence and redirects."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.transports.loopback import WAIT_S, Exchange, loopback, opened, request, result


async def echo(exchange: Exchange) -> None:
    exchange.reply_json(result(exchange.message["id"], got=exchange.message["params"]))


async def test_refused_connection_provably_sent_nothing() -> None:
    """Our choice: the reason names phase and peer, and the request may be sent again."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/mcp"
        async with opened(url) as (transport, recorder):
            await transport.perform(request(1))
            end = await recorder.ended(1)
            assert end.reason.startswith(f"cannot connect to {url}: ")
            assert "refused" in end.reason.lower()
            assert not end.sent


async def test_name_that_does_not_resolve_provably_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice, as above; the resolver is replaced, since tests use no network."""

    def unknown(*_args: Any, **_more: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with opened("http://nowhere.example/mcp") as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert end.reason == "cannot find the host of http://nowhere.example/mcp: Name or service not known"
        assert not end.sent


async def test_tls_that_fails_provably_sent_nothing() -> None:
    """Our choice, as above: the request is only written after the handshake."""

    served = asyncio.Event()

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        try:
            await writer.wait_closed()
        except ConnectionError:
            pass  # the client was faster
        served.set()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    async with server, opened(url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert end.reason.startswith(f"TLS with {url} failed: ")
        assert not end.sent
        async with asyncio.timeout(WAIT_S):
            await served.wait()


# Made for these tests alone: a key and a certificate for localhost that nobody trusts.
CERTIFICATE = Path(__file__).resolve().parent / "localhost.pem"


def server_tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


async def test_certificate_that_the_system_does_not_trust_is_refused_before_anything_is_sent() -> None:
    """Our choice: the system's certificates decide; the reason says what is wrong with this one."""
    async with loopback(echo, server_tls()) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert end.reason.startswith(f"TLS with {server.url} failed: ")
        assert "certificate" in end.reason
        assert not end.sent
        assert server.requests == []


async def test_certificate_that_is_handed_in_is_trusted() -> None:
    """Our choice: a private authority can be trusted for one server."""
    trust = ssl.create_default_context(cafile=CERTIFICATE)
    async with loopback(echo, server_tls()) as server, opened(server.url, trust=trust) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        assert len(recorder.messages(1)) == 1


async def test_name_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: finding the host has the limit of connecting; the system's own is half a minute."""
    release = threading.Event()

    def stuck(*_args: Any, **_more: Any) -> Any:
        release.wait(WAIT_S)
        raise socket.gaierror(socket.EAI_AGAIN, "later")

    monkeypatch.setattr(socket, "getaddrinfo", stuck)
    try:
        async with opened("http://slow.example/mcp", connect_s=0.1) as (transport, recorder):
            await transport.perform(request(1))
            end = await recorder.ended(1)
            assert end.reason == "cannot find the host of http://slow.example/mcp: the name server did not answer within 0.1 s"
            assert not end.sent
    finally:
        release.set()


async def test_server_that_falls_silent_is_given_up() -> None:
    """Our choice: the idle limit holds before the answer and between events."""

    async def handler(exchange: Exchange) -> None:
        if exchange.message["id"] == 2:
            exchange.start_events()
            exchange.chunk(b": here\n\n")

    async with loopback(handler) as server, opened(server.url, idle_s=0.1) as (transport, recorder):
        for number in (1, 2):
            await transport.perform(request(number))
            end = await recorder.ended(number)
            assert end.reason == f"{server.url} sent nothing for 0.1 s"
            assert end.sent


async def test_server_that_never_accepts_provably_got_nothing() -> None:
    """Our choice: connecting has a limit of its own. A full backlog is the one silent peer that loopback offers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        blockers = [socket.socket() for _ in range(4)]
        try:
            for blocker in blockers:
                blocker.setblocking(False)
                blocker.connect_ex(address)
            url = f"http://127.0.0.1:{address[1]}/mcp"
            async with opened(url, connect_s=0.2) as (transport, recorder):
                await transport.perform(request(1))
                end = await recorder.ended(1)
                assert end.reason == f"cannot connect to {url}: no connection within 0.2 s"
                assert not end.sent
        finally:
            for blocker in blockers:
                blocker.close()


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_redirect_within_the_origin_is_followed_with_body_and_headers(status: str) -> None:
    """Our choice: 307 and 308 keep the method; within the origin the user's credentials may go along."""

    async def handler(exchange: Exchange) -> None:
        if "/mcp " in exchange.line:
            exchange.reply(status, b"", None, Location="/mcp/")
        else:
            await echo(exchange)

    async with loopback(handler) as server, opened(server.url, headers={"Authorization": "Bearer x"}) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        assert [item.line for item in server.requests] == ["POST /mcp HTTP/1.1", "POST /mcp/ HTTP/1.1"]
        assert server.requests[1].body == server.requests[0].body
        assert server.requests[1].header("Authorization") == "Bearer x"
        assert len(recorder.messages(1)) == 1


@pytest.mark.parametrize(
    ("status", "location"),
    [
        ("307 Temporary Redirect", "http://localhost:1/mcp"),
        ("302 Found", "/mcp/"),
        ("308 Permanent Redirect", "mailto:a@b"),
        ("301 Moved", ""),
    ],
)
async def test_any_other_redirect_is_reported_and_not_followed(status: str, location: str) -> None:
    """Our choice: a request with credentials goes to no other origin, and a POST never becomes a GET."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(status, b"", None, Location=location)

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert end.reason.startswith(f"HTTP {status[:3]} redirects to {location}")
        assert len(server.requests) == 1


async def test_redirects_in_a_circle_end() -> None:
    """Our choice: three at most."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply("307 Again", b"", None, Location="/mcp")

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        end = await recorder.ended(1)
        assert "more than 3 redirects" in end.reason
        assert len(server.requests) == 4
