"""Features over HTTP, end to end against servers of one dialect: what every request carries, and refusals of what it carries."""

from __future__ import annotations

import pytest

from dragoman import ElicitationAnswer
from dragoman.errors import CallFailed, ServerError
from tests.runtime.fakes import ECHO, FakeServer, Json, client, words
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange, result

REGION = {"type": "string", "x-mcp-header": "Region"}
FORM = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}}


@pytest.mark.requirement("R-MRTR-05", "R-MRTR-11")
async def test_every_round_carries_the_headers_of_the_first() -> None:
    """R-MRTR-05, R-MRTR-11: MCP 2026-07-28 basic/patterns/mrtr over HTTP."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message["method"] == "tools/list":
            schema = {"type": "object", "properties": {"region": REGION}}
            exchange.reply_json(result(message["id"], tools=[ECHO | {"inputSchema": schema}]))
        elif message["method"] == "tools/call" and "requestState" not in message["params"]:
            exchange.reply_json(result(message["id"], resultType="input_required", inputRequests={"k": FORM}, requestState="s"))
        else:
            return False
        return True

    async with serving("modern", odd) as server, client(server.url, on_elicitation=lambda ask: ElicitationAnswer("decline")) as mine:
        await mine.list_tools()
        await mine.call_tool("echo", {"region": "eu", "text": "x"})
        first, second = [e for e in server.server.requests if e.message["method"] == "tools/call"]
    for name in ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region", "accept"):
        assert first.header(name) == second.header(name) is not None
    assert first.header("mcp-param-region") == "eu"
    assert first.message["params"]["_meta"] == second.message["params"]["_meta"]
    assert first.message["id"] != second.message["id"]


@pytest.mark.requirement("R-HTTPM-19")
@pytest.mark.parametrize("status", ["413 Content Too Large", "431 Request Header Fields Too Large"])
async def test_header_that_is_too_large_for_the_server_is_named(status: str) -> None:
    """R-HTTPM-19: SEP-2243; that call fails, and the next one works."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if len(exchange.header("mcp-name") or "") < 1_000:
            return False
        exchange.reply(status, b"too large", "text/plain")
        return True

    async with serving("modern", odd) as server, client(server.url) as mine:
        with pytest.raises(CallFailed, match=status[:3]):
            await mine.call_tool("x" * 2_000)
        assert (await mine.call_tool("echo", {"text": "fine"})).text == "fine"


@pytest.mark.requirement("R-HTTPL-23")
@pytest.mark.parametrize("era", ["modern", "legacy", "sse"])
async def test_header_of_a_browser_is_not_sent(era: str) -> None:
    """R-HTTPL-23: MCP basic/transports#security-warning: servers judge Origin, and we are no page."""
    async with serving(era) as server, client(server.url) as mine:
        await mine.call_tool("echo", {"text": "x"})
    assert server.server.requests
    for exchange in server.server.requests:
        assert exchange.header("origin") is None
        assert exchange.header("referer") is None


@pytest.mark.requirement("R-HTTPM-16")
async def test_marks_for_headers_mean_nothing_on_stdio() -> None:
    """R-HTTPM-16: MCP 2026-07-28 streamable-http#schema-extension: no tool is left out there."""
    bad = {"type": "object", "properties": {"a": REGION, "b": REGION, "c": {"type": "number", "x-mcp-header": "no name"}}}
    tools = [ECHO, {"name": "marked", "inputSchema": bad}]
    server = FakeServer(lambda m: [{"id": m["id"], "result": {"tools": tools}}] if m.get("method") == "tools/list" else None, era="modern")
    async with client(server) as mine:
        assert [tool.name for tool in await mine.list_tools()] == ["echo", "marked"]
        assert mine.problems == []


@pytest.mark.requirement("R-HTTPL-22")
async def test_version_that_is_refused_in_the_middle_of_a_session_is_agreed_on_anew() -> None:
    """R-HTTPL-22: MCP 2025-11-25 basic/transports#protocol-version-header: 400; a server was replaced by an older one."""
    older = False

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if older and exchange.header("mcp-protocol-version") == "2025-11-25":
            exchange.reply("400 Bad Request", b"Bad Request: Unsupported protocol version (supported versions: 2025-06-18)", "text/plain")
        elif older and message.get("method") == "initialize":
            hello = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
            exchange.reply_json(result(message["id"], **hello))
        elif older and message.get("method") == "tools/call":
            exchange.reply_json(result(message["id"], **words(message["params"]["arguments"]["text"])))
        elif older:
            exchange.reply("202 Accepted")
        else:
            return False
        return True

    async with serving("legacy", odd) as server, client(server.url) as mine:
        assert mine.server.revision == "2025-11-25"
        older = True
        assert (await mine.call_tool("echo", {"text": "x"})).text == "x"
        assert mine.server.revision == "2025-06-18"
        call = [e for e in server.server.requests if e.body and e.message.get("method") == "tools/call"][-1]
        assert call.header("mcp-protocol-version") == "2025-06-18"


@pytest.mark.requirement("R-SSE-04", "R-SSE-05")
@pytest.mark.parametrize(
    "status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed", "406 Not Acceptable", "415 Unsupported", "422 No"]
)
async def test_old_transport_is_tried_after_any_refusal_that_is_not_about_credentials(status: str) -> None:
    """R-SSE-04, R-SSE-05: MCP 2025-03-26 basic/transports#backwards-compatibility; later revisions name three of these."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if not message or "/messages" in exchange.line:
            return False
        exchange.reply(status, b"no", "text/plain")
        return True

    async with serving("sse", odd) as server, client(server.url) as mine:
        assert (await mine.call_tool("echo", {"text": "x"})).text == "x"
        assert server.asked[2] == "GET"


@pytest.mark.requirement("R-LIFE-14", "R-SSE-06")
@pytest.mark.parametrize("code", [-32020, -32021])
async def test_old_transport_is_not_tried_after_an_error_that_only_a_modern_server_gives(code: int) -> None:
    """R-SSE-06, R-LIFE-14: MCP 2026-07-28 streamable-http#httpsse."""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if not message:
            return False
        error = {"code": code, "message": "no"}
        exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "error": error}, "400 Bad Request")
        return True

    async with serving("sse", odd) as server:
        with pytest.raises(ServerError) as caught:
            await client(server.url).open()
    assert caught.value.code == code
    assert server.asked == ["POST server/discover"]
