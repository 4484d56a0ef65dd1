"""Errors and tools, as the client sends and hands them over: every revision's rules that no other file is about."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from dragoman.errors import CallFailed, CallTimeout, ServerError
from dragoman.runtime.listing import all_pages
from dragoman.wire.content import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, UnknownContent
from dragoman.wire.listing import Tool
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, client, turns, words
from tests.runtime.scripted import answering, params_of, refusing

# --- errors


@pytest.mark.requirement("R-FRAME-07", "R-FRAME-16")
@pytest.mark.parametrize("code", [-32000, -32001, -32005, -32019, -32002, -32042, 7])
async def test_code_of_a_server_is_handed_on_and_means_nothing_to_us(code: int) -> None:
    """R-FRAME-07, R-FRAME-16: MCP 2026-07-28 basic/index#error-codes; whatever the data is."""
    for data in (None, "text", [1], {"a": {"b": 1}}):
        server = refusing(code, data, "modern")
        async with client(server) as mine:
            with pytest.raises(ServerError) as caught:
                await mine.call_tool("t")
        assert (caught.value.code, caught.value.data) == (code, data)
        assert server.methods().count("tools/call") == 1


@pytest.mark.requirement("R-CAP-05")
@pytest.mark.parametrize("needed", [{"elicitation": {"form": {}}}, ["elicitation"]])
async def test_capability_that_a_server_misses_is_named(needed: Any) -> None:
    """R-CAP-05: MCP 2026-07-28 schema, MissingRequiredClientCapabilityError."""
    async with client(refusing(-32021, {"requiredCapabilities": needed}, "modern")) as mine:
        with pytest.raises(ServerError) as caught:
            await mine.call_tool("t")
    assert "needs the client capability elicitation" in str(caught.value.hint)


@pytest.mark.requirement("R-CAP-05")
@pytest.mark.parametrize("data", [None, [], {"requiredCapabilities": None}, {"requiredCapabilities": {}}])
async def test_capability_that_is_missing_and_not_named_is_an_error_all_the_same(data: Any) -> None:
    """R-CAP-05: the shape of the data is the server's word only."""
    async with client(refusing(-32021, data, "modern")) as mine:
        with pytest.raises(ServerError) as caught:
            await mine.call_tool("t")
    assert (caught.value.code, caught.value.hint) == (-32021, None)


@pytest.mark.requirement("R-FRAME-17")
async def test_error_raised_here_is_no_error_of_a_server() -> None:
    """R-FRAME-17: MCP 2026-07-28 basic/index#error-codes: only what a peer sent has a code."""
    async with client(FakeServer(lambda m: [] if m.get("method") == "tools/call" else None)) as mine:
        with pytest.raises(CallFailed) as caught:
            await mine.call_tool("t", timeout_s=0.02)
    assert not isinstance(caught.value, ServerError)
    assert not hasattr(caught.value, "code")


@pytest.mark.requirement("R-LIFE-27", "R-LIFE-28")
async def test_progress_does_not_move_the_deadline(clock: LoopClock) -> None:
    """R-LIFE-28: MCP 2025-11-25 basic/lifecycle#timeouts: there is a ceiling whatever is notified."""
    server = FakeServer(lambda m: [] if m.get("method") == "tools/call" else None)
    async with client(server) as mine:
        call = asyncio.create_task(mine.call_tool("t", timeout_s=20, on_progress=lambda progress: None))
        await turns()
        for step in range(3):
            token = next(m["params"]["_meta"]["progressToken"] for m in server.sent if m.get("method") == "tools/call")
            server.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
            await turns()
            await clock.advance(7)
        with pytest.raises(CallTimeout):
            await call


