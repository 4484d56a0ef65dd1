"""``dragoman.Client`` from nothing to the first result; run with ``python -c``."""

import asyncio
import sys

import dragoman


async def main() -> None:
    async with dragoman.Client(sys.argv[1:]) as client:
        print((await client.call_tool("echo", {"text": "hi"})).text, flush=True)


asyncio.run(main())
