"""``dragoman.Client`` with everything at its defaults."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import dragoman
from bench.drivers import scenarios


@asynccontextmanager
async def connect(argv: list[str]) -> AsyncIterator[scenarios.Peer]:
    async with dragoman.Client(argv) as client:

        async def list_tools() -> int:
            return len(await client.list_tools())

        yield scenarios.Peer(call=client.call_tool, text=lambda result: result.text, list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"dragoman {importlib.metadata.version('dragoman')}")
