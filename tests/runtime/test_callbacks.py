"""Callbacks and handlers of every kind may call the server back, and wait for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.runtime.fakes import FakeServer, Json, client

ASKS: dict[str, Json] = {
    "on_elicitation": {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}},
    "on_sampling": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}},
    "roots": {"method": "roots/list"},
}
NOTES: dict[str, Json] = {
    "on_log": {"method": "notifications/message", "params": {"level": "info", "data": "x"}},
    "on_notification": {"method": "notifications/tools/list_changed"},
}


@pytest.mark.parametrize("kind", [*ASKS, *NOTES, "on_progress"])
async def test_handler_that_calls_back_is_answered(kind: str) -> None:
    """Our contract: handlers run off the reader, so they cannot deadlock with it; five at a time."""
    done: list[str] = []
    all_done = asyncio.Event()

    def on(message: Json) -> list[Json] | None:
        if message.get("method") != "tools/call" or message["params"]["name"] != "start":
            return None
        if kind in ASKS:
            return [{"jsonrpc": "2.0", "id": f"ask {number}", **ASKS[kind]} for number in range(5)]
        note = NOTES.get(kind) or {
            "method": "notifications/progress",
            "params": {"progressToken": message["params"].get("_meta", {}).get("progressToken"), "progress": 1},
        }
        return [{"jsonrpc": "2.0", **note} for _ in range(5)]

    async def handler(*_: Any) -> Any:
        result = await ours.call_tool("echo", {"text": "back"})
        done.append(result.text)
        if len(done) == 5:
            all_done.set()
        return [] if kind == "roots" else None

    options: dict[str, Callable[..., Any]] = {} if kind == "on_progress" else {kind: handler}
    async with client(FakeServer(on), **options) as ours:
        more: Any = {"on_progress": handler} if kind == "on_progress" else {}
        started = asyncio.create_task(ours.call_tool("start", {}, **more))
        await asyncio.wait_for(all_done.wait(), 20)
        assert len(done) == 5
        started.cancel()
        await asyncio.wait([started])
