"""Resources, prompts, completion and logging, as the client sends and hands them over, in every revision."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import ElicitationAnswer
from dragoman.errors import LocalProtocolError, ServerError
from dragoman.wire.content import AudioContent, EmbeddedResource, ImageContent, ResourceLink, TextContent, UnknownContent
from tests.runtime.fakes import FakeServer, Json, client, turns
from tests.runtime.scripted import FORM, LEVELS, answering, params_of

# --- resources, prompts, completion


@pytest.mark.requirement("R-TOOL-26", "R-RES-03", "R-RES-05")
async def test_resource_has_several_parts_and_need_not_be_listed() -> None:
    """R-RES-03, R-TOOL-26: MCP server/resources#reading: text or base64, under other URIs than the one asked for."""
    parts = [{"uri": "a://x/1", "text": "one"}, {"uri": "a://x/2", "blob": "aGk=", "mimeType": "image/png"}, {"uri": "a://x/3", "text": ""}]
    server = answering("resources/read", {"contents": parts}, {"contents": []})
    async with client(server) as mine:
        read = await mine.read_resource("a://x")
        assert [(part.uri, part.text, part.blob) for part in read.contents] == [
            ("a://x/1", "one", None),
            ("a://x/2", None, "aGk="),
            ("a://x/3", "", None),
        ]
        assert (await mine.read_resource("a://x")).contents == ()  # empty is not "not found"
    assert params_of(server, "resources/read")[0] == {"uri": "a://x"}
    assert "resources/list" not in server.methods()


@pytest.mark.requirement("R-RES-04", "R-RES-05")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("code", [-32002, -32602])
async def test_resource_that_is_not_there_is_an_error_with_either_code(era: str, code: int) -> None:
    """R-RES-04, R-RES-05: MCP 2026-07-28 server/resources#error-handling; the old code is still accepted."""
    error = {"code": code, "message": "Resource not found"}
    server = FakeServer(lambda m: [{"id": m["id"], "error": error}] if m.get("method") == "resources/read" else None, era=era)
    async with client(server) as mine:
        with pytest.raises(ServerError) as caught:
            await mine.read_resource("a://x")
    assert caught.value.code == code


@pytest.mark.requirement("R-RES-06")
async def test_subscription_of_a_resource_is_asked_for_and_given_up_by_its_uri() -> None:
    """R-RES-06: MCP 2025-11-25 server/resources#subscriptions; an update may name a resource below it."""
    seen: list[Any] = []

    def on(message: Json) -> list[Json] | None:
        return [{"id": message["id"], "result": {}}] if str(message.get("method")).startswith("resources/") else None

    server = FakeServer(on)
    async with client(server, on_notification=lambda method, params: seen.append((method, params))) as mine:
        await mine.subscribe("a://x")
        server.say({"method": "notifications/resources/updated", "params": {"uri": "a://x/part"}})
        await turns(20)
        await mine.unsubscribe("a://x")
    assert seen == [("notifications/resources/updated", {"uri": "a://x/part"})]
    assert [m for m in server.methods() if m.startswith("resources/")] == ["resources/subscribe", "resources/unsubscribe"]
    assert params_of(server, "resources/subscribe") == params_of(server, "resources/unsubscribe") == [{"uri": "a://x"}]


@pytest.mark.requirement("R-RES-02", "R-PROMPT-02")
async def test_every_listing_follows_its_pages() -> None:
    """R-RES-02, R-PROMPT-02: MCP server/utilities/pagination."""

    def on(message: Json) -> list[Json] | None:
        member = {
            "resources/list": "resources",
            "resources/templates/list": "resourceTemplates",
            "prompts/list": "prompts",
        }.get(str(message.get("method")))
        if member is None:
            return None
        second = message["params"].get("cursor") == "c1"
        item = {"name": "two" if second else "one", "uri": "a://x", "uriTemplate": "a://{x}"}
        return [{"id": message["id"], "result": {member: [item]} | ({} if second else {"nextCursor": "c1"})}]

    async with client(FakeServer(on)) as mine:
        for listed in (await mine.list_resources(), await mine.list_resource_templates(), await mine.list_prompts()):
            assert [one.name for one in listed] == ["one", "two"]
        assert (await mine.list_resource_templates())[0].expand({"x": "b c"}) == "a://b%20c"


@pytest.mark.requirement("R-RES-09")
async def test_annotations_of_a_resource_are_handed_on() -> None:
    """R-RES-09: MCP server/resources#annotations: hints for whoever shows it."""
    hints = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z", "new": 1}
    async with client(answering("resources/list", {"resources": [{"uri": "a://x", "name": "x", "annotations": hints}]})) as mine:
        assert (await mine.list_resources())[0].annotations == hints


@pytest.mark.requirement("R-PROMPT-03", "R-PROMPT-05")
async def test_argument_of_a_prompt_that_is_no_text_is_refused_before_anything_is_sent() -> None:
    """R-PROMPT-03: schema, GetPromptRequestParams."""
    server = answering("prompts/get", {"messages": []})
    async with client(server) as mine:
        for value in (1, None, True, ["a"]):
            with pytest.raises(LocalProtocolError, match="must be text"):
                await mine.get_prompt("p", {"a": value})  # type: ignore[dict-item]  # the mistake
        assert "prompts/get" not in server.methods()
        await mine.get_prompt("p", {"a": "1"})
    assert params_of(server, "prompts/get") == [{"name": "p", "arguments": {"a": "1"}}]