@pytest.mark.requirement("R-LIFE-08")
@pytest.mark.parametrize(("era", "method"), [("legacy", "initialize"), ("modern", "server/discover")])
async def test_instructions_are_handed_to_the_program(era: str, method: str) -> None:
    """R-LIFE-08: InitializeResult and DiscoverResult."""
    hello = {"protocolVersion": "2025-11-25", "supportedVersions": ["2026-07-28"], "capabilities": {}, "serverInfo": {"name": "s"}}
    server = answering(method, hello | {"instructions": "be\x1b kind"}, era=era)
    async with client(server, revision="2025-11-25" if era == "legacy" else None) as mine:
        assert mine.server.instructions == "be\x1b kind"  # as it came: whoever shows it escapes it


# --- tools


@pytest.mark.requirement("R-TOOL-04")
@pytest.mark.parametrize(("era", "pages"), [("modern", 2), ("legacy", 1)])
async def test_empty_cursor_leads_on_in_the_stateless_era_and_is_the_end_in_the_other(era: str, pages: int) -> None:
    """R-TOOL-04: MCP 2026-07-28 server/utilities/pagination. Our choice for the rest: some old servers mean the end by it."""
    server = answering("tools/list", {"tools": [ECHO], "nextCursor": ""}, {"tools": [ECHO | {"name": "two"}]}, era=era)
    async with client(server) as mine:
        assert len(await mine.list_tools()) == pages
    assert params_of(server, "tools/list") == [{}, {"cursor": ""}][:pages]


@pytest.mark.requirement("R-TOOL-04")
async def test_empty_cursor_that_comes_again_ends_the_listing() -> None:
    """R-TOOL-04: a guard against listings without an end."""

    async def ask(method: str, params: Json, timeout_s: float) -> Raw:
        return Raw(msgspec.json.encode({"tools": [ECHO], "nextCursor": ""}))

    items, problems = await all_pages(ask, "tools/list", "tools", 10, "fake", empty_cursor=True)
    assert (len(items), len(problems)) == (2, 1)


@pytest.mark.requirement("R-TOOL-05", "R-TOOL-06", "R-CACHE-07")
async def test_listing_starts_without_a_cursor_each_time_also_after_one_was_refused() -> None:
    """R-TOOL-05, R-TOOL-06: MCP server/utilities/pagination: -32602; cursors are not kept."""
    refuse = [True]

    def on(message: Json) -> list[Json] | None:
        if message.get("method") != "tools/list":
            return None
        if "cursor" in message["params"]:
            if refuse.pop() if refuse else False:
                return [{"id": message["id"], "error": {"code": -32602, "message": "Invalid cursor"}}]
            return [{"id": message["id"], "result": {"tools": [ECHO | {"name": "two"}]}}]
        return [{"id": message["id"], "result": {"tools": [ECHO], "nextCursor": "c"}}]

    server = FakeServer(on)
    async with client(server) as mine:
        with pytest.raises(ServerError):
            await mine.list_tools()
        assert [tool.name for tool in await mine.list_tools()] == ["echo", "two"]
    assert params_of(server, "tools/list") == [{}, {"cursor": "c"}, {}, {"cursor": "c"}]


@pytest.mark.requirement("R-TOOL-10")
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (Tool(name="n", title="T", annotations={"title": "A"}), "T"),
        (Tool(name="n", annotations={"title": "A"}), "A"),
        (Tool(name="n", annotations={"title": 5}), "n"),
        (Tool(name="n"), "n"),
    ],
)
def test_title_comes_before_that_of_the_annotations_and_that_before_the_name(tool: Tool, name: str) -> None:
    """R-TOOL-10: schema, Tool."""
    assert tool.display_name == name


@pytest.mark.requirement("R-TOOL-13")
@pytest.mark.parametrize("schema", [None, [], "object", 5])
async def test_tool_whose_schema_is_no_schema_is_set_aside_and_the_others_stay(schema: Any) -> None:
    """R-TOOL-13: schema, Tool.inputSchema."""
    async with client(answering("tools/list", {"tools": [ECHO, {"name": "bad", "inputSchema": schema}]})) as mine:
        assert [tool.name for tool in await mine.list_tools()] == ["echo"]
        assert len(mine.problems) == 1


