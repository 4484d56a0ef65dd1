"""Servers that others wrote, over HTTP of the handshake eras: the official SDK 1.30 and server-everything, sessions and HTTP+SSE."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

from dragoman import CallTimeout, Client, ConnectionLost, Progress, ServerError
from dragoman.runtime.eras import RememberedEras
from tests.interop import envs
from tests.interop.handlers import Inbox, Model, Notices, Person, eventually

WAIT_S = 30.0


def client(url: str, **options: Any) -> Client:
    return Client(url, **{"timeout_s": 20.0, "eras": RememberedEras(), **options})


def fastmcp(how: str) -> Generator[str, None, None]:
    process = subprocess.Popen(envs.sdk_server("fastmcp_1", how), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), "the server did not start"
        yield url
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture(params=["http", "http-json", "sse"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Sessions with streams, sessions with plain answers, and the transport of 2024-11-05."""
    yield from fastmcp(request.param)


@pytest.fixture(params=["http", "sse"])
def streaming_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where more than the result can come."""
    yield from fastmcp(request.param)


async def test_found_and_used_without_being_told_the_dialect(url: str) -> None:
    """Tools, resources, prompts and completion."""
    async with client(url) as mine:
        assert (mine.server.era, mine.server.revision, mine.server.name) == ("legacy", "2025-11-25", "sdk-1-fastmcp")
        assert {"add", "weather", "fail"} <= {tool.name for tool in await mine.list_tools()}
        assert (await mine.call_tool("add", {"a": 2, "b": 40})).structured == {"result": 42}
        assert (await mine.call_tool("fail", {"why": "x"})).is_error
        assert (await mine.read_resource("menu://today")).text == "Lentils, 豆腐, crème brûlée"
        assert (await mine.get_prompt("greet", {"name": "Ada"})).text == "user: Greet Ada warmly."
        with pytest.raises(ServerError):
            await mine.read_resource("menu://yesterday")
        await mine.ping()
        assert mine.violations == {}


async def test_server_asks_and_tells_while_a_call_runs(streaming_url: str) -> None:
    """Elicitation, sampling and roots as requests of the server's; progress, logging and changes as notices."""
    notices, steps = Notices(), Inbox[Progress]()
    async with client(
        streaming_url, on_elicitation=Person(guests=3), on_sampling=Model("waves"), roots=["/srv/menu"], on_notification=notices.note
    ) as mine:
        assert (await mine.call_tool("book_table", {"day": "Friday"})).text == "table for 3 on Friday, window False"
        assert "waves" in (await mine.call_tool("poem", {"topic": "sea"})).text
        assert (await mine.call_tool("folders")).structured == {"result": ["file:///srv/menu"]}
        assert (await mine.call_tool("count", {"steps": 3}, on_progress=steps.put)).text == "counted to 3"
        await steps.until(lambda step: step.progress == 3)
        await mine.call_tool("chatter")
        await notices.of("notifications/message")
        await mine.call_tool("grow", {"name": "more"})
        await notices.of("notifications/tools/list_changed")
        assert mine.violations == {}


async def test_cancellation_is_a_notice_that_the_server_acts_on(streaming_url: str) -> None:
    """MCP 2025-11-25 basic/utilities/cancellation."""
    async with client(streaming_url) as mine:
        with pytest.raises(CallTimeout):
            await mine.call_tool("wait", timeout_s=0.5)

        async def cancelled() -> bool:
            return bool((await mine.call_tool("how_it_ended")).structured == {"result": ["cancelled"]})

        await eventually(cancelled)


def listening(command: list[str], port: int) -> subprocess.Popen[bytes]:
    """A server of npm's on this port, once it accepts connections."""
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ends = time.monotonic() + WAIT_S
    while time.monotonic() < ends and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise AssertionError("the server does not listen")


@pytest.mark.parametrize(("how", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
async def test_server_everything_works_over_both_transports(how: str, path: str) -> None:
    """The TypeScript SDK 1.x."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = envs.npm_server("server-everything", how)
    process = listening(command, port)
    try:
        async with client(f"http://127.0.0.1:{port}{path}", roots=["/tmp"], on_elicitation=Person(name="Ada"), on_sampling=Model()) as mine:
            assert mine.server.name == "mcp-servers/everything"
            assert {"echo", "trigger-sampling-request"} <= {tool.name for tool in await mine.list_tools()}
            assert (await mine.call_tool("echo", {"message": "wörld"})).text == "Echo: wörld"
            assert not (await mine.call_tool("trigger-sampling-request", {"prompt": "hi"})).is_error
            assert len(await mine.list_resources()) >= 1
            if how == "streamableHttp":
                process.kill()
                process.wait(10)
                with pytest.raises(ConnectionLost):
                    await mine.call_tool("echo", {"message": "nobody"})
                process = listening(command, port)  # knows nothing of our session
                assert (await mine.call_tool("echo", {"message": "again"})).text == "Echo: again"
    finally:
        process.kill()
        process.wait(10)
