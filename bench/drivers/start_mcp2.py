"""The official Python SDK 2.x from nothing to the first result; run with ``python -c``."""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def main() -> None:
    async with Client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as client:
        print((await client.call_tool("echo", {"text": "hi"})).content[0].text, flush=True)


asyncio.run(main())
