"""A server whose tool ``big`` answers with one text of SIZE bytes, made while it is sent: ``endless.py KIND SIZE``.

KIND is stdio, or one of unix, tcp, ws, http and events: then the first line on stdout is its URL. It speaks revision 2025-11-25 and has a
tool ``echo`` too, answers anything else with an empty result, and ends at the end of its input.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PIECE = b"x" * 65_536
TOOL = {"inputSchema": {"type": "object"}}


def result_of(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        info = {"name": "endless", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": name, **TOOL} for name in ("big", "echo")]}
    if message["method"] == "tools/call":
        return {"content": [{"type": "text", "text": "fine"}]}
    return {}


def answer(message: dict[str, Any], size: int) -> Iterator[bytes]:
    """The pieces of an answer, without a line's end; none to a notice, and an error to the probe of the other era."""
    if "id" not in message:
        return
    head = b'{"jsonrpc":"2.0","id":' + json.dumps(message["id"]).encode()
    if message["method"] == "server/discover":
        yield head + b',"error":{"code":-32601,"message":"unknown"}}'
    elif message["method"] == "tools/call" and message["params"]["name"] == "big":
        yield head + b',"result":{"content":[{"type":"text","text":"'
        for _ in range(size // len(PIECE)):
            yield PIECE
        yield b'"}]}}'
    else:
        yield head + b',"result":' + json.dumps(result_of(message)).encode() + b"}"


def on_stdio(size: int) -> None:
    for line in sys.stdin.buffer:
        pieces = 0
        for piece in answer(json.loads(line), size):
            sys.stdout.buffer.write(piece)
            pieces += 1
        if pieces:
            sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


Reader = asyncio.StreamReader
Writer = asyncio.StreamWriter


async def lines(reader: Reader, writer: Writer, size: int) -> None:
    while line := await reader.readline():
        pieces = 0
        for piece in answer(json.loads(line), size):
            writer.write(piece)
            await writer.drain()
            pieces += 1
        writer.write(b"\n" if pieces else b"")


async def head_of(reader: Reader) -> dict[str, str]:
    text = (await reader.readuntil(b"\r\n\r\n")).decode()
    rows = [line.partition(":") for line in text.split("\r\n")[1:] if line]
    return {name.strip().lower(): value.strip() for name, _, value in rows} | {"method": text.split(" ", 1)[0]}


async def http(reader: Reader, writer: Writer, size: int, *, events: bool) -> None:
    while True:
        headers = await head_of(reader)
        if headers["method"] != "POST":
            writer.write(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
            continue
        message = json.loads(await reader.readexactly(int(headers["content-length"])))
        if "id" not in message:
            writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
            continue
        kind = b"text/event-stream" if events else b"application/json"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        pieces = [b"data: ", b"\n\n"] if events else [b"", b""]
        for piece in (pieces[0], *answer(message, size), pieces[1]):
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
        writer.write(b"0\r\n\r\n")


async def websocket(reader: Reader, writer: Writer, size: int) -> None:
    headers = await head_of(reader)
    key = hashlib.sha1(headers["sec-websocket-key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: mcp\r\n"
        b"Sec-WebSocket-Accept: " + base64.b64encode(key) + b"\r\n\r\n"
    )
    while True:
        start = await reader.readexactly(2)
        length = start[1] & 0x7F
        if length >= 126:
            length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
        mask, body = await reader.readexactly(4), bytearray(await reader.readexactly(length))
        if start[0] & 0x0F != 1:
            return
        message = json.loads(bytes(byte ^ mask[at % 4] for at, byte in enumerate(body)))
        total = sum(map(len, answer(message, size)))
        if total:
            writer.write(b"\x81\x7f" + struct.pack(">Q", total))
        for piece in answer(message, size):
            writer.write(piece)
            await writer.drain()


async def on_socket(kind: str, size: int) -> None:
    serve: Callable[..., Any] = {"unix": lines, "tcp": lines, "ws": websocket}.get(kind, http)
    more = {"events": kind == "events"} if serve is http else {}

    async def connected(reader: Reader, writer: Writer) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer, size, **more)
        writer.close()

    if kind == "unix":
        path = Path(tempfile.mkdtemp()) / "s"
        await asyncio.start_unix_server(connected, path)
        url = f"unix://{path}"
    else:
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        url = {"tcp": "tcp://127.0.0.1:{}", "ws": "ws://127.0.0.1:{}/"}.get(kind, "http://127.0.0.1:{}/mcp").format(port)
    print(url, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, os.read, 0, 1)
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        on_stdio(int(sys.argv[2]))
    else:
        asyncio.run(on_socket(sys.argv[1], int(sys.argv[2])))
