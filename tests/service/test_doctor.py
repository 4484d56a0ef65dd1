"""The doctor against servers with one fault each: what it finds, whose fault it says it is, and that it harms nobody."""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from dragoman.runtime.client import Client
from dragoman.service.doctor import Checkup, Doctor
from dragoman.service.doctor_http import look, of_get, of_headers

SERVERS = Path(__file__).parent.parent / "servers"
DEMO = [sys.executable, "-m", "dragoman.demo.legacy"]


async def examine(command: list[str], *calls: str, step_s: float = 2.0, arguments: dict[str, Any] | None = None) -> Checkup:
    """The checkup of a command; each of ``calls`` is tried."""
    given = {"text": "hi"} if arguments is None else arguments
    make = functools.partial(Client, command, connect_timeout_s=step_s)
    return await Doctor(make, "it", command=command, calls=[(name, lambda _: given) for name in calls], step_s=step_s).examine()


def server(name: str) -> list[str]:
    return [sys.executable, str(SERVERS / f"{name}.py")]


def codes(checkup: Checkup, *weights: str) -> set[str]:
    return {one.code for one in checkup.found if not weights or one.weight in weights}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("banner", "polluted-stdout"),
        ("glued_log", "polluted-stdout"),
        ("bad_utf8", "not-utf8"),
        ("crlf_bom", "byte-order-mark"),
        ("nan_result", "not-json"),
        ("string_ids", "id-type"),
        ("foreign_id", "foreign-id"),
        ("error_and_result", "both-members"),
        ("null_error_member", "null-members"),
        ("broken_tool", "set-aside"),
        ("same_cursor", "endless-list"),
        ("listchanged_storm", "change-storm"),
        ("flood", "flood"),
        ("stray_progress", "stray-progress"),
        ("asks_unknown", "asks"),
        ("tool_names", "tool-names"),
        ("unknown_content", "result-part"),
        ("wrong_structured", "output-schema"),
        ("dies_in_call", "dies-in-call"),
        ("hangs_in_call", "no-answer-to-call"),
        ("stderr_flood", "stderr-flood"),
        ("big_line", "long-message"),
        ("exits_on_probe", "dies-on-probe"),
        ("version_2024", "older-revision"),
    ],
)
async def test_fault_is_named(name: str, code: str) -> None:
    """Our choice of words: they are what scripts see."""
    checkup = await examine(server(name), *TRIED.get(name, ("echo",)))
    assert code in codes(checkup), checkup.found
    assert checkup.healthy is (not codes(checkup, "fault", "warning"))


TRIED: dict[str, tuple[str, ...]] = {}


@pytest.mark.parametrize(
    ("command", "code", "whose", "words"),
    [
        (["no-such-command-here"], "command-missing", "this machine", "no such program"),
        (server("exits_at_once"), "exits-at-start", "the configuration", "HARBOUR_KEY"),
        (server("future_version"), "version", "the server", "2099"),
        (server("garbage"), "no-handshake", "the server", "never answers"),
        ([sys.executable, "-c", "import sys; sys.exit('npm error code ENOTFOUND')"], "exits-at-start", "the server", "status 1"),
    ],
    ids=["missing", "exits", "version", "garbage", "says-nothing-useful"],
)
async def test_server_that_does_not_connect_is_explained(command: list[str], code: str, whose: str, words: str) -> None:
    """Whose fault it is, and what to do, in words."""
    checkup = await examine(command, step_s=1.0)
    worst = checkup.found[0]
    assert (worst.code, worst.weight, worst.whose) == (code, "fault", whose)
    assert words in worst.what + worst.evidence
    assert worst.advice
    assert not checkup.healthy


async def test_package_runner_without_a_network_is_told_from_a_broken_server(tmp_path: Path) -> None:
    """npx says ENOTFOUND where there is no network: nothing is wrong with the server, which was never installed."""
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\necho 'npm error request to https://registry failed, reason: getaddrinfo ENOTFOUND registry' >&2\nexit 1\n")
    npx.chmod(0o755)
    checkup = await examine([str(npx), "-y", "some-server"])
    assert (checkup.found[0].code, checkup.found[0].whose) == ("runner-offline", "a proxy or the network")


async def test_healthy_server_is_healthy_and_no_tool_was_called() -> None:
    """A doctor that deletes files is none."""
    checkup = await examine(DEMO)
    assert checkup.healthy, checkup.found
    assert codes(checkup, "fault", "warning") == set()
    assert {"step": "call tools", "ok": None, "ms": 0.0} in checkup.tried


async def test_both_eras_of_the_demo_are_healthy() -> None:
    """The bundled servers are what others are measured by."""
    checkup = await examine([sys.executable, "-m", "dragoman.demo.modern"])
    assert (checkup.era, checkup.healthy, checkup.found) == ("modern", True, [])


async def test_what_a_server_says_steers_no_terminal() -> None:
    """Evidence is untrusted text: escaped, on one line, cut."""
    said = "import sys; sys.stderr.write('\\x1b[2J\\x1b]0;owned\\x07' * 500); sys.exit(3)"
    checkup = await examine([sys.executable, "-c", said])
    shown = "".join(one.what + one.evidence + one.advice for one in checkup.found)
    assert "\x1b" not in shown
    assert len(shown) < 2000


