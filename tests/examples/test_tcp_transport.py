"""The example of a transport of one's own runs, and keeps the contract that it is an example of."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.errors import ConnectFailed
from dragoman.testing.transports import CHECKS, Make, Reports, respond
from dragoman.transports.base import Transport
from examples.tcp_transport import TcpTransport

LESSON = Path(__file__).parents[2] / "examples" / "tcp_transport.py"


@asynccontextmanager
async def peer() -> AsyncIterator[int]:
    """The port of a server that answers as the contract's peer does."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while (line := await reader.readline()) and (answers := respond(line)) is not None:
                writer.write(b"".join(answer + b"\n" for answer in answers))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 24)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tuple(tasks), timeout=10)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_example_keeps_the_contract(check: Callable[[Make], Awaitable[None]]) -> None:
    """What `check_transport` runs, each rule by itself."""
    async with peer() as port:

        async def make(frame_limit: int) -> Transport:
            return TcpTransport("127.0.0.1", port, frame_limit=frame_limit)

        await check(make)


async def test_example_names_a_place_where_nobody_listens() -> None:
    """Opening is the one thing that raises."""
    async with peer() as port:
        pass
    with pytest.raises(ConnectFailed, match=f"cannot connect to tcp://127.0.0.1:{port}"):
        await TcpTransport("127.0.0.1", port).open(Reports())


def test_example_runs() -> None:
    """As its first line says."""
    done = subprocess.run([sys.executable, str(LESSON)], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "tcp 2025-11-25 hello over TCP\n"
