"""A Unix domain socket: connecting with every refusal named, lines both ways, the end. What holds for all is in test_contract.py."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.errors import ConfigError, ConnectFailed, ConnectionLost, LocalProtocolError
from dragoman.protocol.actions import Send
from dragoman.runtime.eras import RememberedEras
from dragoman.testing.transports import Reports, request, respond
from dragoman.transports.base import Closed
from dragoman.transports.unix import UnixTransport, socket_path
from tests.transports.unix_peer import listening

WAIT_S = 10.0


class Listener:
    """A listening socket whose other end the test drives itself."""

    def __init__(self, path: Path, queue: int = 8) -> None:
        self.path = str(path)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.path)
        self.socket.listen(queue)
        self.socket.setblocking(False)
        self.accepted: list[socket.socket] = []

    async def accept(self) -> socket.socket:
        async with asyncio.timeout(WAIT_S):
            found, _ = await asyncio.get_running_loop().sock_accept(self.socket)
        self.accepted.append(found)
        return found

    def close(self) -> None:
        for one in (self.socket, *self.accepted):
            one.close()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    made = Listener(tmp_path / "s.sock")
    yield made
    made.close()


async def pair(listener: Listener, **options: Any) -> tuple[UnixTransport, Reports, socket.socket]:
    transport, reports = UnixTransport(listener.path, **options), Reports()
    await transport.open(reports)
    return transport, reports, await listener.accept()


# --- connecting -------------------------------------------------------------------------------------------------------


async def refusal(path: Path | str, **options: Any) -> ConnectFailed:
    transport = UnixTransport(path, **options)
    with pytest.raises(ConnectFailed) as caught:
        await transport.open(Reports())
    await transport.close()
    return caught.value


async def test_missing_socket_is_named(tmp_path: Path) -> None:
    """Our choice: the path and what to do."""
    failed = await refusal(tmp_path / "none.sock")
    assert failed.message == f"cannot connect to unix://{tmp_path}/none.sock: there is no such socket"
    assert failed.hint == "start the server, or check the path"


async def test_socket_of_a_server_that_has_ended_is_told_from_a_missing_one(listener: Listener) -> None:
    """The file outlives its server."""
    listener.close()
    failed = await refusal(listener.path)
    assert "nobody listens on it" in failed.message
    assert failed.hint == "the server has ended; start it again"


async def test_file_that_is_no_socket_is_told(tmp_path: Path) -> None:
    """The system says "connection refused" here too, which leads astray."""
    (tmp_path / "file").write_text("")
    assert "it is no socket" in (await refusal(tmp_path / "file")).message


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
async def test_permission_is_named(code: int, listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real refusal is shown below where the test may show it; root is never refused."""

    def refuse(self: socket.socket, address: str) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket.socket, "connect", refuse)
    failed = await refusal(listener.path)
    assert "permission denied" in failed.message
    assert "the right to write to the socket" in (failed.hint or "")


def test_permission_is_named_for_real(listener: Listener) -> None:
    """As an ordinary user, which root becomes in a child for this."""
    os.chmod(listener.path, 0)
    code = (
        "import asyncio, os, sys; from dragoman.transports.unix import UnixTransport\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "async def main():\n"
        "    try: await UnixTransport(sys.argv[1]).open(print)\n"
        "    except Exception as exc: print(exc.message)\n"
        "asyncio.run(main())"
    )
    done = subprocess.run([sys.executable, "-c", code, listener.path], capture_output=True, text=True, timeout=30, check=False)
    assert "permission denied" in done.stdout, done.stderr


async def test_path_that_no_system_takes_is_named(tmp_path: Path) -> None:
    """`sun_path` holds 108 bytes."""
    failed = await refusal(tmp_path / ("x" * 200))
    assert "too long" in failed.message
    assert f"{len(os.fsencode(tmp_path)) + 201} bytes" in failed.message


async def test_connecting_to_a_server_that_accepts_nobody_ends(tmp_path: Path) -> None:
    """A full queue refuses at once and tells nobody when it no longer is full."""
    full = Listener(tmp_path / "full.sock", queue=0)
    fillers = [socket.socket(socket.AF_UNIX) for _ in range(8)]
    try:
        for filler in fillers:
            filler.setblocking(False)
            try:
                filler.connect(full.path)
            except BlockingIOError:
                break
        else:
            pytest.fail("the queue did not fill")
        assert "did not accept a connection within 0.1 s" in (await refusal(full.path, connect_s=0.1)).message
        waiting = UnixTransport(full.path)
        opening = asyncio.create_task(waiting.open(Reports()))
        await asyncio.sleep(0)
        await full.accept()
        async with asyncio.timeout(WAIT_S):
            await opening
        await waiting.close()
    finally:
        for filler in fillers:
            filler.close()
        full.close()


