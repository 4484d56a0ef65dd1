"""What one server offers right now: has its tools listed once per connection, and anew after a change, openly. It keeps none of them.

The catalog is the only place that lists on its own account, and it says so (``refreshed``). A ``list_changed`` notice marks
it stale; a storm of them makes one refresh at a time, and at most one after it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

from dragoman.errors import CallFailed, DragomanError, ProtocolError
from dragoman.runtime.client import Client
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool
from dragoman.wire.methods import TOOLS_CHANGED

log = logging.getLogger("dragoman")

COALESCE_S: Final = 0.05
_CALM_S: Final = 5.0
_MOST_S: Final = 5.0
_LISTEN_S: Final = float("inf")


class Catalog:
    """The listing of one connected client's tools.

    Args:
        client: Connected.
        refreshed: Called with the new list after each refresh.
    """

    def __init__(self, client: Client, refreshed: Callable[[tuple[Tool, ...]], None] | None = None) -> None:
        self.client = client
        self.problems: tuple[Flaw, ...] = ()
        self._refreshed = refreshed
        self._running: asyncio.Task[None] | None = None
        self._again: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._listed = self._stale = self._began = False
        self._wait_s = COALESCE_S
        self._refreshed_at = float("-inf")
        client.on_change(self._changed)

    async def current(self) -> None:
        """Have the tools listed, at the first call and after a change. One listing at a time, whoever asks."""
        if self._stale or not self._listed:
            await self.refresh()

    async def refresh(self) -> None:
        """List now (or join the listing under way)."""
        if self._running is None:
            self._stale, self._began = False, True
            self._running = asyncio.create_task(self._list())
            self._running.add_done_callback(self._ran)
        await asyncio.shield(self._running)

    async def _list(self) -> None:
        tools: tuple[Tool, ...] = ()
        if "tools" in self.client.server.capabilities:
            tools = tuple(await self.client.list_tools(cache=False))
            self.problems = tuple(self.client.problems)
        self._listed = True
        if self._refreshed is not None:
            self._refreshed(tools)

    def _ran(self, task: asyncio.Task[None]) -> None:
        self._running = None
        if not task.cancelled() and task.exception() is not None:
            self._stale = True

    def watch(self) -> None:
        """Follow changes on servers of the stateless era, which tell them only to those who listen."""
        server = self.client.server
        declared = server.capabilities.get("tools")
        if server.era == "modern" and isinstance(declared, dict) and declared.get("listChanged") and self._listening is None:
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        try:
            async with self.client.listen(tools=True, timeout_s=_LISTEN_S) as changes:
                if self._began:  # what was listed may be from before the server began to tell changes
                    self._changed(TOOLS_CHANGED)
                async for change in changes:  # on_change has taken note of those that were said
                    if change.missed:
                        self._changed(TOOLS_CHANGED)
        except (CallFailed, ProtocolError) as exc:
            log.debug("%s: no longer tells changes: %s", self.client.label, exc)

    def _changed(self, method: str) -> None:
        if method != TOOLS_CHANGED:
            return
        self._stale = True
        if self._again is None:
            self._again = asyncio.get_running_loop().create_task(self._soon())

    async def _soon(self) -> None:
        now = asyncio.get_running_loop().time
        calm = now() - self._refreshed_at > _CALM_S
        self._wait_s = COALESCE_S if calm else min(2 * self._wait_s, _MOST_S)  # some servers announce a change at each listing
        try:
            await asyncio.sleep(self._wait_s)
            if self._running is not None:
                await asyncio.wait([self._running])
            self._again = None  # a change from here on needs another listing
            self._refreshed_at = now()
            await self.refresh()
        except DragomanError as exc:
            log.warning("%s: the tools changed and could not be listed: %s", self.client.label, exc)
        finally:
            self._refreshed_at = now()
            if self._again is asyncio.current_task():
                self._again = None

    async def close(self) -> None:
        """Stop following changes."""
        tasks: list[asyncio.Task[Any]] = [task for task in (self._again, self._running, self._listening) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)
