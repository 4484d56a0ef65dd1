"""Has written down how servers are doing, off the path of calls: what cannot be written costs no call and no connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from dragoman.errors import DragomanError
from dragoman.runtime import vitals as clients
from dragoman.runtime.gauges import BreakerState, Seen, Vitals, vitals
from dragoman.runtime.slots import Slot
from dragoman.runtime.standing import sentence
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

#: Rows are written anew at least this often, so that their age says whether the process behind them still works.
REFRESH_S: Final = 60.0
#: News that come while others are being written wait this long for more: a look at memory goes through all processes of the machine.
TOGETHER_S: Final = 0.25
#: What was counted since a row was written is written after this long at most.
COUNTED_S: Final = 15.0


class Watcher(Protocol):
    """Who writes down how servers are doing; its errors are only logged."""

    async def vitals(self, rows: Sequence[Vitals], *, closing: bool) -> None:
        """How servers are now; ``closing``: these are the last words of this process about them."""
        ...

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        """A server listed its tools."""
        ...


_Counts = tuple[int, int, int]
"""Calls, failures, restarts."""
_NOTHING: Final[_Counts] = (0, 0, 0)


class Watching:
    """Hands rows to a watcher, off the path of whoever has news; every 15 s where calls were counted, and once a minute in any case.

    The first news are written at once; what comes within a quarter of a second after that is written together, one row for each server.

    Args:
        watcher: ``None``: nobody wants to know.
        slots: The servers by name, as they are at each moment.
        breaker: How the breaker of a server stands; ``None``: it has none.
    """

    def __init__(self, watcher: Watcher | None, slots: Mapping[str, Slot], breaker: Callable[[str], BreakerState | None]) -> None:
        self._watcher, self._slots, self._breaker = watcher, slots, breaker
        self._written: dict[str, tuple[float, _Counts]] = {}  # when, by the loop's clock, and what was counted by then
        self._tasks: set[asyncio.Task[None]] = set()
        self._news: dict[str, Slot] = {}
        self._writer: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing = asyncio.Event()

    def checked(self, slot: Slot, ms: float, error: DragomanError | None) -> None:
        """Somebody looked at a server: a connection was tried, or a heartbeat."""
        slot.gauge.look(Seen(at=time.time(), ok=error is None, ms=ms, error=None if error is None else sentence(error)))
        self.changed(slot)

    def changed(self, slot: Slot) -> None:
        """A server that was looked at is in another state: have it written down soon."""
        if self._watcher is None or self._closing.is_set() or slot.gauge.seen is None:
            return
        self._news[slot.name] = slot
        if self._writer is None:
            self._writer = self._start(self._write())
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COUNTED_S, self._refresh)

    def gone(self, slot: Slot) -> None:
        """A server was removed, and is stopped."""
        self._news.pop(slot.name, None)
        self._written.pop(slot.name, None)
        if self._watcher is not None and slot.gauge.seen is not None:
            self._start(_written(self._watcher.vitals(self._rows([slot]), closing=True)))

    def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        """A server listed its tools."""
        if self._watcher is not None:
            self._start(_written(self._watcher.catalog(server, era, revision, tools)))

    async def finish(self, timeout_s: float) -> None:
        """Say the last words about every server that was looked at, and wait for what is being written."""
        self._closing.set()
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is None:
            return
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        self._start(_written(self._watcher.vitals(self._rows(self._known()), closing=True)))
        await asyncio.wait(self._tasks, timeout=timeout_s)

    def _refresh(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(COUNTED_S, self._refresh)
        old = loop.time() - REFRESH_S
        for slot in self._known():
            at, counted = self._written.get(slot.name, (old, _NOTHING))
            if at <= old or counted != _counts(slot):
                self.changed(slot)

    def _known(self) -> list[Slot]:
        return [slot for slot in self._slots.values() if slot.gauge.seen is not None]

    async def _write(self) -> None:
        watcher = self._watcher
        try:
            while self._news and watcher is not None:
                slots, self._news = list(self._news.values()), {}
                now = asyncio.get_running_loop().time()
                self._written.update({slot.name: (now, _counts(slot)) for slot in slots})
                await _written(watcher.vitals(self._rows(slots), closing=False))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TOGETHER_S):
                        await self._closing.wait()
                        return  # the last words are about every server
        finally:
            self._writer = None

    def _rows(self, slots: Iterable[Slot]) -> list[Vitals]:
        return [vitals_of(slot, self._breaker(slot.name)) for slot in slots]

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def vitals_of(slot: Slot, breaker: BreakerState | None) -> Vitals:
    """A server as it is now."""
    client = slot.client
    server = client.server if client is not None else None
    return vitals(
        slot.name,
        slot.state,
        slot.gauge,
        era=server.era if server is not None else None,
        revision=server.revision if server is not None else None,
        breaker=breaker,
        restarts=slot.restarts,
        pid=clients.pid(client) if client is not None else None,
    )


def _counts(slot: Slot) -> _Counts:
    return slot.gauge.calls, slot.gauge.failures, slot.restarts


async def _written(coroutine: Coroutine[Any, Any, None]) -> None:
    try:
        await coroutine
    except DragomanError as exc:
        log.debug("not written down: %s", exc)
