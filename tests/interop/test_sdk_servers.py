"""Servers on the official Python SDKs over stdio: 2.3 in both eras, 1.30 in the legacy one, with the same expectations."""

from __future__ import annotations

import asyncio
import base64
from typing import Any, Literal

import pytest

from dragoman import CallFailed, CallTimeout, Client, Host, Progress, ServerError, ToolResult
from tests.interop import envs
from tests.interop.handlers import Inbox, Model, Notices, Person, eventually

Peer = tuple[str, Literal["2026-07-28", "2025-11-25"]]
RICH: list[Peer] = [("high_level_2", "2026-07-28"), ("high_level_2", "2025-11-25"), ("fastmcp_1", "2025-11-25")]
LOW: list[Peer] = [("low_level_2", "2026-07-28"), ("low_level_2", "2025-11-25")]

rich = pytest.mark.parametrize("peer", RICH, ids=["-".join(peer) for peer in RICH])
low = pytest.mark.parametrize("peer", LOW, ids=["-".join(peer) for peer in LOW])


def connect(peer: Peer, **options: Any) -> Client:
    name, revision = peer
    return Client(envs.sdk_server(name), revision=revision, timeout_s=20, **options)


@pytest.mark.parametrize(
    ("name", "era", "revision"),
    [("high_level_2", "modern", "2026-07-28"), ("low_level_2", "modern", "2026-07-28"), ("fastmcp_1", "legacy", "2025-11-25")],
)
async def test_era_is_found_without_being_told(name: str, era: str, revision: str) -> None:
    """Basic/transports/stdio, backward compatibility: the newest revision that both sides speak."""
    async with Client(envs.sdk_server(name), timeout_s=20) as client:
        assert (client.server.era, client.server.revision) == (era, revision)
        await client.ping()
        assert await client.list_tools()


@rich
async def test_lists_and_calls_with_structured_results(peer: Peer) -> None:
    """Server/tools: both generations wrap a bare value into `result`."""
    async with connect(peer) as client:
        assert client.server.instructions == "Ask for a table, not for the moon."
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert len(tools) == 11
        assert isinstance(tools["weather"].output_schema, dict)
        assert set(tools["weather"].output_schema["properties"]) == {"city", "celsius"}
        assert (await client.call_tool("add", {"a": 2, "b": 40})).structured == {"result": 42}
        assert (await client.call_tool("weather", {"city": "São Paulo"})).structured == {"city": "São Paulo", "celsius": 21.5}
        assert client.violations == {}


@rich
async def test_failures_of_tools_are_outcomes(peer: Peer) -> None:
    """Server/tools, error handling: a tool that raises, wrong arguments, no such tool."""
    async with connect(peer) as client:
        failed = await client.call_tool("fail", {"why": "it is Monday"})
        assert failed.is_error
        assert "cannot: it is Monday" in failed.text
        assert (await client.call_tool("add", {"a": "two", "b": 1})).is_error
        assert (await client.call_tool("no_such_tool")).is_error


@rich
async def test_progress_and_log_messages_arrive(peer: Peer) -> None:
    """Basic/utilities/progress and server/utilities/logging: the modern era logs only to requests that ask for a level."""
    steps: list[Progress] = []
    lines: Inbox[dict[str, Any]] = Inbox()
    async with connect(peer, on_log=lines.put) as client:
        await client.call_tool("count", {"steps": 3}, on_progress=steps.append)
        assert steps == [Progress(step, 3, f"step {step}") for step in (1, 2, 3)]
        if client.server.era == "modern":
            await client.call_tool("chatter")
            await client.set_log_level("warning")
        await client.call_tool("chatter")
        line = await lines.until(lambda params: params["level"] == "warning")
        assert line == {"level": "warning", "logger": "kitchen", "data": "a warning"}
        if client.server.era == "modern":
            assert lines.seen == [line]


@rich
@pytest.mark.parametrize(
    ("person", "said"),
    [
        (Person(guests=3), "table for 3 on Friday, window False"),
        (Person(guests=2, window=True), "table for 2 on Friday, window True"),
        (Person("decline"), "not booked: decline"),
        (Person("cancel"), "not booked: cancel"),
    ],
    ids=["default", "full", "decline", "cancel"],
)
async def test_elicitation_is_answered_in_both_eras(peer: Peer, person: Person, said: str) -> None:
    """Client/elicitation: a request of the server (legacy), or an `input_required` round (2026-07-28 basic/patterns/mrtr)."""
    async with connect(peer, on_elicitation=person) as client:
        assert (await client.call_tool("book_table", {"day": "Friday"})).text == said
        assert person.asked[-1].message == "How many guests on Friday?"


@rich
async def test_sampling_and_roots_are_answered_in_both_eras(peer: Peer) -> None:
    """Client/sampling and client/roots."""
    model = Model("waves")
    async with connect(peer, on_sampling=model, roots=["/srv/menu"]) as client:
        assert (await client.call_tool("poem", {"topic": "the sea"})).text == "parrot-1: waves"
        assert "the sea" in str(model.asked[0]["messages"])
        assert (await client.call_tool("folders")).structured == {"result": ["file:///srv/menu"]}


@pytest.mark.parametrize("peer", [*RICH[:2], LOW[1]], ids=["-".join(peer) for peer in [*RICH[:2], LOW[1]]])
async def test_what_we_did_not_declare_ends_the_call_with_the_error_of_the_server(peer: Peer) -> None:
    """-32021 from servers that look at our capabilities, else our own -32601, passed on."""
    async with connect(peer) as client:
        high = peer[0] == "high_level_2"
        with pytest.raises(ServerError) as caught:
            await client.call_tool("book_table" if high else "two_questions", {"day": "Friday"})
        assert caught.value.code == (-32021 if high else -32601)
        assert await client.list_tools()


