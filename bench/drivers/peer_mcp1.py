"""
The official Python SDK, first generation (PyPI mcp 1.x), as its documentation shows it: ``ClientSession`` over ``stdio_client`` or
``streamable_http_client``.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from bench.drivers import scenarios


@asynccontextmanager
async def connect(target: list[str] | str) -> AsyncIterator[scenarios.Peer]:
    transport = (
        streamable_http_client(target)
        if isinstance(target, str)
        else stdio_client(StdioServerParameters(command=target[0], args=target[1:]))
    )
    async with transport as (reading, writing, *_), ClientSession(reading, writing) as session:
        await session.initialize()

        async def list_tools() -> int:
            return len((await session.list_tools()).tools)

        yield scenarios.Peer(call=session.call_tool, text=lambda result: result.content[0].text, list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"mcp {importlib.metadata.version('mcp')}")