# --- HTTP ---------------------------------------------------------------------------------------------------------

Handler = Callable[[web.Request], Any]


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Handler], Any]]:
    """Starts a server that answers everything with one handler; gives the URL of its endpoint."""
    running: list[TestServer] = []

    async def start(handler: Handler) -> str:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        server = TestServer(app)
        await server.start_server()
        running.append(server)
        return str(server.make_url("/mcp"))

    yield start
    for one in running:
        await one.close()


async def examine_url(url: str, **options: Any) -> Checkup:
    make = functools.partial(Client, url, connect_timeout_s=3.0)
    return await Doctor(make, url, look=functools.partial(look, url, {}), step_s=3.0, **options).examine()


@pytest.mark.parametrize(
    ("status", "headers", "body", "code", "whose"),
    [
        (200, {"Content-Type": "text/html"}, "<html>hello</html>", "content-type", "the server"),
        (404, {}, "not here", "wrong-path", "the configuration"),
        (502, {}, "<html>bad gateway</html>", "gateway", "a proxy or the network"),
        (500, {}, "oops", "server-failed", "the server"),
        (401, {"WWW-Authenticate": "Bearer"}, "", "credential", "the configuration"),
        (403, {}, "no", "http-status", "the server"),
        (302, {"Location": "https://elsewhere.invalid/"}, "", "redirect", "the configuration"),
        (200, {"Content-Type": "application/json", "Content-Encoding": "br"}, "x", "content-coding", "a proxy or the network"),
        (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, "{}", "content-coding", "a proxy or the network"),
        (200, {"Content-Type": "application/json"}, "", "no-answer", "the server"),
    ],
)
async def test_answer_of_http_is_explained(
    serve: Callable[[Handler], Any], status: int, headers: dict[str, str], body: str, code: str, whose: str
) -> None:
    """Each status, type and coding that a proxy or a wrong address gives."""

    async def handler(_: web.Request) -> web.Response:
        return web.Response(status=status, headers=headers, body=body.encode())

    checkup = await examine_url(await serve(handler))
    worst = checkup.found[0]
    assert (worst.code, worst.weight, worst.whose) == (code, "fault", whose), checkup.found


async def test_address_where_nothing_listens_and_name_that_nobody_knows() -> None:
    """Refused on this machine is this machine's; an unknown name is the configuration's."""
    refused = await examine_url("http://127.0.0.1:9/mcp")
    assert (refused.found[0].code, refused.found[0].whose) == ("refused", "this machine")


async def test_instances_that_do_not_share_sessions_are_told_from_a_lost_session(serve: Callable[[Handler], Any]) -> None:
    """Some pings work and some do not: a load balancer before instances without common memory."""
    count = 0

    async def handler(request: web.Request) -> web.Response:
        nonlocal count
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        if message["method"] == "server/discover":
            error = {"code": -32601, "message": "Method not found"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error})
        if message["method"] == "initialize":
            result: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result}, headers={"Mcp-Session-Id": "a"})
        count += 1
        if count % 2:
            error = {"code": -32000, "message": "Bad Request: Server not initialized"}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "error": error}, status=500)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    checkup = await examine_url(await serve(handler))
    assert codes(checkup, "fault") == {"load-balancer"}, checkup.found


def test_clocks_that_differ_and_proxies_are_read_off_headers() -> None:
    """RFC 9110 sections 6.6.1 and 7.6.3."""
    now = 1_700_000_000.0
    found, proxy = of_headers({"Date": "Tue, 14 Nov 2023 23:13:20 GMT", "Server": "nginx/1.27"}, now)
    assert [one.code for one in found] == ["clock-skew"]
    assert "3,600 s ahead" in found[0].what
    assert proxy == "Server: nginx/1.27"
    assert of_headers({"Date": "Tue, 14 Nov 2023 22:13:30 GMT", "Server": "uvicorn"}, now) == ([], "")
    assert of_headers({"Date": "never", "Via": "1.1 gate"}, now) == ([], "Via: 1.1 gate")


def test_page_in_place_of_a_stream_is_noted() -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server: 405, or an event stream."""
    assert [one.code for one in of_get(200, "text/html")] == ["get-is-no-stream"]
    assert [one.code for one in of_get(307, "")] == ["redirect"]
    assert of_get(405, "application/json") == of_get(200, "text/event-stream; charset=utf-8") == []


async def test_server_that_does_not_know_ping_is_told_so_by_name(tmp_path: Path) -> None:
    """MCP 2025-11-25 basic/utilities/ping: the receiver has to answer; many a first server does not."""
    program = tmp_path / "first.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    message = json.loads(line)\n"
        "    if message.get('method') == 'initialize':\n"
        "        result = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': {'name': 'first', 'version': '1'}}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)\n"
        "    elif 'id' in message:\n"
        "        error = {'code': -32601, 'message': 'no'}\n"
        "        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'error': error}), flush=True)\n"
    )
    checkup = await examine([sys.executable, str(program)])
    assert [(one.code, one.weight) for one in checkup.found] == [("no-ping", "warning")]
