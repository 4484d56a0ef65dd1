"""The example of a transport of one's own runs, and keeps the contract that it is an example of."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dragoman.errors import ConnectFailed
from dragoman.testing.transports import CHECKS, Make, Reports, respond
from dragoman.transports.base import Transport
from examples.tcp_transport import TcpTransport
from tests.transports.unix_peer import listening_on_a_port

LESSON = Path(__file__).parents[2] / "examples" / "tcp_transport.py"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_example_keeps_the_contract(check: Callable[[Make], Awaitable[None]]) -> None:
    """What `check_transport` runs, each rule by itself."""
    async with listening_on_a_port(respond) as port:

        async def make(frame_limit: int) -> Transport:
            return TcpTransport("127.0.0.1", port, frame_limit=frame_limit)

        await check(make)


async def test_example_names_a_place_where_nobody_listens() -> None:
    """Opening is the one thing that raises."""
    async with listening_on_a_port(respond) as port:
        pass
    with pytest.raises(ConnectFailed, match=f"cannot connect to tcp://127.0.0.1:{port}"):
        await TcpTransport("127.0.0.1", port).open(Reports())


def test_example_runs() -> None:
    """As its first line says."""
    done = subprocess.run([sys.executable, str(LESSON)], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == "tcp 2025-11-25 hello over TCP\n"
