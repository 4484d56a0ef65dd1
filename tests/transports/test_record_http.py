"""In the middle of HTTP: exchanges pass as they are, credentials are not written down, and pages of others may not come in."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from dragoman.errors import ConfigError
from dragoman.testing import replay_http
from dragoman.transports.record_http import HttpRecorder
from dragoman.transports.transcript import TranscriptWriter
from tests.transcripts.talks import FOLDER, TALKS, client, converse

Handler = Callable[[web.Request], Any]
Proxy = Callable[..., AbstractAsyncContextManager[HttpRecorder]]


async def nothing(request: web.Request) -> web.Response:
    return web.Response()


@asynccontextmanager
async def upstream(handler: Handler) -> AsyncIterator[str]:
    """A server that answers with ``handler``, whatever is asked."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp?key=query-secret"
    finally:
        await runner.cleanup()


class Notebook:
    """A transcript in memory."""

    def __init__(self) -> None:
        self._file = io.StringIO()
        self.writer = TranscriptWriter(self._file, {"kind": "http"}, str)

    def entries(self) -> list[Any]:
        return [json.loads(line) for line in self._file.getvalue().split("\n")[1:-1]]

    async def until(self, end: str) -> Any:
        async with asyncio.timeout(10):
            while not (found := [entry for entry in self.entries() if end in entry.get("end", "")]):  # noqa: ASYNC110  # another task writes
                await asyncio.sleep(0.005)
        return found[0]


@pytest.mark.parametrize("name", [name for name, talk in TALKS.items() if talk.http])
async def test_conversation_goes_through_as_if_nobody_was_there(name: str) -> None:
    """Both eras, JSON and events, a session, a stream for what belongs to no request."""
    notebook = Notebook()
    async with replay_http(FOLDER / f"{name}.jsonl") as server:
        straight = await converse(TALKS[name], client(TALKS[name], server.url))
    async with replay_http(FOLDER / f"{name}.jsonl") as server, HttpRecorder(server.url, notebook.writer) as proxy:
        assert await converse(TALKS[name], client(TALKS[name], proxy.url)) == straight
    assert {entry["from"] for entry in notebook.entries()} == {"client", "server"}


async def test_what_passes_and_what_is_written_down() -> None:
    """Our choice: our own headers win, and of credentials only that they were there is kept."""
    seen: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, dict(request.headers), await request.text()))
        return web.json_response({"id": 1}, headers={"Mcp-Session-Id": "s-secret", "Retry-After": "3", "X-Other": "o", "Set-Cookie": "c"})

    notebook = Notebook()
    mine, theirs = {"Authorization": "Bearer mine"}, {"authorization": "Bearer theirs", "X-Theirs": "t", "Mcp-Method": "ping"}
    async with (
        upstream(answer) as url,
        HttpRecorder(url, notebook.writer, headers=mine) as proxy,
        aiohttp.ClientSession() as session,
    ):
        async with session.post(proxy.url, data=b'{"id":1}', headers=theirs) as response:
            assert (await response.json(), response.headers["Mcp-Session-Id"], response.headers["X-Other"]) == ({"id": 1}, "s-secret", "o")
        async with session.get(f"{proxy.url}/other?x=1") as response:
            assert response.status == 200
    assert [(method, path, body) for method, path, _, body in seen] == [
        ("POST", "/mcp?key=query-secret", '{"id":1}'),
        ("GET", "/mcp/other?x=1", ""),
    ]
    assert (seen[0][2]["Authorization"], seen[0][2]["X-Theirs"]) == ("Bearer mine", "t")
    first, second = notebook.entries()[:2]
    assert first["http"] == {
        "method": "POST",
        "path": "/mcp",
        "headers": {"authorization": "[redacted]", "mcp-method": "ping", "accept": "*/*"},
    }
    assert second["http"] == {
        "status": 200,
        "content_type": "application/json",
        "headers": {"mcp-session-id": "[redacted]", "retry-after": "3"},
    }
    assert (first["stream"], second["message"]) == (1, {"id": 1})
    assert "secret" not in json.dumps(notebook.entries())


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Host": "[x"}, {"Origin": "null"}])
async def test_page_of_somebody_else_may_not_use_our_credential(headers: dict[str, str]) -> None:
    """DNS rebinding: MCP basic/transports, security warning."""
    notebook = Notebook()
    async with (
        upstream(nothing) as url,
        HttpRecorder(url, notebook.writer) as proxy,
        aiohttp.ClientSession() as session,
        session.post(proxy.url, headers=headers) as response,
    ):
        assert response.status in (400, 403)
    assert notebook.entries() == []


async def test_credential_goes_to_no_host_that_a_program_makes_of_the_address() -> None:
    """A request may name a whole URL in place of a path; after our origin it would make another host of it."""
    asked: list[str] = []

    async def note(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.Response()

    notebook = Notebook()
    async with upstream(note) as url, HttpRecorder(url, notebook.writer, headers={"Authorization": "Bearer secret"}) as proxy:
        place = URL(proxy.url)
        reader, writer = await asyncio.open_connection(place.host, place.port)
        writer.write(f"GET http://127.0.0.1/other HTTP/1.1\r\nHost: {place.authority}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert (asked, notebook.entries()) == ([], [])


async def test_server_that_is_not_there_is_a_502() -> None:
    """The client of the recording hears it from us, and the transcript says it."""
    notebook = Notebook()
    async with upstream(nothing) as url:
        gone = url
    async with HttpRecorder(gone, notebook.writer) as proxy, aiohttp.ClientSession() as session, session.post(proxy.url) as response:
        assert response.status == 502
    assert "Connect" in notebook.entries()[-1]["end"]


async def test_stream_that_is_cut_is_cut_for_the_client_too() -> None:
    """A proxy that ends a broken stream in good order would hide the fault."""

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'id: 4\ndata: {"id":1}\n\ndata: {"id"')
        assert request.transport is not None
        request.transport.abort()
        return response

    notebook = Notebook()
    async with upstream(cut) as url, HttpRecorder(url, notebook.writer) as proxy, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ClientError):
            async with session.get(proxy.url) as response:
                await response.read()
        await notebook.until("Payload")
    events = [entry for entry in notebook.entries() if "message" in entry]
    assert [(entry["message"], entry["event_id"]) for entry in events] == [({"id": 1}, "4")]


async def test_client_that_leaves_leaves_the_server() -> None:
    """On HTTP of the stateless era that is how a call is cancelled."""
    left = asyncio.Event()

    async def wait(request: web.Request) -> web.Response:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError

    notebook = Notebook()
    async with upstream(wait) as url, HttpRecorder(url, notebook.writer) as proxy, aiohttp.ClientSession() as session:
        with pytest.raises(TimeoutError):
            await session.post(proxy.url, timeout=aiohttp.ClientTimeout(total=0.2))
        await asyncio.wait_for(left.wait(), 10)
        assert (await notebook.until("the client left"))["from"] == "client"


async def test_port_that_is_taken_is_said() -> None:
    """Exit code 2."""
    notebook = Notebook()
    async with HttpRecorder("http://127.0.0.1:9/mcp", notebook.writer) as proxy:
        other = HttpRecorder("http://127.0.0.1:9/mcp", notebook.writer)
        with pytest.raises(ConfigError, match="cannot be used"):
            await other.start(int(proxy.url.rpartition(":")[2].partition("/")[0]))
        await other.close()
