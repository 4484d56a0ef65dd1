"""``dragoman.Client`` with everything at its defaults."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import dragoman
from bench.drivers import scenarios


@asynccontextmanager
async def connect(target: list[str] | str) -> AsyncIterator[scenarios.Peer]:
    async with dragoman.Client(target) as client:

        async def list_tools() -> int:
            return len(await client.list_tools())

        async def listen() -> None:
            async with client.listen(tools=True) as changes:
                async for _ in changes:
                    raise SystemExit("a change was told where nothing changes")

        yield scenarios.Peer(call=client.call_tool, text=lambda result: result.text, list_tools=list_tools, listen=listen)


if __name__ == "__main__":
    scenarios.main(connect, f"dragoman {importlib.metadata.version('dragoman')}")
