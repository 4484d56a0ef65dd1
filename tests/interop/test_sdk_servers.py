"""Servers on the official SDKs (Python 2.3 and 1.30, TypeScript 2.4 and 1.32) and on fastmcp 4: the same expectations for all.

Over stdio and over HTTP, in both eras where they speak both; the transport of 2024-11-05 too where they offer it.
"""

from __future__ import annotations

import asyncio
import base64
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

import pytest

from dragoman import CallFailed, CallTimeout, Client, Host, Progress, ServerError, ToolResult
from tests.interop import envs
from tests.interop.handlers import Inbox, Model, Notices, Person, eventually

Revision = Literal["2026-07-28", "2025-11-25"]
MODERN: Revision = "2026-07-28"
LEGACY: Revision = "2025-11-25"
MENU = "menu://today"


class Peer(NamedTuple):
    """A server of sdk_servers/, the revision to speak, how it is served, and the URL where it runs if it is not started by the client."""

    name: str
    revision: Revision
    how: Literal["stdio", "http", "http-json", "sse"] = "stdio"
    url: str = ""

    @property
    def target(self) -> dict[str, Any]:
        """What to connect to. The transport of 2024-11-05 is found; to pin a revision is to say which transport it is."""
        where: dict[str, Any] = {"url": self.url} if self.url else {"command": envs.sdk_server(self.name)}
        return where if self.how == "sse" else {**where, "revision": self.revision}


BOTH = ("high_level_2", "fastmcp_4", "ts_sdk_2")
OLD = ("fastmcp_1", "ts_sdk_1")
SPOKEN: list[tuple[str, Revision]] = [(name, revision) for name in BOTH for revision in (MODERN, LEGACY)]
SPOKEN += [(name, LEGACY) for name in OLD]
STDIO = [Peer(name, revision) for name, revision in SPOKEN]
STREAMING = [Peer(name, revision, "http") for name, revision in SPOKEN] + [
    Peer(name, LEGACY, "sse") for name in (*OLD, "high_level_2", "fastmcp_4")
]
PLAIN = [Peer(name, revision, "http-json") for name, revision in SPOKEN]
LOW = [Peer("low_level_2", MODERN), Peer("low_level_2", LEGACY)]
MUTE = Peer("fastmcp_4", MODERN)  # has nothing to tell changes with in this era
TELLING = [peer for peer in [*STDIO, *STREAMING] if peer[:2] != MUTE[:2]]
# Whose resources can be watched. The others serve no subscriptions to resources, or declare that they do not.
WATCHED = [*(peer for peer in TELLING if peer.name.startswith("ts_") or peer[:2] == ("high_level_2", MODERN)), *LOW]


def over(peers: list[Peer]) -> pytest.MarkDecorator:
    """Run a test with each of these peers, and all tests of a peer one after the other."""
    return pytest.mark.parametrize("peer", peers, ids=["-".join(peer[:3]) for peer in peers], indirect=True, scope="module")


