"""server-everything (npm, legacy era): every feature of it that needs no tasks, through our client."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman import CallTimeout, Client, Elicitation, Progress, ServerError
from dragoman.wire.content import EmbeddedResource, ImageContent, ResourceLink, TextContent
from tests.interop import envs
from tests.interop.handlers import Inbox, Model, Notices, Person

PLAIN = {
    *("echo", "get-annotated-message", "get-env", "get-resource-links", "get-resource-reference", "get-structured-content"),
    *("get-sum", "get-tiny-image", "gzip-file-as-resource", "simulate-research-query", "toggle-simulated-logging"),
    *("toggle-subscriber-updates", "trigger-long-running-operation"),
}
FOR_ABLE_CLIENTS = {"get-roots-list", "trigger-elicitation-request", "trigger-sampling-request", "trigger-url-elicitation"}


def everything(**options: Any) -> Client:
    return Client(envs.npm_server("server-everything"), timeout_s=20, **options)


async def test_connects_as_legacy_and_tells_who_it_is() -> None:
    """MCP 2025-11-25 basic/lifecycle: this server answers the probe with -32601 and then the handshake."""
    async with everything() as client:
        server = client.server
        assert (server.era, server.revision, server.name) == ("legacy", "2025-11-25", "mcp-servers/everything")
        assert {"tools", "prompts", "resources", "logging", "completions"} <= server.capabilities.keys()
        assert server.instructions
        assert "Everything Server" in server.instructions
        await client.ping()
        assert client.violations == {}


async def test_offers_tools_by_what_the_client_declares() -> None:
    """It registers some tools only after it has seen our capabilities, so the declaration itself is under test."""
    async with everything() as client:
        assert {tool.name for tool in await client.list_tools()} == PLAIN
    async with everything(roots=["/tmp"], on_sampling=Model(), on_elicitation=Person()) as client:
        assert {tool.name for tool in await client.list_tools()} == PLAIN | FOR_ABLE_CLIENTS
        assert client.problems == []


async def test_simple_tools_answer_with_text_and_structure() -> None:
    """Server/tools: text and structuredContent."""
    async with everything() as client:
        assert (await client.call_tool("echo", {"message": "你好, wörld 🌍"})).text == "Echo: 你好, wörld 🌍"
        assert "5" in (await client.call_tool("get-sum", {"a": 2, "b": 3})).text
        weather = await client.call_tool("get-structured-content", {"location": "Chicago"})
        assert weather.structured == {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
        assert json.loads(weather.text) == weather.structured


async def test_content_blocks_of_every_kind_are_typed() -> None:
    """Server/tools, tool result: text, image, resource link, embedded resource, annotations."""
    async with everything() as client:
        image = (await client.call_tool("get-tiny-image")).content[1]
        assert isinstance(image, ImageContent)
        assert image.mime_type == "image/png"
        assert base64.b64decode(image.data).startswith(b"\x89PNG")

        annotated = await client.call_tool("get-annotated-message", {"messageType": "error", "includeImage": True})
        text, picture = annotated.content
        assert isinstance(text, TextContent)
        assert text.annotations == {"priority": 1, "audience": ["user", "assistant"]}
        assert isinstance(picture, ImageContent)
        assert picture.annotations == {"priority": 0.5, "audience": ["user"]}

        links = [block for block in (await client.call_tool("get-resource-links", {"count": 4})).content if isinstance(block, ResourceLink)]
        assert len(links) == 4
        assert (await client.read_resource(links[1].uri)).text.startswith("Resource 2: This is a plaintext resource")

        reference = (await client.call_tool("get-resource-reference", {"resourceType": "Blob", "resourceId": 3})).content[1]
        assert isinstance(reference, EmbeddedResource)
        assert base64.b64decode(reference.resource.blob or "").startswith(b"Resource 3: This is a base64 blob")


async def test_wrong_arguments_and_unknown_tools_are_results_and_not_exceptions() -> None:
    """Server/tools, error handling: this server puts both into `isError`."""
    async with everything() as client:
        wrong = await client.call_tool("get-sum", {"a": 1, "b": "x"})
        assert wrong.is_error
        assert "expected number" in wrong.text
        assert (await client.call_tool("no-such-tool")).is_error
        needs_tasks = await client.call_tool("simulate-research-query", {"topic": "x"})
        assert needs_tasks.is_error
        assert "task" in needs_tasks.text


async def test_progress_arrives_in_order_and_before_the_result() -> None:
    """Basic/utilities/progress."""
    steps: list[Progress] = []
    async with everything() as client:
        result = await client.call_tool("trigger-long-running-operation", {"duration": 0.2, "steps": 4}, on_progress=steps.append)
        assert steps == [Progress(step, 4) for step in (1, 2, 3, 4)]
        assert "completed" in result.text


async def test_cancelled_call_leaves_the_connection_usable() -> None:
    """Basic/utilities/cancellation: the call ends here at once, the server is told, and its late answer hurts nobody."""
    sent: list[bytes] = []
    started: Inbox[Progress] = Inbox()
    async with everything(on_wire=lambda way, data: sent.append(bytes(data)) if way == "→" else None) as client:
        arguments = {"duration": 1.2, "steps": 12}
        call = asyncio.create_task(client.call_tool("trigger-long-running-operation", arguments, on_progress=started.put))
        await started.until(lambda _: True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await client.call_tool("echo", {"message": "still here"})).text == "Echo: still here"
        assert any(b"notifications/cancelled" in message for message in sent)
        later = await client.call_tool("trigger-long-running-operation", {"duration": 1.5, "steps": 1})
        assert "Duration: 1.5" in later.text
        assert client.violations == {}


async def test_deadline_ends_one_call_and_no_other() -> None:
    """Our choice: one call's trouble is that call's alone."""
    async with everything() as client:
        slow = asyncio.create_task(client.call_tool("trigger-long-running-operation", {"duration": 30, "steps": 1}, timeout_s=0.3))
        other = asyncio.create_task(client.call_tool("trigger-long-running-operation", {"duration": 0.8, "steps": 1}))
        with pytest.raises(CallTimeout) as caught:
            await slow
        assert caught.value.maybe_ran != "no"
        assert "completed" in (await other).text
        assert (await client.call_tool("echo", {"message": "on"})).text == "Echo: on"


async def test_elicitation_is_answered_with_the_defaults_of_the_form_filled_in() -> None:
    """Client/elicitation, form mode; the server checks the answer against its own schema."""
    person = Person(name="Ada", check=True)
    async with everything(on_elicitation=person) as client:
        result = await client.call_tool("trigger-elicitation-request")
        assert "- Name: Ada" in result.text
        assert "- Agreed to terms: true" in result.text
        assert "- Favorite Integer: 42" in result.text
        assert (person.asked[0].schema or {})["required"] == ["name"]


@pytest.mark.parametrize(("action", "said"), [("decline", "User declined"), ("cancel", "User cancelled")])
async def test_elicitation_can_be_declined_or_cancelled(action: str, said: str) -> None:
    """Client/elicitation, response actions."""
    async with everything(on_elicitation=Person(action)) as client:
        assert said in (await client.call_tool("trigger-elicitation-request")).text


async def test_elicitation_in_url_mode_goes_both_ways() -> None:
    """Client/elicitation, url mode: as a request, and as error -32042 with the links in its data."""
    person = Person()
    async with everything(on_elicitation=person) as client:
        url = "https://example.com/consent"
        assert "completed" in (await client.call_tool("trigger-url-elicitation", {"url": url, "message": "Please"})).text
        assert person.asked == [Elicitation("Please", "url", None, url, client.label)]
        person.asked.clear()
        assert not (await client.call_tool("trigger-url-elicitation", {"url": url, "errorPath": True})).is_error  # asked, and sent again
        assert [ask.mode for ask in person.asked] == ["url", "url"]  # for the error, and by the call that was sent again
        assert person.asked[-1].url == url
    refusing = Person("decline")
    async with everything(on_elicitation=refusing) as client:
        with pytest.raises(ServerError) as caught:
            await client.call_tool("trigger-url-elicitation", {"url": url, "errorPath": True})
        assert caught.value.code == -32042
        assert caught.value.data["elicitations"][0]["mode"] == "url"


async def test_sampling_is_answered_by_the_handler() -> None:
    """Client/sampling."""
    model = Model("a short poem")
    async with everything(on_sampling=model) as client:
        result = await client.call_tool("trigger-sampling-request", {"prompt": "write", "maxTokens": 7})
        assert "a short poem" in result.text
        assert "parrot-1" in result.text
        assert model.asked[0]["maxTokens"] == 7
        assert model.asked[0]["messages"][0]["content"]["text"].endswith("context: write")


async def test_roots_are_shown_to_the_server(tmp_path: Path) -> None:
    """Client/roots: paths become file URIs."""
    async with everything(roots=[tmp_path]) as client:
        assert tmp_path.as_uri() in (await client.call_tool("get-roots-list")).text


async def test_child_sees_the_variables_it_was_given_and_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: a server that strangers wrote gets no variable that nobody named."""
    monkeypatch.setenv("SHOP_PASSWORD", "hunter2")
    async with everything(env={"GREETING": "hello"}) as client:
        seen = json.loads((await client.call_tool("get-env")).text)
        assert seen["GREETING"] == "hello"
        assert "PATH" in seen
        assert "SHOP_PASSWORD" not in seen