async def test_opening_twice_and_sending_before_opening_are_refused(listener: Listener) -> None:
    """Bugs of the caller, before anything leaves."""
    unopened = UnixTransport(listener.path)
    with pytest.raises(LocalProtocolError, match="not open yet"):
        await unopened.perform(Send(b"{}"))
    transport, _, _ = await pair(listener)
    with pytest.raises(LocalProtocolError, match="opened before"):
        await transport.open(Reports())
    await transport.close()


async def test_closing_while_connecting_opens_nothing(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any task may close at any time."""
    gate = asyncio.Event()
    connect = UnixTransport._connect

    async def slowly(self: UnixTransport) -> socket.socket:
        found = await connect(self)
        await gate.wait()
        return found

    monkeypatch.setattr(UnixTransport, "_connect", slowly)
    transport, reports = UnixTransport(listener.path), Reports()
    opening = asyncio.create_task(transport.open(reports))
    await listener.accept()
    await transport.close()
    gate.set()
    with pytest.raises(ConnectFailed, match="closed while it was opened"):
        await opening
    assert reports.all == []


# --- lines ------------------------------------------------------------------------------------------------------------


async def test_line_in_pieces_and_lines_in_one_piece_arrive_whole(listener: Listener) -> None:
    """Newlines alone frame; a CR before one is no part of the message."""
    transport, reports, peer = await pair(listener)
    loop = asyncio.get_running_loop()
    for piece in (b'{"id"', b':1}\r\n{"id":2}\n\n{"i', b'd":3}\n'):
        await loop.sock_sendall(peer, piece)
        await asyncio.sleep(0)
    await reports.until(lambda: reports.answers() == [1, 2, 3], "three messages")
    await transport.close()


async def test_sender_waits_while_the_peer_does_not_read_and_goes_on_when_it_does(listener: Listener) -> None:
    """Backpressure: memory stays bounded, nothing is lost."""
    transport, _, peer = await pair(listener)
    text = b'"' + b"x" * 200_000 + b'"'
    sent = 0

    async def send() -> None:
        nonlocal sent
        for _ in range(40):
            await transport.perform(Send(text))
            sent += 1

    sender = asyncio.create_task(send())
    for _ in range(200):
        await asyncio.sleep(0)
    assert not sender.done()
    assert sent < 20
    got = 0
    async with asyncio.timeout(WAIT_S):
        while got < 40 * (len(text) + 1):
            got += len(await asyncio.get_running_loop().sock_recv(peer, 1 << 20))
    await sender
    await transport.close()


async def test_what_is_queued_is_handed_over_before_hanging_up(listener: Listener) -> None:
    """A cancellation that is sent last must not be lost."""
    transport, reports, peer = await pair(listener)
    for number in range(3):
        await transport.perform(request(number, "echo", text="x" * 80_000))
    closing = asyncio.create_task(transport.close())
    got = b""
    async with asyncio.timeout(WAIT_S):
        while piece := await asyncio.get_running_loop().sock_recv(peer, 1 << 20):
            got += piece
    await closing
    assert [json.loads(line)["id"] for line in got.splitlines()] == [0, 1, 2]
    assert reports.all == [Closed("closed by us")]


async def test_closing_does_not_wait_for_a_peer_that_does_not_read(listener: Listener) -> None:
    """Bounded, whatever the peer does."""
    transport, reports, _ = await pair(listener, flush_s=0.05)
    sender = asyncio.create_task(transport.perform(Send(b"x" * (8 << 20))))
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_S):
        await transport.close()
        await sender
    assert reports.all == [Closed("closed by us")]


# --- the end ----------------------------------------------------------------------------------------------------------


async def test_last_words_are_heard_before_the_end(listener: Listener) -> None:
    """Even without a newline after them."""
    transport, reports, peer = await pair(listener)
    peer.sendall(b'{"id":1}\n{"id":2}')
    peer.close()
    await reports.until(reports.closed, "Closed")
    assert reports.answers() == [1, 2]
    assert reports.all[-1] == Closed("hung up")
    await transport.close()


async def test_what_the_peer_said_before_it_refused_our_message_is_heard(listener: Listener) -> None:
    """The write breaks first; the answer is in the socket already."""
    transport, reports, peer = await pair(listener)
    peer.sendall(b'{"id":1}\n')
    peer.close()
    await transport.perform(request(2, "echo"))
    await transport.perform(request(3, "echo"))
    await reports.until(reports.closed, "Closed")
    assert reports.answers() == [1]
    await transport.close()


async def test_peer_that_reads_no_more_is_an_end(listener: Listener) -> None:
    """It shut its reading half and keeps the other open: no request of ours could be answered."""
    transport, reports, peer = await pair(listener)
    peer.shutdown(socket.SHUT_RD)
    await transport.perform(request(1, "echo"))
    await reports.until(reports.closed, "Closed")
    assert reports.all == [Closed("closed its input")]
    await transport.close()


# --- as a target ------------------------------------------------------------------------------------------------------


def test_url_names_the_socket_by_an_absolute_path() -> None:
    """RFC 3986: three slashes, percent-encoding."""
    assert socket_path("unix:///run/a%20b%3Fc.sock") == "/run/a b?c.sock"
    for wrong in ("unix://run/x", "unix://", "unix://host/run/x", "unix:///x%00y"):
        with pytest.raises(ConfigError, match="no socket by an absolute path"):
            socket_path(wrong)
    for wrong in ("unix:///x?y", "unix:///x#y"):
        with pytest.raises(ConfigError, match="query or a fragment"):
            socket_path(wrong)


async def test_headers_make_no_sense_on_a_socket() -> None:
    """Our choice: a credential that would silently not be sent is refused."""
    with pytest.raises(LocalProtocolError, match="they belong to HTTP"):
        dragoman.Client("unix:///run/x.sock", headers={"Authorization": "Bearer t"})


async def test_client_takes_a_socket_url_and_connects_again_after_the_end(tmp_path: Path) -> None:
    """The same as any other target: the era is found, calls work, a lost connection is told and reopened."""
    hang_up = False

    def server(line: bytes) -> list[bytes] | None:
        message = json.loads(line)
        if hang_up:
            return None
        if "id" not in message:
            return []
        head: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "initialize":
            info = {"name": "socket", "version": "1"}
            reply: dict[str, Any] = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif message["method"] == "tools/call":
            reply = {"result": {"content": [{"type": "text", "text": "hello"}]}}
        else:
            reply = {"error": {"code": -32601, "message": "no"}}
        return [json.dumps({**head, **reply}).encode()]

    async with listening(tmp_path, server) as path, dragoman.Client(f"unix://{path}", eras=RememberedEras()) as client:
        assert (client.label, client.server.revision) == (f"unix://{path}", "2025-11-25")
        assert (await client.call_tool("greet")).text == "hello"
        hang_up = True
        with pytest.raises(ConnectionLost, match="hung up"):
            await client.call_tool("greet")


async def test_nothing_is_left_of_a_closed_transport(tmp_path: Path) -> None:
    """No descriptor, no watcher on one."""
    before = set(os.listdir("/proc/self/fd"))
    async with listening(tmp_path, respond) as path:
        transport, reports = UnixTransport(path), Reports()
        await transport.open(reports)
        await transport.perform(request(1, "echo"))
        await reports.until(lambda: reports.answers() == [1], "an answer")
        await transport.close()
    for _ in range(5):
        await asyncio.sleep(0)
    assert set(os.listdir("/proc/self/fd")) <= before


async def test_server_that_hangs_up_on_the_probe_is_connected_again_straight_into_the_handshake(tmp_path: Path) -> None:
    """As on stdio: some old servers end when their first message is not initialize."""
    asked: list[str] = []

    def server(line: bytes) -> list[bytes] | None:
        message = json.loads(line)
        asked.append(message["method"])
        if message["method"] == "server/discover":
            return None
        if "id" not in message:
            return []
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        return [json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()]

    eras = RememberedEras()
    async with listening(tmp_path, server) as path:
        for _ in range(2):
            async with dragoman.Client(f"unix://{path}", eras=eras) as client:
                assert client.server.era == "legacy"
        assert asked.count("server/discover") == 1  # and the next time at once
        with pytest.raises(ConnectFailed, match="hung up"):
            await dragoman.Client(f"unix://{path}", eras=RememberedEras(), revision="2026-07-28").open()
        assert asked.count("server/discover") == 2


async def test_server_that_hangs_up_on_everything_is_tried_twice_and_no_more(tmp_path: Path) -> None:
    asked: list[bytes] = []
    async with listening(tmp_path, lambda line: asked.append(line)) as path:
        with pytest.raises(ConnectFailed, match="hung up"):
            await dragoman.Client(f"unix://{path}", eras=RememberedEras()).open()
    assert len(asked) == 2