rich = over([*STDIO, *STREAMING])
low = over(LOW)
Running = dict[tuple[str, str], tuple[subprocess.Popen[str], str]]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """The HTTP servers of this process, each started when first wanted."""
    servers: Running = {}
    yield servers
    for process, _ in servers.values():
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture(scope="module")
def peer(request: pytest.FixtureRequest, running: Running) -> Peer:
    """A peer whose server is ready."""
    wanted: Peer = request.param
    if wanted.how == "stdio":
        return wanted
    key = (wanted.name, wanted.how)
    if key not in running:
        process = subprocess.Popen(envs.sdk_server(*key), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        running[key] = process, process.stdout.readline().strip()
    url = running[key][1]
    assert url.startswith("http://127.0.0.1:"), "the server did not start"
    return wanted._replace(url=url)


def connect(peer: Peer, **options: Any) -> Client:
    """A client that speaks the peer's revision to it."""
    target = peer.target
    return Client(target.pop("url", None) or target.pop("command"), **target, timeout_s=20, **options)


@asynccontextmanager
async def listening(client: Client, notices: Notices, **wanted: Any) -> AsyncIterator[None]:
    """What is told unasked in the legacy era, and in the modern one to those who listen."""
    if client.server.era == "legacy":
        for uri in wanted.get("resourceSubscriptions", ()):
            await client.subscribe(uri)
        yield
        return
    listening = asyncio.create_task(client.request("subscriptions/listen", {"notifications": wanted}, timeout_s=60))
    await notices.of("notifications/subscriptions/acknowledged")
    yield
    listening.cancel()
    await asyncio.wait([listening])


@pytest.mark.parametrize(
    ("name", "era", "revision"),
    [*((name, "modern", MODERN) for name in (*BOTH, "low_level_2")), *((name, "legacy", LEGACY) for name in OLD)],
)
async def test_era_is_found_without_being_told(name: str, era: str, revision: str) -> None:
    """Basic/transports/stdio, backward compatibility: the newest revision that both sides speak."""
    async with Client(envs.sdk_server(name), timeout_s=20) as client:
        assert (client.server.era, client.server.revision) == (era, revision)
        await client.ping()
        assert await client.list_tools()


@over([*STDIO, *STREAMING, *PLAIN])
@pytest.mark.shows("tools")
async def test_lists_and_calls_with_structured_results(peer: Peer) -> None:
    """Server/tools: all of them put a bare value into `result`."""
    async with connect(peer) as client:
        assert client.server.instructions == "Ask for a table, not for the moon."
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert tools.keys() >= {"add", "weather", "fail", "count", "chatter", "wait", "book_table", "poem", "folders", "grow"}
        assert isinstance(tools["weather"].output_schema, dict)
        assert set(tools["weather"].output_schema["properties"]) == {"city", "celsius"}
        assert (await client.call_tool("add", {"a": 2, "b": 40})).structured == {"result": 42}
        assert (await client.call_tool("weather", {"city": "São Paulo"})).structured == {"city": "São Paulo", "celsius": 21.5}
        await client.ping()
        assert client.violations == {}


@rich
@pytest.mark.shows("tools")
async def test_failures_of_tools_are_outcomes(peer: Peer) -> None:
    """Server/tools, error handling: a tool that raises, wrong arguments, no such tool (an error of the protocol on one of them)."""
    async with connect(peer) as client:
        failed = await client.call_tool("fail", {"why": "it is Monday"})
        assert failed.is_error
        assert "cannot: it is Monday" in failed.text
        assert (await client.call_tool("add", {"a": "two", "b": 1})).is_error
        if peer.name == "ts_sdk_2":
            with pytest.raises(ServerError) as caught:
                await client.call_tool("no_such_tool")
            assert caught.value.code == -32602
        else:
            assert (await client.call_tool("no_such_tool")).is_error


@rich
@pytest.mark.shows("progress", "logging")
async def test_progress_and_log_messages_arrive(peer: Peer) -> None:
    """Basic/utilities/progress and server/utilities/logging: the modern era logs only to requests that ask for a level."""
    steps: Inbox[Progress] = Inbox()
    lines: Inbox[dict[str, Any]] = Inbox()
    async with connect(peer, on_log=lines.put) as client:
        await client.call_tool("count", {"steps": 3}, on_progress=steps.put)
        await steps.until(lambda step: step.progress == 3)
        assert steps.seen == [Progress(step, 3, f"step {step}") for step in (1, 2, 3)]
        if client.server.era == "modern":
            await client.call_tool("chatter")
            await client.set_log_level("warning")
        await client.call_tool("chatter")
        line = await lines.until(lambda params: params["level"] == "warning")
        said = line.pop("data")
        assert said == ({"msg": "a warning", "extra": None} if peer.name == "fastmcp_4" else "a warning")
        assert line == {"level": "warning", "logger": "kitchen"}
        if client.server.era == "modern":
            assert lines.seen == [line]


@rich
@pytest.mark.shows("elicitation")
async def test_elicitation_is_answered_in_both_eras(peer: Peer) -> None:
    """Client/elicitation: a request of the server (legacy), or an `input_required` round (2026-07-28 basic/patterns/mrtr)."""
    answers = {
        "table for 3 on Friday, window False": Person(guests=3),
        "table for 2 on Friday, window True": Person(guests=2, window=True),
        "not booked: decline": Person("decline"),
        "not booked: cancel": Person("cancel"),
    }
    there = iter(answers.values())
    async with connect(peer, on_elicitation=lambda ask: next(there)(ask)) as client:
        for said, person in answers.items():
            assert (await client.call_tool("book_table", {"day": "Friday"})).text == said
            assert person.asked[-1].message == "How many guests on Friday?"


@rich
@pytest.mark.shows("sampling", "roots")
async def test_sampling_and_roots_are_answered_in_both_eras(peer: Peer) -> None:
    """Client/sampling and client/roots."""
    model = Model("waves")
    async with connect(peer, on_sampling=model, roots=["/srv/menu"]) as client:
        assert (await client.call_tool("poem", {"topic": "the sea"})).text == "parrot-1: waves"
        assert "the sea" in str(model.asked[0]["messages"])
        assert (await client.call_tool("folders")).structured == {"result": ["file:///srv/menu"]}


@over([*STDIO[:2], LOW[1]])
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
    async with connect(Peer("fastmcp_1", LEGACY)) as client:
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
@pytest.mark.shows("cancellation")
async def test_cancellation_reaches_the_tool(peer: Peer) -> None:
    """Basic/utilities/cancellation: the handler on the server is cancelled, for our cancellation and for our deadline."""
    started: Inbox[Progress] = Inbox()
    async with connect(peer) as client:
        before = await endings(client)
        call = asyncio.create_task(client.call_tool("wait", on_progress=started.put))
        await started.until(lambda _: True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await eventually(lambda: ended(client, before + 1))
        with pytest.raises(CallTimeout):
            await client.call_tool("wait", timeout_s=0.3)
        await eventually(lambda: ended(client, before + 2))
        assert client.violations == {}


async def endings(client: Client) -> int:
    """How many calls of `wait` the server has seen cancelled."""
    seen = (await client.call_tool("how_it_ended")).structured["result"]
    assert set(seen) <= {"cancelled"}
    return len(seen)


async def ended(client: Client, count: int) -> bool:
    return await endings(client) == count


@over([*STDIO, *STREAMING, *PLAIN])
@pytest.mark.shows("resources", "prompts", "completion")
async def test_resources_prompts_and_completion(peer: Peer) -> None:
    """Server/resources, server/prompts, server/utilities/completion."""
    async with connect(peer) as client:
        assert [resource.uri for resource in await client.list_resources()] == [MENU]
        assert (await client.read_resource(MENU)).text == "Lentils, 豆腐, crème brûlée"
        assert [template.uri_template for template in await client.list_resource_templates()] == ["dish://{name}"]
        (part,) = (await client.read_resource("dish://soup")).contents
        assert base64.b64decode(part.blob or "") == b"soup"
        with pytest.raises(ServerError):
            await client.read_resource("menu://yesterday")
        assert (await client.get_prompt("greet", {"name": "Ada"})).text == "user: Greet Ada warmly."
        assert (await client.complete({"type": "ref/prompt", "name": "greet"}, "name", "A")).values == ("Ada", "Alan")


@over(TELLING)
@pytest.mark.shows("changes of lists")
async def test_new_tool_is_told_and_can_be_called(peer: Peer) -> None:
    """Legacy: unasked. Modern: to those who listen (2026-07-28 basic/utilities/subscriptions)."""
    notices, name = Notices(), f"bake_{uuid.uuid4().hex}"
    async with connect(peer, on_notification=notices.note) as client, listening(client, notices, toolsListChanged=True):
        await client.call_tool("grow", {"name": name})
        await notices.of("notifications/tools/list_changed")
        assert (await client.call_tool(name)).text == f"I am {name}"
        assert client.violations == {}


@over(WATCHED)
@pytest.mark.shows("updates of resources")
async def test_update_of_a_resource_is_told_to_who_wants_it(peer: Peer) -> None:
    """Server/resources, subscriptions; 2026-07-28 basic/utilities/subscriptions."""
    notices = Notices()
    async with connect(peer, on_notification=notices.note) as client:
        await client.call_tool("season")
        async with listening(client, notices, resourceSubscriptions=[MENU]):
            await client.call_tool("season")
            assert (await notices.of("notifications/resources/updated"))["uri"] == MENU
        assert [method for method, _ in notices.seen].count("notifications/resources/updated") == 1


@low
@pytest.mark.shows("tools")
async def test_pages_are_followed_and_errors_keep_their_data(peer: Peer) -> None:
    """Server/utilities/pagination; JSON-RPC errors with a code of the server's own."""
    async with connect(peer) as client:
        assert [tool.name for tool in await client.list_tools()] == ["measure", "two_questions", "announce", "refuse", "season"]
        assert (await client.call_tool("measure", {"text": "豆腐"})).structured == {"length": 2}
        with pytest.raises(ServerError) as caught:
            await client.call_tool("refuse")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-32050, "not today", {"until": "tomorrow"})


@low
@pytest.mark.shows("elicitation")
async def test_two_questions_take_two_rounds_and_the_state_comes_back(peer: Peer) -> None:
    """2026-07-28 basic/patterns/mrtr: the server forgets everything but the opaque state; legacy: two asks in one call."""
    person = Person(name="Ada", colour="red")
    async with connect(peer, on_elicitation=person) as client:
        assert (await client.call_tool("two_questions")).text == "Ada likes red"
        assert [ask.message for ask in person.asked] == ["Your name?", "Your colour?"]


@low
@pytest.mark.shows("changes of lists")
async def test_change_of_the_tools_is_told(peer: Peer) -> None:
    """Legacy: unasked. Modern: to those who listen (2026-07-28 basic/utilities/subscriptions)."""
    notices = Notices()
    async with connect(peer, on_notification=notices.note) as client, listening(client, notices, toolsListChanged=True):
        await client.call_tool("announce")
        await notices.of("notifications/tools/list_changed")
        assert (await client.call_tool("measure", {"text": "on"})).structured == {"length": 2}


@over(TELLING)
@pytest.mark.shows("changes of lists")
async def test_host_learns_of_a_new_tool(peer: Peer, host: Host) -> None:
    """Server/tools, list changed: the catalog is refreshed, and the new tool can be called."""
    await host.add("kitchen", **peer.target, tools={"*": "L0"}, timeout_s=20)
    added = (await host.call("kitchen.add", {"a": "4", "b": 5})).unwrap()  # from a model: "4" is taken for 4
    assert isinstance(added, ToolResult)
    assert added.structured == {"result": 9}
    name = f"bake_{uuid.uuid4().hex[:8]}"
    assert not (await host.call(f"kitchen.{name}")).ok
    assert (await host.call("kitchen.grow", {"name": name})).ok

    async def offered() -> bool:
        return name in {tool.name for tool in await host.tools()}

    await eventually(offered)
    assert (await host.call(f"kitchen.{name}")).for_user() == f"I am {name}"
    assert host.slots["kitchen"].state == "ready"
