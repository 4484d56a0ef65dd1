"""Peers that write without end or never read: what is held for them is bounded, and others have their turn."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from dragoman.protocol.actions import Send
from dragoman.testing.transports import Reports
from dragoman.transports import stdio, websocket
from dragoman.transports.base import Received, Report
from dragoman.transports.stdio import StdioTransport
from dragoman.transports.unix import UnixTransport
from dragoman.transports.websocket import WebSocketTransport
from tests.runtime.fakes import until
from tests.transports.ws_peer import serving

MESSAGE = b"x" * 1_000_000


async def pair(folder: Path, name: str) -> tuple[UnixTransport, Reports, socket.socket]:
    """A transport, and the other end of it as a plain socket that nobody reads."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / name))
    listener.listen()
    listener.setblocking(False)
    transport, reports = UnixTransport(folder / name), Reports()
    opening = asyncio.create_task(transport.open(reports))
    peer, _ = await asyncio.get_running_loop().sock_accept(listener)
    await opening
    listener.close()
    return transport, reports, peer


async def test_peer_that_never_reads_has_one_long_message_waiting_for_it_and_no_more(tmp_path: Path) -> None:
    """A call that gave up waiting leaves nothing behind: callers came and went, and the memory was filled with what they had to say."""
    transport, _, peer = await pair(tmp_path, "s")
    for _ in range(20):
        caller = asyncio.create_task(transport.perform(Send(MESSAGE)))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.wait([caller])
    assert len(transport._backlog) <= len(MESSAGE) + 1
    peer.close()
    await transport.close()


async def test_those_who_wait_for_room_are_written_whole_and_in_order(tmp_path: Path) -> None:
    """Backpressure is no loss."""
    transport, _, peer = await pair(tmp_path, "s")
    sent = [bytes([65 + number]) * 300_000 for number in range(8)]
    tasks = [asyncio.create_task(transport.perform(Send(one))) for one in sent]
    loop, found = asyncio.get_running_loop(), b""
    peer.setblocking(False)
    async with asyncio.timeout(20):
        while len(found) < sum(map(len, sent)) + len(sent):
            found += await loop.sock_recv(peer, 1 << 20)
        await asyncio.gather(*tasks)
    assert found == b"".join(one + b"\n" for one in sent)
    peer.close()
    await transport.close()


async def test_answer_of_another_server_comes_within_a_few_turns_beside_a_flood(tmp_path: Path) -> None:
    """Our contract: a flood of notices never starves answers."""
    flooded, _, flooder = await pair(tmp_path, "flood")
    quiet, reports, peer = await pair(tmp_path, "quiet")
    flooder.setblocking(False)
    lines = b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n' * 20_000
    loop = asyncio.get_running_loop()
    pouring = asyncio.create_task(loop.sock_sendall(flooder, lines))
    turns = 0
    for _ in range(50):
        before = len(reports.all)
        peer.send(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
        here = 0
        while len(reports.all) == before:
            await asyncio.sleep(0)
            here += 1
            assert here < 10
        turns = max(turns, here)
    assert turns <= 3
    pouring.cancel()
    await asyncio.wait([pouring])
    for one in (flooder, peer):
        one.close()
    await flooded.close()
    await quiet.close()


FLOODS_STDERR = """
import os, sys, threading
def flood():
    while True:
        os.write(2, b"x" * 65_535 + b"\\n")
threading.Thread(target=flood, daemon=True).start()
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
os._exit(0)
"""


async def test_flood_on_stderr_is_taken_in_portions_and_answers_come_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: 4 MB a second; the server waits as at a slow terminal, and we do not spin."""
    monkeypatch.setattr(stdio, "_PAUSE_S", 3_600.0)
    taken: list[int] = []
    reports = Reports()
    program = [sys.executable, "-I", "-c", FLOODS_STDERR]
    transport = StdioTransport(program, env=dict(os.environ), stderr_sink=lambda data: taken.append(len(data)))
    await transport.open(reports)
    async with asyncio.timeout(20):
        await until(lambda: transport._stderr_room <= 0)
        for number in range(5):
            await transport.perform(Send(b"%d" % number))
            await reports.until(lambda number=number: len(reports.all) == number + 1, "an answer")  # type: ignore[misc]
    assert sum(taken) < 2 * stdio._FLOOD
    await transport.close()


async def test_stderr_is_read_on_after_a_pause() -> None:
    """Nothing is lost by it."""
    total = 5 * stdio._FLOOD
    taken: list[int] = []
    program = [sys.executable, "-I", "-c", f"import os\nfor _ in range({total} // 65_536): os.write(2, b'x' * 65_536)\ninput()"]
    transport = StdioTransport(program, env=dict(os.environ), stderr_sink=lambda data: taken.append(len(data)))
    await transport.open(Reports())
    async with asyncio.timeout(20):
        await until(lambda: sum(taken) >= total)
    await transport.close()


# --- WebSocket ----------------------------------------------------------------------------------------------------------


class Turns(Reports):
    def __init__(self) -> None:
        super().__init__()
        self.turn = 0
        self.each: dict[int, int] = {}
        self._count()

    def _count(self) -> None:
        self.turn += 1
        if not self.closed():
            asyncio.get_running_loop().call_soon(self._count)

    def __call__(self, report: Report) -> None:
        if isinstance(report, Received):
            self.each[self.turn] = self.each.get(self.turn, 0) + 1
        super().__call__(report)


async def test_flood_of_small_frames_is_taken_in_turns_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: about 128 frames a turn, or those of one piece; in order, and the last ones too."""
    monkeypatch.setattr(websocket, "_PIECE", 512)

    async def handler(request: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False)
        await peer.prepare(request)
        assert request.transport is not None
        request.transport.write(b"".join(b"\x81\x05%05d" % number for number in range(20_000)))
        await peer.receive()
        return peer

    async with serving(handler) as url:
        transport, reports = WebSocketTransport(url), Turns()
        await transport.open(reports)
        await reports.until(lambda: len([one for one in reports.all if isinstance(one, Received)]) == 20_000, "all of them")
        await transport.close()
    messages = [bytes(one.message) for one in reports.all if isinstance(one, Received)]
    assert messages == [b"%05d" % number for number in range(20_000)]
    assert max(reports.each.values()) <= 128 + 512 // 7


async def test_server_that_pings_and_does_not_read_gets_no_more_pongs() -> None:
    """RFC 6455, 5.5.2 and 5.5.3: only the latest ping has to be answered."""
    stop = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        peer = web.WebSocketResponse(protocols=("mcp",), compress=False, autoping=False)
        await peer.prepare(request)
        wire: Any = request.transport
        wire.pause_reading()
        while not stop.is_set():
            wire.write((b"\x89\x7d" + b"p" * 125) * 500)
            await asyncio.sleep(0)
        wire.abort()
        return peer

    async with serving(handler) as url:
        transport = WebSocketTransport(url)
        await transport.open(Reports())
        wire: Any = transport._wire
        async with asyncio.timeout(20):
            await until(lambda: wire.is_full)
            for _ in range(200):
                await asyncio.sleep(0)
        assert wire._transport.get_write_buffer_size() < 1 << 20
        stop.set()
        await transport.close()
