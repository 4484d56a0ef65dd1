"""Arguments repeated in headers: which annotations count, which break the rules, and what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import LocalProtocolError, ServerError
from dragoman.runtime.mirrors import Mirror, Mirrors, mirrors_of
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool
from tests.runtime.fakes import ECHO, Json, client
from tests.runtime.http_fakes import Dialect, serving
from tests.transports.loopback import Exchange, result

REGION: Json = {"type": "string", "x-mcp-header": "Region"}


def schema(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


def test_annotations_are_found_at_any_depth_of_properties() -> None:
    """MCP 2026-07-28 streamable-http#schema-extension."""
    inner = schema(zone={"type": ["integer", "null"], "x-mcp-header": "Zone"}, other={"type": "string"})
    assert mirrors_of(schema(region=REGION, place=inner)) == (
        Mirror(("region",), "Mcp-Param-Region"),
        Mirror(("place", "zone"), "Mcp-Param-Zone"),
    )
    assert mirrors_of(True) == mirrors_of({}) == ()


@pytest.mark.parametrize("keyword", ["enum", "const", "default", "examples"])
def test_values_and_names_are_no_annotations(keyword: str) -> None:
    """Our reading: only a schema is annotated; a property may have that name, and a value may hold anything."""
    assert mirrors_of(schema(a={"type": "object", keyword: [{"x-mcp-header": ""}]})) == ()
    assert mirrors_of(schema(**{"x-mcp-header": {"type": "string"}})) == ()


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (schema(a={"type": "string", "x-mcp-header": ""}), "'' is not the name of a header"),
        (schema(a={"type": "string", "x-mcp-header": "My Region"}), "is not the name"),
        (schema(a={"type": "string", "x-mcp-header": "a:b"}), "is not the name"),
        (schema(a={"type": "string", "x-mcp-header": "a\r\nb"}), "is not the name"),
        (schema(a={"type": "string", "x-mcp-header": "Région"}), "is not the name"),
        (schema(a={"type": "string", "x-mcp-header": 5}), "is not the name"),
        (schema(a={"type": "number", "x-mcp-header": "A"}), "on a, which is no string, integer or boolean"),
        (schema(a={"type": "object", "x-mcp-header": "A"}), "which is no"),
        (schema(a={"type": "array", "x-mcp-header": "A"}), "which is no"),
        (schema(a={"type": "null", "x-mcp-header": "A"}), "which is no"),
        (schema(a={"type": ["null"], "x-mcp-header": "A"}), "which is no"),
        (schema(a={"type": ["string", "number"], "x-mcp-header": "A"}), "which is no"),
        (schema(a={"x-mcp-header": "A"}), "which is no"),
        ({"type": "object", "x-mcp-header": "A"}, "on the root, which is no"),
        (schema(a=REGION, b=REGION), "'Region' is there twice"),
        (schema(a=REGION, b={"type": "string", "x-mcp-header": "rEGION"}), "is there twice"),
        (schema(a={"type": "array", "items": REGION}), "cannot be reached by names alone"),
        ({"anyOf": [schema(a=REGION)]}, "cannot be reached"),
        ({"$defs": {"a": REGION}}, "cannot be reached"),
        ({"patternProperties": {".*": REGION}}, "cannot be reached"),
        ({"additionalProperties": REGION}, "cannot be reached"),
    ],
)
def test_annotation_that_breaks_the_rules_leaves_its_tool_out_and_says_why(broken: Json, words: str) -> None:
    """MCP 2026-07-28 streamable-http#schema-extension: that tool is rejected, the others stay."""
    problems: list[Flaw] = []
    good = Tool(name="good", input_schema=schema(region=REGION))
    assert Mirrors().take([Tool(name="bad", input_schema=broken), good], problems) == [good]
    (flaw,) = problems
    assert flaw.path == "/tools/0"
    assert "the tool 'bad' is left out" in flaw.message
    assert words in flaw.message


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"a": "eu-1"}, "eu-1"),
        ({"a": ""}, ""),
        ({"a": "é"}, "=?base64?w6k=?="),
        ({"a": True}, "true"),
        ({"a": 5}, "5"),
        ({"a": 5.0}, "5"),
        ({"a": -(2**53) + 1}, "-9007199254740991"),
        ({"a": None}, None),
        ({}, None),
        ({"a": 1.5}, None),
        ({"a": ["x"]}, None),
    ],
)
def test_values_are_encoded_and_missing_ones_have_no_header(arguments: Json, value: str | None) -> None:
    """MCP 2026-07-28 streamable-http#value-encoding; what does not fit the schema is the server's to refuse."""
    mirrors = Mirrors()
    mirrors.take([Tool(name="t", input_schema=schema(a={"type": "string", "x-mcp-header": "A"}, b={"type": "string"}))], [])
    assert mirrors.headers("t", {**arguments, "b": "never"}) == (() if value is None else (("Mcp-Param-A", value),))
    assert mirrors.headers("unknown", arguments) == ()


