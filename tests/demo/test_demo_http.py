"""The demo servers over HTTP: what a client of ours does with them, and what anybody else is told."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

import dragoman
from dragoman import CallTimeout, Elicitation, ElicitationAnswer, Progress
from dragoman.runtime.eras import RememberedEras
from tests.demo.raw_peer import DEMO, META, Json
from tests.runtime.fakes import until


@contextmanager
def listening(*command: str) -> Iterator[str]:
    """The URL of a running server."""
    child = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    assert child.stderr is not None
    try:
        yield child.stderr.readline().rpartition(" at ")[2].strip()
    finally:
        child.kill()
        child.communicate(timeout=10)


MODERN = (str(DEMO / "modern.py"), "--http", "0")
LEGACY = (str(DEMO / "legacy.py"), "--http", "0")
SSE = (str(DEMO / "legacy.py"), "--sse", "0")


def client(url: str, notices: list[str]) -> dragoman.Client:
    async def person(asked: Elicitation) -> ElicitationAnswer:
        return ElicitationAnswer("accept", {"name": "Ada", "dinar": 5, "agree": True})

    return dragoman.Client(
        url,
        roots=["/srv"],
        on_elicitation=person,
        on_notification=lambda method, params: notices.append(method),
        timeout_s=20.0,
        eras=RememberedEras(),
    )


@pytest.mark.parametrize(
    ("command", "revision", "ask", "answer"),
    [
        (MODERN, "2026-07-28", ("haggle", {"ware": "lamp"}), "sold for 5 dinar"),
        (LEGACY, "2025-11-25", ("ask_captain", {}), "welcome, captain Ada"),
        (SSE, "2025-11-25", ("ask_captain", {}), "welcome, captain Ada"),
    ],
    ids=["modern", "legacy", "sse"],
)
async def test_everything_works_over_each_transport(command: tuple[str, ...], revision: str, ask: tuple[str, Json], answer: str) -> None:
    """Tools, progress, questions to the client, changes and cancellation, found without being told the dialect."""
    notices: list[str] = []
    heard: list[Progress] = []
    with listening(*command) as url:
        async with client(url, notices) as mine:
            assert mine.server.revision == revision
            assert {"echo", "search"} <= {tool.name for tool in await mine.list_tools()}
            assert (await mine.call_tool("count", {"to": 3}, on_progress=heard.append)).text == "1 2 3"
            assert (await mine.call_tool("show_roots")).text == "file:///srv"
            assert (await mine.call_tool(*ask)).text == answer
            with pytest.raises(CallTimeout):
                await mine.call_tool("slow", {"seconds": 60}, timeout_s=0.2)
            await mine.call_tool("grow_tool")
            if mine.server.era == "legacy":
                await until(lambda: "notifications/tools/list_changed" in notices)
            assert mine.violations == {}
        await until(lambda: [one.progress for one in heard] == [1, 2, 3])


def ask(url: str, verb: str, message: Json | None = None, **headers: str) -> tuple[int, Json, str | None]:
    """Status, body as JSON and session id of one raw request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        connection.request(verb, parts.path, None if message is None else json.dumps({"jsonrpc": "2.0", **message}), sent)
        response = connection.getresponse()
        body = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(body) if is_json else {}, response.headers.get("MCP-Session-Id")
    finally:
        connection.close()


def test_stateless_server_wants_headers_that_repeat_the_body() -> None:
    """MCP 2026-07-28 streamable-http#protocol-version-header."""
    call = {"id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "é"}, "_meta": META}}
    good = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call", "Mcp_Name": "=?base64?ZWNobw==?="}
    with listening(*MODERN) as url:
        status, body, _ = ask(url, "POST", call, **good)
        assert (status, body["result"]["content"][0]["text"]) == (200, "é")
        for name in good:
            status, body, _ = ask(url, "POST", call, **{**good, name: "other"})
            assert (status, body["error"]["code"]) == (400, -32020)
        meta = {"method": "nope", "params": {"_meta": META}, "id": 1}
        assert ask(url, "POST", meta, MCP_Protocol_Version="2026-07-28", Mcp_Method="nope")[0] == 404
        status, body, _ = ask(url, "POST", {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
        assert (status, body["error"]["code"]) == (400, -32022)
        assert ask(url, "GET")[0] == ask(url, "DELETE")[0] == 405


def test_legacy_server_keeps_sessions_apart_and_knows_them_until_they_are_ended() -> None:
    """MCP 2025-11-25 basic/transports#session-management."""
    init = {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    note = {"id": 2, "method": "tools/call", "params": {"name": "add_note", "arguments": {"text": "x"}}}
    with listening(*LEGACY) as url:
        (_, _, one), (_, _, other) = ask(url, "POST", init), ask(url, "POST", init)
        assert one
        assert other
        assert one != other
        for session in (one, other):  # each has notes of its own
            _, body, _ = ask(url, "POST", note, MCP_Session_Id=session)
            assert body["result"]["content"][0]["text"] == "noted as n4"
        assert ask(url, "POST", {"method": "notifications/initialized"}, MCP_Session_Id=one)[0] == 202
        assert ask(url, "DELETE", MCP_Session_Id=one)[0] == 200
        assert ask(url, "POST", note, MCP_Session_Id=one)[0] == 404
        assert ask(url, "POST", note)[0] == 400
        assert ask(url, "POST", note, MCP_Session_Id=other)[0] == 200


@pytest.mark.parametrize("command", [MODERN, LEGACY, SSE], ids=["modern", "legacy", "sse"])
def test_web_pages_elsewhere_and_other_paths_are_turned_away(command: tuple[str, ...]) -> None:
    """MCP basic/transports#security-warning: DNS rebinding."""
    with listening(*command) as url:
        assert ask(url, "POST", {"id": 1, "method": "ping"}, Origin="http://evil.invalid")[0] == 403
        assert ask(url + "x", "GET")[0] == 404


@pytest.mark.parametrize("name", ["legacy", "modern"])
def test_option_that_is_none_is_said(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(DEMO / f"{name}.py"), "--port", "x"], capture_output=True, text=True, timeout=20, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("usage:")
