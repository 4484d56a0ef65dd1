"""A server on a Unix domain socket or a TCP port that answers each line as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

_names = count()

Answer = Callable[[bytes], list[bytes] | None]


class Lines:
    """The same answers for every connection; ``None`` for an answer hangs up."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.tasks: set[asyncio.Task[None]] = set()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while line := await reader.readline():
                answers = self.answer(line)
                if answers is None:
                    break
                writer.write(b"".join(one + b"\n" for one in answers))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            writer.close()
            self.tasks.discard(task)

    async def end(self, server: asyncio.Server) -> None:
        server.close()
        for task in tuple(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(tuple(self.tasks), timeout=10)


@asynccontextmanager
async def listening(folder: Path, answer: Answer) -> AsyncIterator[str]:
    """The path of a socket. Afterwards the server is gone, the file may stay."""
    lines, path = Lines(answer), str(folder / f"{next(_names)}.sock")
    server = await asyncio.start_unix_server(lines, path, limit=1 << 24)
    try:
        yield path
    finally:
        await lines.end(server)


@asynccontextmanager
async def listening_on_a_port(answer: Answer) -> AsyncIterator[int]:
    """The port of a server on 127.0.0.1."""
    lines = Lines(answer)
    server = await asyncio.start_server(lines, "127.0.0.1", 0, limit=1 << 24)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await lines.end(server)
