"""The official Python SDK, second generation (PyPI mcp 2.x): its ``Client`` as its documentation shows it, mode left at auto."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters

from bench.drivers import scenarios


@asynccontextmanager
async def connect(target: list[str] | str) -> AsyncIterator[scenarios.Peer]:
    async with Client(target if isinstance(target, str) else StdioServerParameters(command=target[0], args=target[1:])) as client:

        async def list_tools() -> int:
            return len((await client.list_tools()).tools)

        yield scenarios.Peer(call=client.call_tool, text=lambda result: result.content[0].text, list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"mcp {importlib.metadata.version('mcp')}")
