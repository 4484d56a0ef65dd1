"""The real client against the odd servers, as processes: results, listings, asks, notices and endings that are odd."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dragoman import Client
from dragoman.errors import (
    CallFailed,
    CallTimeout,
    ConnectionLost,
    InvalidResult,
    LocalProtocolError,
    ServerError,
)
from dragoman.runtime.catalog import Catalog
from dragoman.wire.content import TextContent
from tests.runtime.fakes import Json, client, odd


class Sent:
    """Methods of what the client sends, in order, over all connections."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def __call__(self, direction: str, message: bytes | bytearray) -> None:
        if direction == "→":
            self.methods.append(json.loads(message).get("method", "answer"))


async def echo(mine: Client, text: str, **options: Any) -> str:
    return (await mine.call_tool("echo", {"text": text}, **options)).text


# --- results and listings that are odd


@pytest.mark.parametrize("text", ["null", "list", "text", "number"])
async def test_wrong_results(text: str) -> None:
    async with client(odd("wrong_results")) as mine:
        with pytest.raises(InvalidResult):
            await echo(mine, text)
        for lenient in ("no_content", "content_text", "content_null"):
            await mine.call_tool("echo", {"text": lenient})
        for listing in (mine.list_resources, mine.list_prompts):
            with pytest.raises(InvalidResult):
                await listing()
        assert await echo(mine, "fine") == "echo: fine"


async def test_unknown_content() -> None:
    async with client(odd("unknown_content")) as mine:
        result = await mine.call_tool("echo")
        texts = [block.text for block in result.content if isinstance(block, TextContent)]
        assert texts == ["first", "last"]
        assert len(result.content) == 9
        assert {flaw.path for flaw in result.problems} >= {"/content/2", "/content/3", "/content/4", "/content/5", "/content/6"}
        assert result.raw["content"][1] == {"type": "hologram", "beams": 3, "text": "new kind"}


async def test_broken_tool(caplog: pytest.LogCaptureFixture) -> None:
    async with client(odd("broken_tool")) as mine:
        names = [tool.name for tool in await mine.list_tools()]
        assert {"echo", "nulls", "subs", "draft7"} <= set(names)
        assert len(mine.problems) >= 4
        assert "set aside: /tools/1" in caplog.text
        assert await echo(mine, "hi") == "echo: hi"


async def test_many_tools() -> None:
    async with client(odd("many_tools", 1000, 90)) as mine:
        assert len({tool.name for tool in await mine.list_tools()}) == 1000


async def test_same_cursor() -> None:
    async with client(odd("same_cursor")) as mine:
        assert len(await mine.list_tools()) == 2
        assert "came twice" in str(mine.problems[0])


async def test_tool_names() -> None:
    async with client(odd("tool_names")) as mine:
        for tool in await mine.list_tools():
            assert (await mine.call_tool(tool.name)).text == tool.name


@pytest.mark.parametrize(("text", "error"), [("more", CallFailed), ("odd", InvalidResult), ("empty", InvalidResult)])
async def test_asks_for_ever(text: str, error: type[CallFailed]) -> None:
    async with client(odd("asks_for_ever"), on_elicitation=lambda ask: _accept()) as mine:
        with pytest.raises(error):
            await echo(mine, text)


def _accept() -> Any:
    from dragoman import ElicitationAnswer

    return ElicitationAnswer("accept", {})


# --- asks and notices


async def test_asks_unknown() -> None:
    """Asks while a call is open: what is undeclared gets -32601, ping an answer."""
    async with client(odd("asks_unknown")) as mine:
        replies: Json = json.loads((await mine.call_tool("echo")).text)
    refused = {"error": -32601}
    undeclared = ("roots/list", "sampling/createMessage", "elicitation/create", "harbour/askUser")
    assert replies == {"ping": {"result": {}}, **dict.fromkeys(undeclared, refused)}


async def test_stray_progress() -> None:
    seen: list[float] = []
    async with client(odd("stray_progress")) as mine:
        result = await mine.call_tool("echo", on_progress=lambda progress: seen.append(progress.progress))
        assert result.text == "done"
        assert seen == [5, 2]
        await mine.call_tool("echo")
        assert mine.violations["stray-progress"] >= 1
        assert mine.violations["bad-progress"] >= 3


async def test_flood() -> None:
    """20,000 notices during a call: none of them is lost, and the answer comes."""
    seen: list[Any] = []
    async with client(odd("flood"), on_notification=lambda method, params: seen.append(params["data"])) as mine:
        assert await echo(mine, "hi") == "echo: hi"
        assert seen[-1] == "line 19999"
        assert len(seen) == 20_000