@pytest.mark.requirement("R-TOOL-13")
async def test_arguments_are_an_object_also_where_there_are_none() -> None:
    """R-TOOL-13: schema, CallToolRequestParams."""
    server = FakeServer()
    async with client(server) as mine:
        await mine.call_tool("echo")
    assert params_of(server, "tools/call") == [{"name": "echo", "arguments": {}}]


@pytest.mark.requirement("R-TOOL-14", "R-TOOL-19", "R-SCHEMA-01")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_tools_keep_their_order_and_every_word_of_their_schemas(era: str) -> None:
    """R-TOOL-14, R-TOOL-19: MCP 2026-07-28 server/tools and SEP-2106."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"a": {"$anchor": "here", "type": "string"}},
        "type": "object",
        "properties": {"x": {"$ref": "#here"}, "y": {"allOf": [{"anyOf": [{"type": "null"}]}]}},
        "if": {"required": ["x"]},
        "then": {"required": ["y"]},
        "else": {"maxProperties": 3},
        "additionalProperties": False,
        "x-mine": [1],
    }
    listed = [{"name": name, "inputSchema": schema, "outputSchema": {"type": "array", "items": {"$ref": "#/$defs/a"}}} for name in "zab"]
    async with client(answering("tools/list", {"tools": listed}, era=era)) as mine:
        tools = await mine.list_tools()
    assert [tool.name for tool in tools] == ["z", "a", "b"]
    assert [tool.input_schema for tool in tools] == [schema] * 3
    assert tools[0].output_schema == listed[0]["outputSchema"]


@pytest.mark.requirement("R-FRAME-21", "R-TOOL-15")
async def test_each_kind_of_content_has_a_type_and_an_unknown_one_is_kept_as_it_came() -> None:
    """R-TOOL-15, R-FRAME-21: MCP server/tools#tool-result, all revisions."""
    blocks = [
        {"type": "text", "text": "t"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "x"}},
        {"type": "resource_link", "uri": "a://c", "name": "c"},
        {"type": "hologram", "beams": 3},
    ]
    async with client(answering("tools/call", {"content": blocks})) as mine:
        result = await mine.call_tool("t")
    kinds = [TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink, UnknownContent]
    assert [type(block) for block in result.content] == kinds
    last = result.content[-1]
    assert isinstance(last, UnknownContent)
    assert msgspec.json.decode(last.raw) == blocks[-1]


@pytest.mark.requirement("R-TOOL-17", "R-TOOL-18")
@pytest.mark.parametrize("value", [{"a": 1}, None, [1, {"b": None}], "text", 0, False, 1.5, 10**30])
async def test_structured_content_may_be_any_json_and_null_is_not_absence(value: Any) -> None:
    """R-TOOL-17, R-TOOL-18: MCP 2026-07-28 server/tools#structured-content."""
    server = answering("tools/call", {"content": [], "structuredContent": value}, {"content": []}, era="modern")
    async with client(server) as mine:
        result = await mine.call_tool("t")
        assert (result.structured, result.has_structured) == (value, True)
        assert type(result.structured) is type(value)
        none = await mine.call_tool("t")
        assert (none.structured, none.has_structured) == (None, False)


@pytest.mark.requirement("R-TOOL-11")
async def test_names_of_tools_go_out_letter_for_letter() -> None:
    """R-TOOL-11: MCP 2025-11-25 server/tools#tool-names: case counts, and no name breaks anything."""
    names = ["Echo", "echo", "ECHO", "a.b-c_d", "größe", "x y", "x" * 300, ""]
    server = FakeServer(lambda m: [{"id": m["id"], "result": words("ok")}] if m.get("method") == "tools/call" else None)
    async with client(server) as mine:
        for name in names:
            await mine.call_tool(name)
    assert [params["name"] for params in params_of(server, "tools/call")] == names
