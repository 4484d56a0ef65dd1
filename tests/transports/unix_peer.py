"""A server on a Unix domain socket that answers each line as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

_names = count()


@asynccontextmanager
async def listening(folder: Path, answer: Callable[[bytes], list[bytes] | None]) -> AsyncIterator[str]:
    """The path of a socket; ``None`` for an answer hangs up. Afterwards the server is gone, the file may stay."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            while line := await reader.readline():
                answers = answer(line)
                if answers is None:
                    break
                writer.write(b"".join(one + b"\n" for one in answers))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client left, or the test is over
        finally:
            writer.close()
            tasks.discard(task)

    path = str(folder / f"{next(_names)}.sock")
    server = await asyncio.start_unix_server(serve, path, limit=1 << 24)
    try:
        yield path
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        if tasks:
            await asyncio.wait(tuple(tasks), timeout=10)