async def test_what_we_did_not_declare_ends_in_a_result_on_the_old_sdk() -> None:
    """It asks all the same, and its tool reports our refusal in its result."""
    async with connect(RICH[2]) as client:
        refused = await client.call_tool("book_table", {"day": "Friday"})
        assert refused.is_error
        assert "does not offer elicitation/create" in refused.text
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured == {"result": 2}


async def test_round_that_we_cannot_answer_ends_the_call_here() -> None:
    """2026-07-28 basic/patterns/mrtr: this server asks for an input without looking at what we declared."""
    async with connect(LOW[0]) as client:
        with pytest.raises(CallFailed, match="elicitation/create") as caught:
            await client.call_tool("two_questions")
        assert not isinstance(caught.value, ServerError)
        assert (await client.call_tool("measure", {"text": "on"})).structured == {"length": 2}


@rich
async def test_cancellation_reaches_the_tool(peer: Peer) -> None:
    """Basic/utilities/cancellation: the handler on the server is cancelled, for our cancellation and for our deadline."""
    started: Inbox[Progress] = Inbox()
    async with connect(peer) as client:
        call = asyncio.create_task(client.call_tool("wait", on_progress=started.put))
        await started.until(lambda _: True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await endings(client, 1)
        with pytest.raises(CallTimeout):
            await client.call_tool("wait", timeout_s=0.2)
        await endings(client, 2)
        assert client.violations == {}


async def endings(client: Client, count: int) -> None:
    """Wait until the server has seen this many calls of `wait` cancelled."""

    async def seen() -> bool:
        return bool((await client.call_tool("how_it_ended")).structured == {"result": ["cancelled"] * count})

    await eventually(seen)


@rich
async def test_resources_prompts_and_completion(peer: Peer) -> None:
    """Server/resources, server/prompts, server/utilities/completion."""
    async with connect(peer) as client:
        assert [resource.uri for resource in await client.list_resources()] == ["menu://today"]
        assert (await client.read_resource("menu://today")).text == "Lentils, 豆腐, crème brûlée"
        assert [template.uri_template for template in await client.list_resource_templates()] == ["dish://{name}"]
        (part,) = (await client.read_resource("dish://soup")).contents
        assert base64.b64decode(part.blob or "") == b"soup"
        with pytest.raises(ServerError):
            await client.read_resource("menu://yesterday")
        assert (await client.get_prompt("greet", {"name": "Ada"})).text == "user: Greet Ada warmly."
        assert (await client.complete({"type": "ref/prompt", "name": "greet"}, "name", "A")).values == ("Ada", "Alan")


@low
async def test_pages_are_followed_and_errors_keep_their_data(peer: Peer) -> None:
    """Server/utilities/pagination; JSON-RPC errors with a code of the server's own."""
    async with connect(peer) as client:
        assert [tool.name for tool in await client.list_tools()] == ["measure", "two_questions", "announce", "refuse"]
        assert (await client.call_tool("measure", {"text": "豆腐"})).structured == {"length": 2}
        with pytest.raises(ServerError) as caught:
            await client.call_tool("refuse")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32050, "not today", {"until": "tomorrow"})


@low
async def test_two_questions_take_two_rounds_and_the_state_comes_back(peer: Peer) -> None:
    """2026-07-28 basic/patterns/mrtr: the server forgets everything but the opaque state; legacy: two asks in one call."""
    person = Person(name="Ada", colour="red")
    async with connect(peer, on_elicitation=person) as client:
        assert (await client.call_tool("two_questions")).text == "Ada likes red"
        assert [ask.message for ask in person.asked] == ["Your name?", "Your colour?"]


@low
async def test_change_of_the_tools_is_told(peer: Peer) -> None:
    """Legacy: unasked. Modern: to those who listen (2026-07-28 basic/utilities/subscriptions)."""
    notices = Notices()
    async with connect(peer, on_notification=notices.note) as client:
        listening: asyncio.Task[Any] | None = None
        if client.server.era == "modern":
            wanted = {"notifications": {"toolsListChanged": True}}
            listening = asyncio.create_task(client.request("subscriptions/listen", wanted, timeout_s=60))
            await notices.of("notifications/subscriptions/acknowledged")
        await client.call_tool("announce")
        await notices.of("notifications/tools/list_changed")
        if listening is not None:
            listening.cancel()
            await asyncio.wait([listening])
        assert (await client.call_tool("measure", {"text": "on"})).structured == {"length": 2}


@rich
async def test_host_learns_of_a_new_tool(peer: Peer, host: Host) -> None:
    """Server/tools, list changed: the catalog is refreshed, and the new tool can be called."""
    name, revision = peer
    await host.add("kitchen", command=envs.sdk_server(name), revision=revision, tools={"*": "L0"}, timeout_s=20)
    added = (await host.call("kitchen.add", {"a": "4", "b": 5})).unwrap()  # from a model: "4" is taken for 4
    assert isinstance(added, ToolResult)
    assert added.structured == {"result": 9}
    assert not (await host.call("kitchen.bake")).ok
    assert (await host.call("kitchen.grow", {"name": "bake"})).ok

    async def offered() -> bool:
        return "bake" in {tool.name for tool in await host.tools()}

    await eventually(offered)
    assert (await host.call("kitchen.bake")).for_user() == "I am bake"
    assert host.slots["kitchen"].state == "ready"