async def test_listchanged_storm() -> None:
    async with client(odd("listchanged_storm")) as mine:
        catalog = Catalog(mine)
        await catalog.current()
        await echo(mine, "burst")
        await catalog.current()
        assert 2 <= int((await mine.call_tool("listed")).text) <= 4
        await catalog.close()


async def test_stderr_flood() -> None:
    async with client(odd("stderr_flood")) as mine:
        assert await echo(mine, "hi") == "echo: hi"


# --- ends


async def test_dies_in_call() -> None:
    last = "exited with status 7; its last words on stderr: assertion failed: hull == whole"
    async with client(odd("dies_in_call")) as mine:
        assert await echo(mine, "fine") == "echo: fine"
        for other in [asyncio.create_task(echo(mine, "x")) for _ in range(3)]:
            with pytest.raises(ConnectionLost, match=last) as caught:
                await other
            assert caught.value.maybe_ran == "perhaps"


async def test_closes_stdout() -> None:
    async with client(odd("closes_stdout"), stop_s=1.0) as mine:
        with pytest.raises(ConnectionLost):
            await echo(mine, "x")
        with pytest.raises(ConnectionLost) as after:
            await echo(mine, "y")
        assert after.value.maybe_ran == "no"


async def test_closes_stdin() -> None:
    """What is written just before it closes is never read, which shows only at the next write."""
    async with client(odd("closes_stdout", "stdin"), stop_s=1.0) as mine:
        assert await echo(mine, "x") == "echo: x"
        for _ in range(2):
            with pytest.raises(CallFailed):
                await echo(mine, "y", timeout_s=1.0)
        with pytest.raises(ConnectionLost):
            await echo(mine, "y")


async def test_hangs_in_calls() -> None:
    sent = Sent()
    async with client(odd("hangs", "calls"), on_wire=sent) as mine:
        with pytest.raises(CallTimeout, match=r"within 0\.2 s"):
            await echo(mine, "x", timeout_s=0.2)
        await mine.ping()
        assert sent.methods.count("notifications/cancelled") == 1


@pytest.mark.parametrize("name", ["stubborn", "grandchild", "floods_until_closed"])
async def test_servers_that_do_not_want_to_leave(name: str) -> None:
    """Closing is bounded and leaves no process: the guard of every test looks."""
    async with client(odd(name), stop_s=0.5) as mine:
        await mine.list_tools()
        if name == "floods_until_closed":
            assert await echo(mine, "hi") == "echo: hi"


async def test_slow_reader() -> None:
    """Waits for room and blocks nobody: the loop goes on while 3 MB drip into the pipe."""
    async with client(odd("slow_reader")) as mine:
        big = asyncio.create_task(echo(mine, "x" * 3_000_000))
        ticks = 0
        while not big.done():
            await asyncio.sleep(0.01)
            ticks += 1
        assert await big == "3000000"
        assert ticks > 5


async def test_server_that_stops_reading_ends_calls_at_their_deadline_and_frees_their_callers() -> None:
    async with client(odd("slow_reader", 65536, 0.4), stop_s=0.5) as mine:
        calls = [asyncio.create_task(echo(mine, "x" * 400_000, timeout_s=0.5)) for _ in range(4)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in done] == [CallTimeout] * 4
        assert any("does not read what is sent to it" in str(one) for one in done)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_undeclared_feature_is_refused_locally_unless_forced() -> None:
    sent = Sent()
    async with client(odd("version_2024"), on_wire=sent) as mine:
        with pytest.raises(LocalProtocolError, match="did not declare the capability 'resources'"):
            await mine.list_resources()
        with pytest.raises(ServerError, match="Method not found"):
            await mine.request("resources/list", force=True)
    assert sent.methods.count("resources/list") == 1


async def test_wrong_structured_and_hostile_text_and_rug_pull_are_for_layers_above() -> None:
    """A client alone hands over what it got; validation, escaping and pins belong to the host."""
    async with client(odd("wrong_structured")) as mine:
        assert (await mine.call_tool("echo", {"text": "wrong"})).structured == {"knots": "fourteen"}
    async with client(odd("hostile_text")) as mine:
        assert "\x1b" in await echo(mine, "x")
    async with client(odd("ref_canary")) as mine:
        assert len(await mine.list_tools()) == 4
