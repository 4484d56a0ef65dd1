"""Tasks against servers on the official SDKs: of 2025-11-25 on the Python SDK 1.30, and the extension of 2026-07-28 on 2.3.

The latter SDK has a seam for extensions and no tasks: the server of the tests fills it. The reference server, on the TypeScript
SDK 1.32, is in test_everything_tasks.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import CallFailed, ServerError
from tests.interop.handlers import Person
from tests.interop.test_sdk_servers import LEGACY, MODERN, Peer, connect, over, peer, running

__all__ = ["peer", "running"]  # fixtures

OLD = [Peer("tasks_1", LEGACY), Peer("tasks_1", LEGACY, "http"), Peer("tasks_1", LEGACY, "sse")]
NEW = [Peer("tasks_2", MODERN), Peer("tasks_2", MODERN, "http")]


@over([*OLD, *NEW])
@pytest.mark.shows("tasks")
async def test_call_that_becomes_a_task_is_like_any_other_for_the_caller(peer: Peer) -> None:
    """MCP 2025-11-25 basic/utilities/tasks; the extension io.modelcontextprotocol/tasks."""
    async with connect(peer, tasks=True) as client:
        await client.list_tools()
        assert (await client.call_tool("bake")).text == "baked"
        assert client.violations == {}


@over([*OLD, *NEW])
@pytest.mark.shows("tasks")
async def test_task_that_fails_says_so(peer: Peer) -> None:
    """2025-11-25: the result of the tool, which failed. 2026-07-28: an error of the protocol."""
    async with connect(peer, tasks=True) as client:
        await client.list_tools()
        if peer.name == "tasks_1":
            failed = await client.call_tool("burn")
            assert (failed.is_error, failed.text) == (True, "burnt")
        else:
            with pytest.raises(ServerError, match="burnt"):
                await client.call_tool("burn")


@over([*OLD, *NEW])
@pytest.mark.shows("tasks", "elicitation")
async def test_task_that_needs_a_person_asks_one(peer: Peer) -> None:
    """2025-11-25: a request of the server while its result is awaited. 2026-07-28: in the state of the task, answered by an update."""
    person = Person(guests=3)
    async with connect(peer, tasks=True, on_elicitation=person) as client:
        await client.list_tools()
        assert (await client.call_tool("ask")).text == "accept: 3"
        assert [asked.message for asked in person.asked] == ["How many guests?"]


@over([*OLD, *NEW])
@pytest.mark.shows("tasks")
async def test_task_is_started_asked_after_and_cancelled_by_its_handle(peer: Peer) -> None:
    """tasks/get and tasks/cancel."""
    async with connect(peer, tasks=True) as client:
        await client.list_tools()
        task = await client.start_task("wait")
        assert task.id
        assert await task.refresh() == "working"
        await task.cancel()
        assert await client.task(task.id).refresh() == "cancelled"
        with pytest.raises(CallFailed, match="ended as cancelled"):
            await task.result()


@over(NEW)
@pytest.mark.shows("tasks")
async def test_without_the_extension_the_same_tool_answers_at_once(peer: Peer) -> None:
    """SEP-2133: where only one side has an extension, the core is used."""
    async with connect(peer) as client:
        assert (await client.call_tool("bake")).text == "baked at once"
    both: dict[str, Any] = {"tasks": True}
    async with connect(peer, **both) as client:
        assert (await client.call_tool("plain")).text == "at once"
