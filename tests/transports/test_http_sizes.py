"""Answers of every size over HTTP: what is over the limit is thrown away while it is read, and the transport goes on."""

from __future__ import annotations

import asyncio
import gzip
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.errors import CallTimeout
from tests.runtime.fakes import client
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange, loopback, opened, request, result

ROOT = Path(__file__).resolve().parents[2]


async def echo(exchange: Exchange) -> None:
    exchange.reply_json(result(exchange.message["id"], got=exchange.message["params"]))


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("chunked", [False, True])
async def test_body_over_the_limit_is_thrown_away_while_it_is_read(encoding: str, chunked: bool) -> None:
    """Our choice: the limit counts what comes out of the decompressor, so that 20 KB cannot become 20 MB."""
    body = msgspec.json.encode(result(1, text="x" * 20_000_000))
    packed = gzip.compress(body) if encoding == "gzip" else body

    async def handler(exchange: Exchange) -> None:
        if exchange.message["id"] != 1:
            return await echo(exchange)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: {encoding}\r\n"
        if encoding == "identity":
            head = head.replace("Content-Encoding: identity\r\n", "")
        if chunked:
            exchange.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
            exchange.chunk(packed)
            exchange.finish()
        else:
            exchange.send(f"{head}Content-Length: {len(packed)}\r\n\r\n".encode() + packed)
        return None

    async with loopback(handler) as server, opened(server.url, frame_limit=100_000) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        (over,) = recorder.oversized()
        assert over.head == body[:4096]
        assert len(over.tail) <= 4096
        assert over.size > over.limit == 100_000
        assert over.via == 1
        assert recorder.messages(1) == []
        await transport.perform(request(2))  # the transport goes on
        await recorder.ended(2)
        assert len(recorder.messages(2)) == 1


async def test_compressed_answer_within_the_limit_is_read() -> None:
    """Our choice: gzip and deflate are offered, so they are understood."""

    async def handler(exchange: Exchange) -> None:
        exchange.reply(
            "200 OK", gzip.compress(msgspec.json.encode(result(1, text="y" * 50_000))), "application/json", Content_Encoding="gzip"
        )

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        assert recorder.messages(1) == [result(1, text="y" * 50_000)]


async def test_event_over_the_limit_is_reported_and_the_stream_goes_on() -> None:
    """Our choice: one huge notification does not cost the answer."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "z" * 5000}})
        exchange.event(result(1))
        exchange.finish()

    async with loopback(handler) as server, opened(server.url, frame_limit=1000) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        (over,) = recorder.oversized()
        assert (over.limit, over.via) == (1000, 1)
        assert recorder.messages(1) == [result(1)]


@pytest.mark.parametrize("size", [100, 16 * 2**20])
async def test_messages_of_any_size_pass_both_ways(size: int) -> None:
    """Our choice: the default limit is 128 MB."""
    async with loopback(echo) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1, text="a" * size))
        await recorder.ended(1)
        assert recorder.messages(1) == [result(1, got={"text": "a" * size})]


async def test_sixteen_megabytes_in_one_event_pass() -> None:
    """Our choice: as above, for streams."""

    async def handler(exchange: Exchange) -> None:
        exchange.start_events()
        exchange.event(result(1, text="a" * (16 * 2**20)))
        exchange.finish()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        assert len(recorder.messages(1)[0]["result"]["text"]) == 16 * 2**20


BOMB = """
import asyncio, gc, resource, sys, zlib
from dragoman.errors import ConnectionLost
from tests.runtime.fakes import client
from tests.runtime.http_fakes import serving

events, era = sys.argv[1] == "events", sys.argv[2]

def packed():
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    out = [packing.compress(b'data: {"x":"' if events else b'{"x":"')]
    out += [packing.compress(b"a" * 1_000_000) for _ in range(400)]
    return b"".join(out) + packing.flush()

async def main():
    bomb, kind = packed(), "text/event-stream" if events else "application/json"

    async def odd(dialect, exchange, message):
        if message.get("params", {}).get("name") != "bomb":
            return False
        exchange.reply("200 OK", bomb, kind, Content_Encoding="gzip")
        return True

    async with serving(era, odd) as server, client(server.url) as mine:
        await mine.call_tool("echo", {"text": "warm"})
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            await mine.call_tool("bomb", {})
        except ConnectionLost as exc:
            print(len(bomb), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, exc.hint, exc, sep="|")
        assert (await mine.call_tool("echo", {"text": "after"})).text == "after"

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "events"])
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_compression_bomb_is_stopped_with_little_memory(kind: str, era: str) -> None:
    """Our contract: 0.4 MB that become 400 MB take less than 100 MB, at the default limits."""
    done = subprocess.run([sys.executable, "-c", BOMB, kind, era], cwd=ROOT, capture_output=True, text=True, timeout=50)
    packed, peak_mb, hint, said = done.stdout.strip().split("|", 3)
    assert int(packed) < 420_000, done.stderr
    assert int(peak_mb) < 100
    assert "it was stopped there" in said
    assert "without compression" in hint


@pytest.mark.parametrize("flood", [b"X-%d: aaaa\r\n", b"X: " + b"a" * 100_000])
async def test_headers_without_end_lose_their_request_and_no_memory(flood: bytes) -> None:
    """The HTTP library refuses what is long or many; we name it, and the next request works."""

    async def handler(exchange: Exchange) -> None:
        if exchange.message["method"] == "echo":
            await echo(exchange)
            return
        exchange.send(b"HTTP/1.1 200 OK\r\n")
        for number in range(20_000):
            if exchange.gone.is_set():
                break
            exchange.send(flood % number if b"%" in flood else flood)
            await exchange.writer.drain()

    async with loopback(handler) as server, opened(server.url) as (transport, recorder):
        await transport.perform(request(1, "flood"))
        ended = await recorder.ended(1)
        assert "HTTP that can be read" in ended.reason
        await transport.perform(request(2, "echo"))
        await recorder.ended(2)
        assert recorder.messages(2)


@pytest.mark.parametrize("kind", ["json", "events"])
async def test_body_that_comes_a_byte_at_a_time_ends_at_the_deadline_of_its_call(kind: str) -> None:
    """Slow loris: bytes keep coming, so silence is no help, and the call has a deadline."""
    going_on = asyncio.Event()

    async def odd(dialect: Dialect, exchange: Exchange, message: dict[str, Any]) -> bool:
        if message.get("params", {}).get("name") != "slow":
            return False
        if kind == "json":
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{")
        else:
            exchange.start_events()
        while not exchange.gone.is_set() and not going_on.is_set():
            if kind == "json":
                exchange.send(b" ")
            else:
                exchange.chunk(b"d")
            await asyncio.sleep(0.01)
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        slow = asyncio.create_task(mine.call_tool("slow", {}, timeout_s=0.3))
        assert (await mine.call_tool("echo", {"text": "fine"})).text == "fine"
        with pytest.raises(CallTimeout):
            await asyncio.wait_for(slow, 20)
        assert (await mine.call_tool("echo", {"text": "still"})).text == "still"
        going_on.set()
