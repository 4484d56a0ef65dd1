"""The official SDK 2.3 over streamable HTTP at 2026-07-28, on loopback: answers as JSON and as an event stream."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Generator, Iterator

import pytest

from dragoman import CallTimeout, Client, ConnectFailed, ConnectionLost, Host, Progress, ServerError
from tests.interop import envs
from tests.interop.handlers import Inbox, Model, Notices, Person, eventually


def serve(how: str) -> Generator[str, None, None]:
    """The URL of a server of its own."""
    process = subprocess.Popen(envs.sdk_server("high_level_2", how), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), "the server did not start"
        yield url
    finally:
        process.kill()
        process.communicate(timeout=10)


@pytest.fixture(params=["http-json", "http-sse"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Either kind of server."""
    yield from serve(request.param)


@pytest.fixture
def streaming_url() -> Iterator[str]:
    """A server that answers with event streams, so that more than the result can come."""
    yield from serve("http-sse")


async def test_lists_and_calls(url: str) -> None:
    """Basic/transports/streamable-http: required headers, both kinds of answer."""
    async with Client(url, timeout_s=20) as client:
        assert (client.server.era, client.server.revision, client.server.name) == ("modern", "2026-07-28", "sdk-2-high-level")
        assert len(await client.list_tools()) == 12
        assert (await client.call_tool("add", {"a": 2, "b": 40})).structured == {"result": 42}
        assert (await client.call_tool("weather", {"city": "São Paulo"})).structured == {"city": "São Paulo", "celsius": 21.5}
        assert (await client.call_tool("fail", {"why": "x"})).is_error
        assert (await client.call_tool("no_such_tool")).is_error
        assert (await client.read_resource("menu://today")).text == "Lentils, 豆腐, crème brûlée"
        assert (await client.get_prompt("greet", {"name": "Ada"})).text == "user: Greet Ada warmly."
        with pytest.raises(ServerError):
            await client.read_resource("menu://yesterday")
        await client.ping()
        assert client.violations == {}


async def test_rounds_work_over_single_exchanges(url: str) -> None:
    """2026-07-28 basic/patterns/mrtr: elicitation, sampling and roots, each in the result of its own POST."""
    async with Client(url, on_elicitation=Person(guests=3), on_sampling=Model("waves"), roots=["/srv/menu"], timeout_s=20) as client:
        assert (await client.call_tool("book_table", {"day": "Friday"})).text == "table for 3 on Friday, window False"
        assert (await client.call_tool("poem", {"topic": "sea"})).text == "parrot-1: waves"
        assert (await client.call_tool("folders")).structured == {"result": ["file:///srv/menu"]}


async def test_twenty_calls_at_once_keep_their_answers(url: str) -> None:
    """Each answer belongs to its own exchange."""
    async with Client(url, timeout_s=20) as client:
        results = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": n}) for n in range(20)))
        assert [result.structured["result"] for result in results] == [2 * n for n in range(20)]


async def test_two_clients_share_a_server(url: str) -> None:
    """Stateless: neither sees anything of the other."""
    async with Client(url, timeout_s=20) as one, Client(url, timeout_s=20) as two:
        first, second = await asyncio.gather(one.call_tool("add", {"a": 1, "b": 1}), two.call_tool("add", {"a": 2, "b": 2}))
        assert (first.structured["result"], second.structured["result"]) == (2, 4)


async def test_progress_comes_on_the_stream_of_its_request(streaming_url: str) -> None:
    """A stream carries the notices of its request before the result."""
    steps: list[Progress] = []
    async with Client(streaming_url, timeout_s=20) as client:
        await client.call_tool("count", {"steps": 3}, on_progress=steps.append)
        assert steps == [Progress(step, 3, f"step {step}") for step in (1, 2, 3)]


async def test_leaving_the_stream_cancels_the_call(streaming_url: str) -> None:
    """2026-07-28 basic/patterns/cancellation: over HTTP the disconnect is the cancellation."""
    started: Inbox[Progress] = Inbox()
    async with Client(streaming_url, timeout_s=20) as client:
        call = asyncio.create_task(client.call_tool("wait", on_progress=started.put))
        await started.until(lambda _: True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(CallTimeout):
            await client.call_tool("wait", timeout_s=0.3)

        async def seen() -> bool:
            return bool((await client.call_tool("how_it_ended")).structured == {"result": ["cancelled", "cancelled"]})

        await eventually(seen)


async def test_listening_tells_changes(streaming_url: str) -> None:
    """2026-07-28 basic/utilities/subscriptions: another client's change is told on the open stream."""
    notices = Notices()
    async with Client(streaming_url, on_notification=notices.note, timeout_s=20) as client, Client(streaming_url, timeout_s=20) as other:
        wanted = {"notifications": {"toolsListChanged": True}}
        listening = asyncio.create_task(client.request("subscriptions/listen", wanted, timeout_s=60))
        await notices.of("notifications/subscriptions/acknowledged")
        await other.call_tool("grow", {"name": "bake"})
        await notices.of("notifications/tools/list_changed")
        assert (await client.call_tool("bake")).text == "I am bake"
        listening.cancel()
        await asyncio.wait([listening])


async def test_host_calls_over_http(streaming_url: str, host: Host) -> None:
    """Governed: read at L0, and unknown tiers need somebody who approves."""
    await host.add("kitchen", url=streaming_url, tools={"weather": "L0"}, timeout_s=20)
    assert (await host.call("kitchen.weather", {"city": "Rome"})).ok
    refused = await host.call("kitchen.add", {"a": 1, "b": 2})
    assert type(refused.error).__name__ == "ApprovalDenied"


async def test_server_that_went_away_is_an_error_with_a_name() -> None:
    """Our choice: no exception of the HTTP library reaches a user."""
    servers = serve("http-sse")
    url = next(servers)
    async with Client(url, timeout_s=20) as client:
        await client.call_tool("add", {"a": 1, "b": 2})
        servers.close()
        with pytest.raises((ConnectFailed, ConnectionLost)):  # the second on a connection that was kept open
            await client.call_tool("add", {"a": 1, "b": 2})
    with pytest.raises(ConnectFailed):
        async with Client(url, timeout_s=20):
            pass
