"""The official Python SDK 1.x from nothing to the first result; run with ``python -c``."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    async with stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as streams, ClientSession(*streams) as session:
        await session.initialize()
        print((await session.call_tool("echo", {"text": "hi"})).content[0].text, flush=True)


asyncio.run(main())
