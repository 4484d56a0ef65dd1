"""A server on a port: which hosts are connected to, and every refusal named. What holds for every stream of lines is in test_unix.py."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

import pytest

import dragoman
from dragoman.errors import ConfigError, ConnectFailed, LocalProtocolError
from dragoman.runtime.eras import RememberedEras
from dragoman.testing.transports import Reports, request, respond
from dragoman.transports.base import Closed
from dragoman.transports.tcp import TcpTransport
from dragoman.wire.tcp import TcpAddress
from tests.transports.unix_peer import listening_on_a_port

WAIT_S = 10.0


async def refusal(address: TcpAddress, **options: Any) -> ConnectFailed:
    transport = TcpTransport(address, **options)
    with pytest.raises(ConnectFailed) as caught:
        await transport.open(Reports())
    await transport.close()
    return caught.value


def names(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name lead to these."""

    async def found(self: object, host: str, port: int, **_: Any) -> list[Any]:
        families = [socket.AF_INET6 if ":" in one else socket.AF_INET for one in addresses]
        return [(family, socket.SOCK_STREAM, 6, "", (one, port)) for family, one in zip(families, addresses, strict=True)]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", found)


async def test_port_where_nobody_listens_is_named() -> None:
    """Our choice: the address, the reason, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets it meanwhile
        port = taken.getsockname()[1]
        failed = await refusal(TcpAddress("127.0.0.1", port))
    assert failed.message == f"cannot connect to tcp://127.0.0.1:{port}: nobody listens there"
    assert failed.hint == "is the server running, and is the port right?"


async def test_name_that_nobody_knows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name server is not asked here."""

    async def unknown(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", unknown)
    failed = await refusal(TcpAddress("nowhere.localhost", 7000))
    assert failed.message == "cannot find the host of tcp://nowhere.localhost:7000: Name or service not known"


async def test_connection_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A firewall that drops packets says nothing."""

    async def never(*_: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", never)
    failed = await refusal(TcpAddress("127.0.0.1", 7000), connect_s=0.05)
    assert failed.message == "cannot connect to tcp://127.0.0.1:7000: no connection within 0.05 s"


async def test_name_that_leads_off_this_machine_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: what is looked at is the address, not the name that was written."""
    tried: list[object] = []

    async def connect(_: object, __: object, place: object) -> None:
        tried.append(place)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", connect)
    names(monkeypatch, "203.0.113.7")
    failed = await refusal(TcpAddress("localhost", 7000))
    assert (
        failed.message
        == "tcp://localhost:7000 is at 203.0.113.7, not on this machine, and plain TCP is neither encrypted nor authenticated"
    )
    assert "tcp+unencrypted://localhost:7000" in (failed.hint or "")
    assert tried == []


async def test_next_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """`localhost` is often ::1 first, where most servers do not listen."""
    async with listening_on_a_port(respond) as port:
        names(monkeypatch, "127.0.0.2", "127.0.0.1")
        transport, reports = TcpTransport(TcpAddress("localhost", port)), Reports()
        await transport.open(reports)
        await transport.perform(request(1, "echo"))
        await reports.until(lambda: reports.answers() == [1], "an answer")
        await transport.close()
        assert reports.all[-1] == Closed("closed by us")


async def test_address_elsewhere_is_connected_to_when_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """`tcp+unencrypted://` is the word for it."""
    tried: list[object] = []

    async def refuse(_: object, __: object, place: object) -> None:
        tried.append(place)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", refuse)
    names(monkeypatch, "203.0.113.7", "2001:db8::7")
    await refusal(TcpAddress("far.example", 7000, elsewhere=True))
    assert tried == [("203.0.113.7", 7000), ("2001:db8::7", 7000)]


async def test_nothing_is_left_of_a_connection_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor."""
    before = set(os.listdir("/proc/self/fd"))
    started = asyncio.Event()

    async def never(*_: Any) -> None:
        started.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_connect", never)
    opening = asyncio.create_task(TcpTransport(TcpAddress("127.0.0.1", 7000)).open(Reports()))
    async with asyncio.timeout(WAIT_S):
        await started.wait()
    opening.cancel()
    await asyncio.wait([opening])
    assert set(os.listdir("/proc/self/fd")) <= before


# --- as a target ------------------------------------------------------------------------------------------------------


async def test_client_takes_a_port_and_finds_the_era() -> None:
    """The same as any other target."""

    def server(line: bytes) -> list[bytes]:
        message = json.loads(line)
        if "id" not in message:
            return []
        info = {"name": "port", "version": "1"}
        reply: dict[str, Any] = {"error": {"code": -32601, "message": "no"}}
        if message["method"] == "initialize":
            reply = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif message["method"] == "tools/call":
            reply = {"result": {"content": [{"type": "text", "text": "hello"}]}}
        return [json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}).encode()]

    async with listening_on_a_port(server) as port:
        for url in (f"tcp://localhost:{port}", f"tcp+unencrypted://127.0.0.1:{port}"):
            async with dragoman.Client(url, eras=RememberedEras()) as client:
                assert (client.label, client.server.revision) == (url, "2025-11-25")
                assert (await client.call_tool("greet")).text == "hello"


def test_other_machines_and_headers_are_refused_before_anything_is_opened() -> None:
    """Plain TCP carries no headers, so a credential would silently not be sent."""
    with pytest.raises(ConfigError, match="not on this machine"):
        dragoman.Client("tcp://10.0.0.7:7000")
    with pytest.raises(LocalProtocolError, match="they belong to HTTP"):
        dragoman.Client("tcp://localhost:7000", headers={"Authorization": "Bearer t"})
