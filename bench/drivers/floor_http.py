"""
The floor of the HTTP rows: one aiohttp session, one POST for a call, JSON by msgspec, and nothing else.

It sends the headers that the protocol wants and decodes each answer once into plain Python objects; of an event stream, the first event
after it is read to its end. No typed messages, no checks of status or type, no deadline, no limits, no session, no cancelling.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from bench.drivers import scenarios

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28"}
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[scenarios.Peer]:
    last_id = 0
    events = url.endswith("/sse")

    async def request(method: str, params: dict[str, Any], name: str = "") -> Any:
        nonlocal last_id
        last_id += 1
        message = encode({"jsonrpc": "2.0", "id": last_id, "method": method, "params": {**params, "_meta": META}})
        headers = {**HEADERS, "Mcp-Method": method, **({"Mcp-Name": name} if name else {})}
        async with session.post(url, data=message, headers=headers) as response:
            body = await response.read()
        if events:
            start = body.index(b"data: ") + 6
            with memoryview(body) as view:
                return decode(view[start : body.index(b"\n", start)])["result"]
        return decode(body)["result"]

    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return await request("tools/call", {"name": name, "arguments": arguments}, name)

    async def list_tools() -> int:
        return len((await request("tools/list", {}))["tools"])

    async with aiohttp.ClientSession() as session:
        await request("server/discover", {})
        yield scenarios.Peer(call=call, text=lambda result: str(result["content"][0]["text"]), list_tools=list_tools)


if __name__ == "__main__":
    scenarios.main(connect, f"aiohttp {aiohttp.__version__} + msgspec {msgspec.__version__}")