def test_integer_that_no_header_can_hold_is_refused_before_anything_is_sent() -> None:
    """MCP 2026-07-28 streamable-http#schema-extension: within 2^53-1."""
    mirrors = Mirrors()
    mirrors.take([Tool(name="t", input_schema=schema(a={"type": "integer", "x-mcp-header": "A"}))], [])
    with pytest.raises(LocalProtocolError, match="holds integers up to 9007199254740991"):
        mirrors.headers("t", {"a": 2**53})


def listing(*tools: Json) -> Any:
    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/list":
            return False
        exchange.reply_json(result(message["id"], tools=list(tools)))
        return True

    return odd


async def test_call_carries_the_headers_of_the_newest_listing() -> None:
    """MCP 2026-07-28 streamable-http#custom-headers; without a listing there are none, and none is asked for."""
    async with serving("modern", listing(ECHO | {"inputSchema": schema(region=REGION)})) as server, client(server.url) as mine:
        await mine.call_tool("echo", {"region": "eu"})
        await mine.list_tools()
        await mine.call_tool("echo", {"region": "eu", "text": "x"})
        calls = [e for e in server.server.requests if e.message["method"] == "tools/call"]
        assert [e.header("mcp-param-region") for e in calls] == [None, "eu"]
        assert server.count("POST tools/list") == 1


async def test_headers_that_are_refused_are_made_anew_once() -> None:
    """MCP 2026-07-28 streamable-http#client-behavior: -32020 leads to a new listing and one more try."""
    names = iter(["Old", "New", "New"])
    current = ""

    async def odd(_dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        nonlocal current
        if message["method"] == "tools/list":
            current = next(names)
            tool = ECHO | {"inputSchema": schema(region={"type": "string", "x-mcp-header": current})}
            exchange.reply_json(result(message["id"], tools=[tool]))
        elif message["method"] == "tools/call" and exchange.header("mcp-param-new") != "eu":
            error = {"code": -32020, "message": "header mismatch"}
            exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "error": error}, "400 Bad Request")
        else:
            return False
        return True

    async with serving("modern", odd) as server, client(server.url) as mine:
        await mine.list_tools()
        assert (await mine.call_tool("echo", {"region": "eu", "text": "x"})).text == "x"
        assert (server.count("POST tools/call"), server.count("POST tools/list")) == (2, 2)
        with pytest.raises(ServerError):
            await mine.call_tool("echo", {"region": "us"})  # the same again would be refused again
        assert (server.count("POST tools/call"), server.count("POST tools/list")) == (3, 3)


@pytest.mark.parametrize("era", ["legacy", "sse"])
async def test_other_eras_neither_leave_tools_out_nor_repeat_arguments(era: str) -> None:
    """MCP 2026-07-28 streamable-http#schema-extension: elsewhere the annotation means nothing."""
    bad = schema(region=REGION, other=REGION)

    async def odd(dialect: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/list":
            return False
        answer = result(message["id"], tools=[ECHO | {"inputSchema": bad}])
        if era == "sse":
            exchange.reply("202 Accepted")
            dialect.listening[-1].event(answer)
        else:
            exchange.reply_json(answer)
        return True

    async with serving(era, odd) as server, client(server.url) as mine:
        assert len(await mine.list_tools()) == 1
        await mine.call_tool("echo", {"region": "eu"})
        assert server.server.requests[-1].header("mcp-param-region") is None
