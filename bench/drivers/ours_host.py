"""``dragoman.Host`` with every layer and the audit on: one server in a configuration file, its tools at tier L0."""

from __future__ import annotations

import importlib.metadata
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.drivers import hosts, scenarios


@asynccontextmanager
async def connect(argv: list[str]) -> AsyncIterator[scenarios.Peer]:
    async with hosts.opened({"s": argv}) as counted:

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await counted.call(f"s.{name}", arguments)

        async def list_tools() -> int:
            raise SystemExit("the Host has no listing of its own to measure")

        yield scenarios.Peer(call=call, text=lambda outcome: outcome.unwrap().text, list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"dragoman {importlib.metadata.version('dragoman')} Host")
