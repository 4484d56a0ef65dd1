"""How long a client waits for an endpoint to be reached, and for one that fell silent: by default, and as it was told."""

from __future__ import annotations

import asyncio
import math
import socket
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman.config.load import load_file
from dragoman.errors import ConnectFailed, ConnectionLost, LocalProtocolError
from dragoman.service.assemble import spec_of
from dragoman.service.context import Context
from dragoman.service.targets import client_for, target_of
from dragoman.transports.http import HttpTransport
from dragoman.transports.sse_legacy import SseTransport
from tests.runtime.fakes import Json, client
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange


def waits_of(mine: dragoman.Client) -> set[tuple[float, float]]:
    """``connect_s`` and ``idle_s`` of every transport that a client may use, one after the other."""
    opening = mine._opening
    assert opening.fallback is not None
    made: list[Any] = [opening.transport(), opening.transport(), opening.fallback()]
    assert [type(one) for one in made] == [HttpTransport, HttpTransport, SseTransport]
    return {(one._connect_s, one._idle_s) for one in made}


def test_every_http_transport_waits_five_seconds_and_five_minutes_unless_told_otherwise() -> None:
    """Our contract; of the first transport, of those after it, and of the last resort."""
    assert waits_of(client("http://127.0.0.1:1/")) == {(5.0, 300.0)}
    assert waits_of(client("http://127.0.0.1:1/", connect_s=1, idle_s=2.5)) == {(1, 2.5)}


def test_what_a_configuration_or_a_command_line_says_arrives_at_the_transports(tmp_path: Path) -> None:
    """Our contract: ``servers.NAME.connect_s`` and ``idle_s``; ``--connect-timeout`` and ``--idle-timeout``."""
    context = Context(env={"DRAGOMAN_HOME": str(tmp_path)}, cwd=tmp_path)
    file = tmp_path / "dragoman.toml"
    file.write_text("[servers.w]\nurl = 'http://127.0.0.1:1/'\nconnect_s = 1\nidle_s = 2\n[servers.d]\nurl = 'http://127.0.0.1:1/'\n")
    servers = load_file(file).servers
    assert waits_of(spec_of(servers["w"], context).make_client()) == {(1.0, 2.0)}
    assert waits_of(spec_of(servers["d"], context).make_client()) == {(5.0, 300.0)}
    assert waits_of(client_for(target_of(["http://127.0.0.1:1/"], context, connect_s=3.0, idle_s=4.0), context)) == {(3.0, 4.0)}
    assert waits_of(client_for(target_of(["http://127.0.0.1:1/"], context), context)) == {(5.0, 300.0)}


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "5", True])
@pytest.mark.parametrize("name", ["connect_s", "idle_s"])
def test_time_that_is_none_is_refused_by_name(name: str, value: Any) -> None:
    """Our choice: positive and finite, the same for the blocking client."""
    for make in (dragoman.Client, dragoman.blocking.Client):
        with pytest.raises(LocalProtocolError, match=f"{name} must be a number of seconds above 0, got"):
            make("http://127.0.0.1:1/", **{name: value})


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_silence_of_a_server_that_owes_an_answer_ends_its_call_in_words(era: str) -> None:
    """Our contract: ``idle_s``."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        return message.get("method") == "tools/call"  # and never answers

    async with serving(era, odd) as server, client(server.url, idle_s=0.2) as mine:
        with pytest.raises(ConnectionLost, match=r"sent nothing for 0\.2 s") as caught:
            await mine.call_tool("echo", {})
        assert caught.value.maybe_ran == "perhaps"
        assert "idle_s" in str(caught.value.hint)


async def test_endpoint_that_takes_no_connection_is_given_up() -> None:
    """Our contract: ``connect_s``. A full queue of connections drops what comes next, so nothing answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as deaf:
        where = deaf.getsockname()
        loop = asyncio.get_running_loop()
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            fillers.append((filler, asyncio.ensure_future(loop.sock_connect(filler, where))))
        try:
            await asyncio.wait([task for _, task in fillers], timeout=0.2)
            with pytest.raises(ConnectFailed, match=r"no connection within 0\.1 s") as caught:
                await client(f"http://127.0.0.1:{where[1]}/mcp", connect_s=0.1).open()
            assert "connect_s" in str(caught.value.hint)
        finally:
            for filler, task in fillers:
                task.cancel()
                filler.close()
