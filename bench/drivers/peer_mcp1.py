"""The official Python SDK, first generation (PyPI mcp 1.x): ``stdio_client`` and ``ClientSession`` as its documentation shows them."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from bench.drivers import scenarios


@asynccontextmanager
async def connect(argv: list[str]) -> AsyncIterator[scenarios.Peer]:
    async with (
        stdio_client(StdioServerParameters(command=argv[0], args=argv[1:])) as (reading, writing),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()

        async def list_tools() -> int:
            return len((await session.list_tools()).tools)

        yield scenarios.Peer(call=session.call_tool, text=lambda result: result.content[0].text, list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"mcp {importlib.metadata.version('mcp')}")
