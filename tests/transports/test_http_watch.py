"""One timer for all exchanges of a transport: who was silent for too long, whose stream went quiet, and that nothing is left of it."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from dragoman.transports import http_watch
from dragoman.transports.base import Received, StreamEnded, StreamQuiet
from dragoman.transports.http_watch import Exchange, Exchanges
from tests.runtime.fakes import Json, client, until
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import WAIT_S, loopback, opened, request, result
from tests.transports.loopback import Exchange as Asked


async def test_silence_ends_the_exchange_that_is_silent_and_no_other() -> None:
    """Our contract: ``idle_s`` counts from what was heard last."""
    told: list[int | str] = []
    exchanges = Exchanges(0.1, told.append)
    ended: list[tuple[str, bool]] = []

    async def silent(exchange: Exchange) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(("silent", exchange.silent))
            exchanges.forget(exchange)

    async def talking(exchange: Exchange) -> None:
        while True:
            exchange.heard = asyncio.get_running_loop().time()
            await asyncio.sleep(0.01)

    loud = exchanges.start(talking, 2)
    quiet = exchanges.start(silent, 1)
    async with asyncio.timeout(WAIT_S):
        await asyncio.wait([quiet])
    assert ended == [("silent", True)]
    assert not loud.done()
    await exchanges.close(WAIT_S)
    assert loud.cancelled()
    assert told == []


async def test_one_timer_serves_them_all_and_none_runs_where_nothing_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: what a timer for each request costs is most of what a small call may."""
    loop = asyncio.get_running_loop()
    timers = 0
    call_at = loop.call_at

    def counting(when: float, *args: object, **kwargs: object) -> asyncio.TimerHandle:
        nonlocal timers
        timers += 1
        return call_at(when, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "call_at", counting)
    exchanges = Exchanges(0.05, lambda _: None)

    async def short(exchange: Exchange) -> None:
        exchanges.forget(exchange)

    for number in range(100):
        await exchanges.start(short, number)
    assert timers == 1
    await until(lambda: exchanges._timer is None)
    assert exchanges._open == {}
    assert exchanges._by_request == {}


async def test_stream_that_goes_quiet_is_told_of_once_for_each_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: 200 streams that are open and idle cost nothing to speak of."""
    monkeypatch.setattr(http_watch, "QUIET_S", 0.02)
    go_on = asyncio.Event()

    async def handler(asked: Asked) -> None:
        asked.start_events()
        asked.event(result(1))
        await go_on.wait()
        asked.event({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})

    async with loopback(handler) as server, opened(server.url, idle_s=0.4) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.until(lambda: StreamQuiet(1) in recorder.reports)
        await asyncio.sleep(0.1)
        assert recorder.reports.count(StreamQuiet(1)) == 1
        go_on.set()
        await recorder.until(lambda: recorder.reports.count(StreamQuiet(1)) == 2)
        end = await recorder.ended(1)  # nobody closed it, so that it ends when it has been silent for too long
        assert "sent nothing for 0.4 s" in end.reason
        assert [type(one) for one in recorder.reports] == [Received, StreamQuiet, Received, StreamQuiet, StreamEnded]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_stream_that_its_server_leaves_open_after_the_answer_is_closed(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP 2025-11-25 basic/transports#sending-messages-to-the-server and 2026-07-28 streamable-http: the stream ends after the answer."""
    monkeypatch.setattr(http_watch, "QUIET_S", 0.02)
    open_streams: list[Asked] = []

    async def odd(_dialect: Dialect, asked: Asked, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        open_streams.append(asked)
        asked.start_events()
        asked.event(result(message["id"], content=[]))
        return True

    async with serving(era, odd) as server, client(server.url) as mine:
        for _ in range(3):
            await mine.call_tool("echo", {})
        await until(lambda: all(asked.gone.is_set() for asked in open_streams))
        assert mine.violations == {}
        assert server.count("POST notifications/cancelled") == 0
        await mine.list_tools()


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_stream_that_is_quiet_before_its_answer_stays(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: a tool may take its time."""
    monkeypatch.setattr(http_watch, "QUIET_S", 0.02)

    async def odd(_dialect: Dialect, asked: Asked, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        asked.start_events()
        await asyncio.sleep(0.2)
        asked.event(result(message["id"], content=[{"type": "text", "text": "late"}]))
        asked.finish()
        return True

    async with serving(era, odd) as server, client(server.url) as mine:
        assert (await mine.call_tool("echo", {})).text == "late"


@pytest.mark.parametrize("events", [True, False])
async def test_answer_that_takes_longer_than_a_silence_may_is_read_if_it_goes_on(events: bool) -> None:
    """Our contract: ``idle_s`` is about silence, not about time."""
    whole = msgspec.json.encode(result(1, ok=True))

    async def handler(asked: Asked) -> None:
        if events:
            asked.start_events()
        else:
            asked.send(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(20):
            asked.chunk(b": wait\n\n" if events else b" ")
            await asyncio.sleep(0.05)
        asked.chunk(b"data: " + whole + b"\n\n" if events else whole)
        asked.finish()

    async with loopback(handler) as server, opened(server.url, idle_s=0.5) as (transport, recorder):
        await transport.perform(request(1))
        await recorder.ended(1)
        assert recorder.messages(1) == [result(1, ok=True)]
