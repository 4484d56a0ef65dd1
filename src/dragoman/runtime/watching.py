"""Has written down how servers are doing, off the path of calls: what cannot be written costs no call and no connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from dragoman.errors import DragomanError
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")


class Watcher(Protocol):
    """Who writes down how servers are doing; its errors are only logged."""

    async def health(self, server: str, ok: bool, ms: float, error: str | None) -> None:
        """A connection was tried."""
        ...

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        """A server listed its tools."""
        ...


class Watching:
    """Hands rows to a watcher, each in a task of its own, and waits for them at the end.

    Args:
        watcher: ``None``: nobody wants to know.
    """

    def __init__(self, watcher: Watcher | None) -> None:
        self._watcher = watcher
        self._tasks: set[asyncio.Task[None]] = set()

    def health(self, server: str, ms: float, error: DragomanError | None) -> None:
        """A connection was tried."""
        if self._watcher is not None:
            self._start(self._watcher.health(server, error is None, ms, None if error is None else str(error)))

    def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        """A server listed its tools."""
        if self._watcher is not None:
            self._start(self._watcher.catalog(server, era, revision, tools))

    async def finish(self, timeout_s: float) -> None:
        """Wait for what is being written."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_written(coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _written(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except DragomanError as exc:
        log.debug("not written down: %s", exc)