@pytest.mark.requirement("R-PROMPT-04")
async def test_each_message_of_a_prompt_has_one_block_of_any_kind() -> None:
    """R-PROMPT-04: MCP server/prompts#promptmessage."""
    blocks: list[Json] = [
        {"type": "text", "text": "t"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a://b", "text": "x"}},
        {"type": "resource_link", "uri": "a://c", "name": "c"},
    ]
    messages = [{"role": "user", "content": block} for block in blocks] + [{"role": "assistant", "content": {"type": "new"}}]
    async with client(answering("prompts/get", {"messages": messages})) as mine:
        filled = await mine.get_prompt("p")
    kinds = [TextContent, ImageContent, AudioContent, EmbeddedResource, ResourceLink, UnknownContent]
    assert [type(message.content) for message in filled.messages] == kinds
    assert [message.role for message in filled.messages] == ["user"] * 5 + ["assistant"]


@pytest.mark.requirement("R-PROMPT-06", "R-MRTR-01")
@pytest.mark.parametrize(("method", "final"), [("prompts/get", {"messages": []}), ("resources/read", {"contents": []})])
async def test_prompts_and_resources_have_rounds_too(method: str, final: Json) -> None:
    """R-PROMPT-06, R-MRTR-01: MCP 2026-07-28 basic/patterns/mrtr#supported-requests."""
    server = answering(method, {"resultType": "input_required", "inputRequests": {"k": FORM}, "requestState": "s"}, final, era="modern")
    async with client(server, on_elicitation=lambda ask: ElicitationAnswer("decline")) as mine:
        await (mine.get_prompt("p") if method == "prompts/get" else mine.read_resource("a://x"))
    first, second = params_of(server, method)
    assert second == first | {"inputResponses": {"k": {"action": "decline"}}, "requestState": "s"}


@pytest.mark.requirement("R-COMP-02", "R-COMP-03")
async def test_completion_names_what_is_completed_and_what_is_known_already() -> None:
    """R-COMP-02, R-COMP-03: schema, CompleteRequest."""
    server = answering("completion/complete", *[{"completion": {"values": []}}] * 2)
    async with client(server) as mine:
        await mine.complete({"type": "ref/prompt", "name": "p"}, "city", "Ber")
        await mine.complete({"type": "ref/resource", "uri": "a://{x}/{y}"}, "y", "", context={"x": "1"})
    assert params_of(server, "completion/complete") == [
        {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "city", "value": "Ber"}},
        {
            "ref": {"type": "ref/resource", "uri": "a://{x}/{y}"},
            "argument": {"name": "y", "value": ""},
            "context": {"arguments": {"x": "1"}},
        },
    ]


@pytest.mark.requirement("R-COMP-04")
@pytest.mark.parametrize("found", [{"values": [str(n) for n in range(250)]}, {"values": ["a"], "total": None, "hasMore": None}, {}])
async def test_completion_of_any_size_and_with_parts_missing_is_read(found: Json) -> None:
    """R-COMP-04: MCP server/utilities/completion: partial results are no errors."""
    async with client(answering("completion/complete", {"completion": found})) as mine:
        completion = await mine.complete({"type": "ref/prompt", "name": "p"}, "a", "")
    assert list(completion.values) == found.get("values", [])
    assert (completion.total, completion.has_more) == (None, False)


# --- logging


@pytest.mark.requirement("R-LOG-01", "R-LOG-02", "R-LOG-04", "R-PING-03")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_each_level_is_asked_for_as_its_era_wants_it(era: str, level: str) -> None:
    """R-LOG-01, R-LOG-02, R-LOG-04: a request of its own, or `_meta` of each request from then on; and none before."""
    key = "io.modelcontextprotocol/logLevel"

    def on(message: Json) -> list[Json] | None:
        return [{"id": message["id"], "result": {}}] if message.get("method") == "logging/setLevel" else None

    server = FakeServer(on, era=era)
    async with client(server) as mine:
        await mine.call_tool("echo")
        await mine.set_log_level(level)
        await mine.call_tool("echo")
        await mine.ping()
    metas = [m["params"].get("_meta", {}).get(key) for m in server.sent if m.get("method") == "tools/call"]
    assert metas == ([None, None] if era == "legacy" else [None, level])
    assert params_of(server, "logging/setLevel") == ([{"level": level}] if era == "legacy" else [])
    assert ("ping" in server.methods()) is (era == "legacy")


@pytest.mark.requirement("R-LOG-01", "R-LOG-04")
@pytest.mark.parametrize("data", ["text", None, 1.5, [1], {"a": {"b": None}}, True])
async def test_log_message_is_handed_on_though_no_level_was_set_and_whatever_its_data_is(data: Any) -> None:
    """R-LOG-01, R-LOG-04: MCP server/utilities/logging: the server may choose; data is any JSON."""
    logs: list[Json] = []
    server = FakeServer()
    async with client(server, on_log=logs.append):
        for level in LEVELS:
            server.say({"method": "notifications/message", "params": {"level": level, "logger": "db", "data": data}})
        await turns(30)
    assert logs == [{"level": level, "logger": "db", "data": data} for level in LEVELS]


@pytest.mark.requirement("R-LIFE-06", "R-CAP-06", "R-TOOL-01", "R-RES-01", "R-PROMPT-01", "R-COMP-01", "R-LOG-01")
@pytest.mark.parametrize(
    "method", ["tools/list", "resources/list", "resources/subscribe", "prompts/get", "completion/complete", "logging/setLevel"]
)
async def test_feature_that_was_not_declared_is_not_asked_for(method: str) -> None:
    """R-CAP-06, R-LOG-01, R-COMP-01, R-RES-01, R-PROMPT-01, R-TOOL-01: MCP 2025-11-25 basic/lifecycle#operation."""
    server = answering("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
    async with client(server, revision="2025-11-25") as mine:
        with pytest.raises(LocalProtocolError, match="did not declare the capability"):
            await mine.request(method, {})
    assert method not in server.methods()