async def test_resources_are_listed_read_and_templated() -> None:
    """Server/resources."""
    async with everything() as client:
        uris = [resource.uri for resource in await client.list_resources()]
        assert "demo://resource/static/document/features.md" in uris
        assert "# " in (await client.read_resource("demo://resource/static/document/features.md")).text
        templates = {template.uri_template for template in await client.list_resource_templates()}
        assert templates == {"demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"}
        with pytest.raises(ServerError) as caught:
            await client.read_resource("demo://nowhere")
        assert caught.value.code == -32602


async def test_resource_made_by_a_tool_is_announced_and_can_be_read() -> None:
    """Server/resources, list changed."""
    notices = Notices()
    async with everything(on_notification=notices.note) as client:
        arguments = {"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resourceLink"}
        (link,) = (await client.call_tool("gzip-file-as-resource", arguments)).content
        assert isinstance(link, ResourceLink)
        await notices.of("notifications/resources/list_changed")
        (part,) = (await client.read_resource(link.uri)).contents
        assert gzip.decompress(base64.b64decode(part.blob or "")) == b"hello"


async def test_subscribed_resource_tells_its_updates() -> None:
    """Server/resources, subscriptions (revisions up to 2025-11-25)."""
    notices = Notices()
    uri = "demo://resource/dynamic/text/1"
    async with everything(on_notification=notices.note) as client:
        await client.subscribe(uri)
        await client.call_tool("toggle-subscriber-updates")
        assert await notices.of("notifications/resources/updated") == {"uri": uri}
        await client.unsubscribe(uri)


