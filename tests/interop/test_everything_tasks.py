"""The reference server's task of 2025-11-25, as the plain call that it is for a caller, and by its handle."""

from __future__ import annotations

import socket

import pytest

from dragoman import CallFailed
from tests.interop import envs
from tests.interop.handlers import Person
from tests.interop.test_legacy_http import client as client_at
from tests.interop.test_legacy_http import listening
from tests.interop.test_server_everything import everything

QUERY = "simulate-research-query"  # says that it must run as a task


@pytest.mark.shows("tasks", peer=("ts_sdk_1", "2025-11-25", "stdio"))
async def test_tool_that_must_run_as_a_task_is_called_like_any_other() -> None:
    """MCP 2025-11-25 basic/utilities/tasks."""
    async with everything(tasks=True) as client:
        await client.list_tools()
        assert "Research Report: ships" in (await client.call_tool(QUERY, {"topic": "ships"})).text
        assert client.violations == {}


@pytest.mark.shows("tasks", peer=("ts_sdk_1", "2025-11-25", "stdio"))
async def test_task_that_needs_a_person_asks_one() -> None:
    """MCP 2025-11-25 basic/utilities/tasks#input-required."""
    person = Person(interpretation="historical")
    async with everything(tasks=True, on_elicitation=person) as client:
        await client.list_tools()
        assert "historical" in (await client.call_tool(QUERY, {"topic": "ships", "ambiguous": True})).text
        assert len(person.asked) == 1


@pytest.mark.shows("tasks", peer=("ts_sdk_1", "2025-11-25", "stdio"))
async def test_task_can_be_cancelled_by_its_handle() -> None:
    """MCP 2025-11-25 basic/utilities/tasks#cancellation."""
    async with everything(tasks=True) as client:
        await client.list_tools()
        task = await client.start_task(QUERY, {"topic": "ships"}, ttl_ms=60_000)
        assert task.status == "working"
        await task.cancel()
        assert await task.refresh() == "cancelled"
        with pytest.raises(CallFailed, match="ended as cancelled"):
            await task.result()


@pytest.mark.shows("tasks", peer=("ts_sdk_1", "2025-11-25", "http"))
@pytest.mark.shows("tasks", peer=("ts_sdk_1", "2025-11-25", "sse"))
@pytest.mark.parametrize(("how", "path"), [("streamableHttp", "/mcp"), ("sse", "/sse")])
async def test_task_asks_and_ends_over_http_too(how: str, path: str) -> None:
    """MCP 2025-11-25 basic/utilities/tasks#input-required: the question comes while the result is awaited."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = listening(envs.npm_server("server-everything", how), port)
    try:
        person = Person(interpretation="historical")
        async with client_at(f"http://127.0.0.1:{port}{path}", tasks=True, on_elicitation=person) as client:
            await client.list_tools()
            assert "historical" in (await client.call_tool(QUERY, {"topic": "ships", "ambiguous": True})).text
            assert len(person.asked) == 1
            assert client.violations == {}
    finally:
        process.kill()
        process.wait(10)
