"""
The floor: what a call costs on asyncio with a pipe and JSON and nothing else.

One ``os.write`` of a message encoded by msgspec, one ``add_reader`` callback that reads up to 256 KiB, splits lines from where the last
scan ended, decodes each line once into plain Python objects, and resolves the future under its id. No protocol: no typed messages,
no checks, no deadline, no cancelling, no limits, no backpressure (requests here are far smaller than the pipe), no stderr, no stop
ladder. A real client has to do all of that and is measured in multiples of this.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from bench.drivers import scenarios

READ_BYTES = 256 * 1024
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Pipe:
    def __init__(self, argv: list[str]) -> None:
        self.loop = asyncio.get_running_loop()
        self.child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.write_fd, self.read_fd = self.child.stdin.fileno(), self.child.stdout.fileno()
        os.set_blocking(self.read_fd, False)
        self.buffer = bytearray()
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.last_id = 0
        self.loop.add_reader(self.read_fd, self.readable)

    def request(self, method: str, params: dict[str, Any]) -> asyncio.Future[Any]:
        self.last_id += 1
        future = self.waiting[self.last_id] = self.loop.create_future()
        os.write(self.write_fd, encode({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}) + b"\n")
        return future

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self.request("tools/call", {"name": name, "arguments": arguments, "_meta": META})

    async def list_tools(self) -> int:
        return len((await self.request("tools/list", {"_meta": META}))["tools"])

    def readable(self) -> None:
        try:
            chunk = os.read(self.read_fd, READ_BYTES)
        except BlockingIOError:
            return
        buffer = self.buffer
        scanned, start = len(buffer), 0
        buffer += chunk
        while (end := buffer.find(b"\n", max(scanned, start))) >= 0:
            with memoryview(buffer) as view:
                message = decode(view[start:end])
            start = end + 1
            if future := self.waiting.pop(message.get("id"), None):
                future.set_result(message["result"])
        if start:
            del buffer[:start]

    def close(self) -> None:
        self.loop.remove_reader(self.read_fd)
        for stream in (self.child.stdin, self.child.stdout):
            assert stream is not None
            stream.close()
        self.child.wait(5)


@asynccontextmanager
async def connect(argv: list[str]) -> AsyncIterator[scenarios.Peer]:
    pipe = Pipe(argv)
    await pipe.request("server/discover", {"_meta": META})
    yield scenarios.Peer(call=pipe.call, text=lambda result: str(result["content"][0]["text"]), list_tools=pipe.list_tools)
    pipe.close()


if __name__ == "__main__":
    scenarios.main(connect, f"asyncio raw fd + msgspec {msgspec.__version__}")