async def test_change_of_the_tool_list_is_announced() -> None:
    """Server/tools, list changed: it adds tools when it has seen our capabilities."""
    notices = Notices()
    async with everything(on_notification=notices.note):
        await notices.of("notifications/tools/list_changed")


async def test_log_messages_come_at_the_level_asked_for() -> None:
    """Server/utilities/logging: subscribing logs a line at `info`, which `error` suppresses."""
    lines: Inbox[dict[str, Any]] = Inbox()
    async with everything(on_log=lines.put) as client:
        await client.set_log_level("error")
        await client.subscribe("demo://resource/dynamic/text/1")
        await client.set_log_level("info")
        await client.subscribe("demo://resource/dynamic/text/2")
        line = await lines.until(lambda params: "text/2" in params["data"])
        assert line["level"] == "info"
        assert not any("text/1" in params["data"] for params in lines.seen)


async def test_prompts_are_listed_and_filled_in() -> None:
    """Server/prompts: without arguments, with one of two, with an embedded resource."""
    async with everything() as client:
        prompts = {prompt.name: prompt for prompt in await client.list_prompts()}
        assert prompts.keys() == {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"}
        required = {argument.name: bool(argument.required) for argument in prompts["args-prompt"].arguments or []}
        assert required == {"city": True, "state": False}
        assert (await client.get_prompt("args-prompt", {"city": "Oslo"})).text == "user: What's weather in Oslo?"
        filled = await client.get_prompt("resource-prompt", {"resourceType": "Text", "resourceId": "2"})
        assert isinstance(filled.messages[1].content, EmbeddedResource)
        with pytest.raises(ServerError):
            await client.get_prompt("args-prompt", {})


async def test_completion_uses_what_is_filled_in_already() -> None:
    """Server/utilities/completion, with a context (from 2025-06-18 on)."""
    async with everything() as client:
        ref = {"type": "ref/prompt", "name": "completable-prompt"}
        assert (await client.complete(ref, "department", "S")).values == ("Sales", "Support")
        assert (await client.complete(ref, "name", "", context={"department": "Sales"})).values == ("David", "Eve", "Frank")
        template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
        assert (await client.complete(template, "resourceId", "12")).values == ("12",)
