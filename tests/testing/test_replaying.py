"""Recorded conversations as servers: inside the test, as a process, at a URL; and recording them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Client
from dragoman.errors import ConfigError, ConnectionLost, DragomanError, LocalProtocolError
from dragoman.testing import record, replay, replay_command, replay_http
from dragoman.transports.transcript import read
from tests.runtime.fakes import FakeServer
from tests.runtime.fakes import client as plain_client
from tests.transcripts.talks import FOLDER, TALKS, client, converse

SAID = {
    "legacy-stdio": ["1 2", "Unknown tool: there_is_no_such_tool", "welcome, captain Ada", "grew grown_1"],
    "legacy-http-json": ["noted as n4", "Invalid arguments: argument 'text' is missing", "Resource not found"],
    "legacy-http-events": ["1 2", "welcome, captain Ada", "grew grown_1"],
    "modern-stdio": ["show_roots ask_model", "sold for 9 dinar", "Unknown tool: there_is_no_such_tool"],
    "modern-http-json": ["12 dinar", "Unknown tool: there_is_no_such_tool", "sold for 9 dinar"],
    "modern-http-events": ["1 2", "grew grown_1"],
}


def in_words(said: list[str]) -> list[str]:
    """Without what an error is called."""
    return [line.rpartition("server error ")[2].partition(": ")[2] if line.startswith("ServerError") else line for line in said]


@pytest.mark.parametrize("name", TALKS)
async def test_replayed_conversation_goes_as_it_went(name: str) -> None:
    """The recorded demo servers, on their own channel, inside this process."""
    talk, path = TALKS[name], FOLDER / f"{name}.jsonl"
    if not talk.http:
        assert in_words(await converse(talk, client(talk, replay(path)))) == SAID[name]
        return
    async with replay_http(path) as server:
        assert in_words(await converse(talk, client(talk, server.url))) == SAID[name]


@pytest.mark.parametrize("name", ["legacy-stdio", "modern-http-json", "legacy-http-events"])
async def test_replayed_as_a_process_on_stdio_whatever_it_was_recorded_on(name: str) -> None:
    """docs/record-replay.md: the command for servers that must be processes."""
    talk = TALKS[name]
    assert in_words(await converse(talk, client(talk, replay_command(FOLDER / f"{name}.jsonl")))) == SAID[name]


async def test_conversation_of_pipes_is_replayed_at_a_url() -> None:
    """A question of the server goes on the stream of the request it belongs to."""
    talk = TALKS["legacy-stdio"]
    async with replay_http(FOLDER / "legacy-stdio.jsonl") as server:
        assert in_words(await converse(talk, client(talk, server.url))) == SAID["legacy-stdio"]


async def test_replayed_as_a_process_at_a_url_until_the_cut() -> None:
    """The URL is its first line, and the cut its end."""
    command = replay_command(FOLDER / "modern-http-json.jsonl", http=0, cut=900)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    async with asyncio.timeout(20):
        url = (await process.stdout.readline()).decode().strip()
        said = await converse(TALKS["modern-http-json"], client(TALKS["modern-http-json"], url))
        assert await process.wait() == 1
    assert said[-1].startswith("ConnectionLost")


async def test_cut_ends_the_process_and_the_call_by_name() -> None:
    """The call is lost, not timed out."""
    talk = TALKS["legacy-stdio"]
    said = await converse(talk, client(talk, replay_command(FOLDER / "legacy-stdio.jsonl", cut=600)))
    assert said[0].startswith("ConnectionLost")


@pytest.mark.parametrize("delay", [False, True])
async def test_cut_inside_this_process(delay: bool) -> None:
    """The same bytes whatever the pace."""
    talk = TALKS["legacy-stdio"]
    transport = replay(FOLDER / "legacy-stdio.jsonl", cut=600, delay=delay)
    mine = client(talk, transport)
    async with mine:
        with pytest.raises(ConnectionLost, match="cut after 600 bytes"):
            await mine.call_tool("count", {"to": 2}, on_progress=print)
    assert transport.written == 600


async def test_pace_is_kept_where_it_is_wanted() -> None:
    """The order of what is said is the same, at any pace."""
    talk = TALKS["modern-stdio"]
    assert in_words(await converse(talk, client(talk, replay(FOLDER / "modern-stdio.jsonl", delay=True)))) == SAID["modern-stdio"]


async def test_recorded_in_a_test_and_replayed(tmp_path: Path) -> None:
    """The two ends of the package meet."""
    transport, writer = record(FakeServer(), tmp_path / "t.jsonl")
    async with plain_client(transport) as mine:
        assert (await mine.call_tool("echo", {"text": "hi"})).text == "hi"
    writer.close()
    found = read(tmp_path / "t.jsonl")
    assert [entry.message.get("method") for entry in found.entries if entry.side == "client" and entry.message] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
    ]
    assert found.entries[-1].end == "closed by us"
    async with plain_client(replay(tmp_path / "t.jsonl")) as mine:
        assert (await mine.call_tool("echo", {"text": "hi"})).text == "hi"
        with pytest.raises(DragomanError, match="none of the 1 recorded"):
            await mine.call_tool("echo", {"text": "ho"})


async def test_streams_of_http_are_recorded_and_replayed(tmp_path: Path) -> None:
    """What a transport tells of its streams is enough to play them again at a URL."""
    from dragoman.transports.http import HttpTransport

    talk = TALKS["legacy-http-events"]
    async with replay_http(FOLDER / "legacy-http-events.jsonl") as server:
        transport, writer = record(HttpTransport(server.url), tmp_path / "t.jsonl")
        assert in_words(await converse(talk, client(talk, transport))) == SAID["legacy-http-events"]
        writer.close()
    assert read(tmp_path / "t.jsonl").kind == "http"
    async with replay_http(tmp_path / "t.jsonl") as server:
        assert in_words(await converse(talk, client(talk, server.url))) == SAID["legacy-http-events"]


async def test_a_replay_is_opened_once_and_needs_a_transcript(tmp_path: Path) -> None:
    """Mistakes of the test's author have names too."""
    transport = replay(FOLDER / "legacy-stdio.jsonl")
    await transport.open(lambda report: None)
    with pytest.raises(LocalProtocolError, match="opened before"):
        await transport.open(lambda report: None)
    await transport.close()
    (tmp_path / "x").write_text("{}")
    with pytest.raises(ConfigError, match="no transcript"):
        replay(tmp_path / "x")


