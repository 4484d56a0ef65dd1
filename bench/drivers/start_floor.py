"""The least that can be run with ``python -c`` from nothing to the first result: the floor of the start row."""

import asyncio
import os
import subprocess
import sys
from typing import Any

import msgspec

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def main() -> None:
    loop = asyncio.get_running_loop()
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert child.stdin
    assert child.stdout
    write_fd, read_fd = child.stdin.fileno(), child.stdout.fileno()

    async def request(number: int, method: str, params: dict[str, Any]) -> Any:
        line = loop.create_future()
        loop.add_reader(read_fd, lambda: line.set_result(os.read(read_fd, 65536)))
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {**params, "_meta": META}}
        os.write(write_fd, msgspec.json.encode(message) + b"\n")
        return msgspec.json.decode(await line)["result"]

    await request(1, "server/discover", {})
    print((await request(2, "tools/call", {"name": "echo", "arguments": {"text": "hi"}}))["content"][0]["text"], flush=True)
    loop.remove_reader(read_fd)
    child.stdin.close()
    child.wait(5)


asyncio.run(main())
