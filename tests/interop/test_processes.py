"""Real servers as processes: many connects, two at once, and what is left when a client is gone."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import dragoman.blocking
from dragoman import CallFailed, Client
from tests.conftest import children
from tests.interop import envs

SERVERS: dict[str, Callable[[], list[str]]] = {  # made when used: to collect this file nothing has to be installed
    "npm": lambda: envs.npm_server("server-memory"),
    "sdk-2": lambda: envs.python_server("mcp-server-time"),
    "sdk-1": lambda: envs.sdk_server("fastmcp_1"),
}


@pytest.mark.timeout(120)
async def test_twenty_connects_in_a_row_leave_no_process_and_no_descriptor() -> None:
    """Our choice; the last connects go without a probe, because the era is remembered."""
    before = children()
    counts: list[int] = []
    for _ in range(20):
        async with Client(SERVERS["npm"](), timeout_s=20, guardian=False) as client:
            assert len(await client.list_tools()) == 9
        assert children() == before
        counts.append(len(os.listdir("/proc/self/fd")))
    assert counts[-1] == counts[1]


@pytest.mark.parametrize("kind", SERVERS)
async def test_two_clients_of_one_command_have_a_process_each(kind: str) -> None:
    """Nothing is shared but the remembered era."""
    before = children()
    async with (
        Client(SERVERS[kind](), timeout_s=20, guardian=False) as one,
        Client(SERVERS[kind](), timeout_s=20, guardian=False) as two,
    ):
        assert len(children() - before) == 2
        first, second = await asyncio.gather(one.list_tools(), two.list_tools())
        assert first == second
        await one.close()
        assert len(children() - before) == 1
        assert await two.list_tools() == first


@pytest.mark.parametrize("kind", SERVERS)
async def test_killed_server_ends_its_calls_with_a_name(kind: str) -> None:
    """The process is killed from outside while a call is on its way."""
    before = children()
    async with Client(SERVERS[kind](), timeout_s=20, guardian=False) as client:
        (pid,) = children() - before
        os.kill(pid, signal.SIGSTOP)  # so that it cannot answer first
        call = asyncio.create_task(client.list_tools())
        await asyncio.sleep(0)
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(CallFailed) as caught:
            await call
        assert caught.value.maybe_ran == "perhaps"
        assert not client.is_open


async def test_client_is_opened_used_and_closed_from_different_tasks() -> None:
    """Our choice: no cancel scope spans an await of the user's."""
    client = Client(SERVERS["sdk-2"](), timeout_s=20)
    await asyncio.create_task(client.open())
    arguments = {"timezone": "Europe/Paris"}
    results = await asyncio.gather(*(asyncio.create_task(client.call_tool("get_current_time", arguments)) for _ in range(10)))
    assert {result.structured["timezone"] for result in results} == {"Europe/Paris"}
    await asyncio.create_task(client.close())
    await client.close()


def test_blocking_client_serves_several_threads(tmp_path: Path) -> None:
    """The face without `async`, on a real server."""
    (tmp_path / "a.txt").write_text("hello")
    texts: list[str] = []
    with dragoman.blocking.Client(envs.npm_server("server-filesystem", str(tmp_path)), timeout_s=20) as client:

        def read() -> None:
            texts.append(client.call_tool("read_text_file", {"path": str(tmp_path / "a.txt")}).text)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
    assert texts == ["hello"] * 4