def test_the_program_needs_nothing_but_the_standard_library() -> None:
    """It starts in environments where only the package itself is, and quickly."""
    modules = "dragoman.transports.replay_program, dragoman.transports.replay_http"
    code = f"import sys, json, {modules}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    tops = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert not tops & {"aiohttp", "click", "jsonschema_rs", "yarl"}


async def test_other_paths_methods_and_bodies_are_refused_at_a_url() -> None:
    """Whoever speaks to it by hand is told what is wrong."""
    async with replay_http(FOLDER / "modern-http-json.jsonl") as server:
        for text, status in (
            (b"GET /other HTTP/1.1\r\n\r\n", b"404"),
            (b"PUT /mcp HTTP/1.1\r\n\r\n", b"405"),
            (b"GET /mcp HTTP/1.1\r\n\r\n", b"405"),
            (b"DELETE /mcp HTTP/1.1\r\n\r\n", b"200"),
            (b"POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
            (b"POST /mcp HTTP/1.1\r\nContent-Length: 3\r\n\r\n{{{", b"400"),
            (b'POST /mcp HTTP/1.1\r\nContent-Length: 21\r\n\r\n{"id":1,"method":"x"}', b"200"),
            (b'POST /mcp HTTP/1.1\r\nContent-Length: 14\r\n\r\n{"method":"x"}', b"202"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(text)
            assert (await asyncio.wait_for(reader.readline(), 10)).split()[1] == status, text
            writer.close()
            await writer.wait_closed()


async def test_two_requests_in_one_packet_are_answered_one_after_the_other() -> None:
    """HTTP/1.1 allows it, though clients hardly do it."""
    async with replay_http(FOLDER / "modern-http-json.jsonl") as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /other HTTP/1.1\r\n\r\nDELETE /mcp HTTP/1.1\r\n\r\n")
        async with asyncio.timeout(10):
            first = await reader.readuntil(b"here")
            second = await reader.readline()
        assert (b"404" in first, b"200" in second) == (True, True)
        writer.close()
        await writer.wait_closed()


def test_client_needs_no_more_than_the_transport() -> None:
    """The type of what is returned fits a client."""
    assert Client(replay(FOLDER / "legacy-stdio.jsonl")) is not None
