"""
A transport of your own, start to end, on a channel that everybody knows: lines over TCP. Run it to see a client use it.

To reach a server on a port you need none of this: the target `tcp://127.0.0.1:PORT` does it.
"""

import asyncio
import json

import dragoman
from dragoman import ConnectFailed
from dragoman.protocol.actions import STDIO, Close, Performable, Send
from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.transports.base import Closed, Oversized, Received, Sink


class TcpTransport:
    """A server at a host and port."""

    traits = STDIO  # no streams per request, no headers; a cancellation is a message

    def __init__(self, host: str, port: int, *, frame_limit: int = 128 << 20) -> None:
        self.label = f"tcp://{host}:{port}"
        self._place, self._frame_limit = (host, port), frame_limit
        self._report: Sink | None = None  # gone after Closed, so that nothing is reported after it
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def open(self, report: Sink) -> None:
        """Connect; the one method that raises."""
        try:
            reader, self._writer = await asyncio.wait_for(asyncio.open_connection(*self._place), 5.0)
        except OSError as exc:  # a TimeoutError is one too, without words of its own
            raise ConnectFailed(f"cannot connect to {self.label}: {str(exc) or 'no answer within 5 s'}") from exc
        self._report = report
        self._reading = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        splitter, reason = LineSplitter(self._frame_limit), "hung up"
        try:
            while chunk := await reader.read(1 << 16):
                self._take(splitter.feed(chunk))
            self._take(splitter.end())
        except OSError as exc:
            reason = f"the connection broke: {exc}"
        self._end(reason)

    def _take(self, lines: list[bytes | bytearray | Discarded]) -> None:
        for line in lines:
            if self._report is None:
                return
            if isinstance(line, Discarded):
                self._report(Oversized(line.head, line.tail, line.size, self._frame_limit))
            else:
                self._report(Received(line))

    async def perform(self, action: Performable) -> None:
        """Send a message, or close. What goes wrong is a report, which the reading side makes."""
        if isinstance(action, Close):
            await self.close()
        elif isinstance(action, Send) and self._writer is not None and self._report is not None:
            try:
                self._writer.write(action.message + b"\n")
                await self._writer.drain()
            except OSError:
                pass

    async def close(self) -> None:
        """Hang up. From any task, any number of times."""
        if self._reading is not None:
            self._reading.cancel()
        self._end("closed by us")

    def _end(self, reason: str) -> None:
        if self._writer is not None:
            self._writer.close()
        report, self._report = self._report, None
        if report is not None:
            report(Closed(reason))


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The smallest server there is: one tool, the newest handshake."""
    while line := await reader.readline():
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, object] = {"error": {"code": -32601, "message": "method not found"}}
        if message["method"] == "initialize":
            info = {"name": "tcp", "version": "1"}
            answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}}
        elif message["method"] == "tools/call":
            answer = {"result": {"content": [{"type": "text", "text": "hello over TCP"}]}}
        writer.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode() + b"\n")
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with dragoman.Client(TcpTransport("127.0.0.1", port)) as client:
        print(client.server.name, client.server.revision, (await client.call_tool("greet")).text)
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
