"""Two joined ends in one process, for tests and for servers that live in the same program. Both belong to one event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import STDIO, Close, Performable, Send, Traits
from dragoman.transports.base import Closed, Oversized, Received, Report, Sink

_SAMPLE: Final = 4096
_MANY: Final = 100


class MemoryTransport:
    """One end of a pair; make both with ``memory_pair``.

    What one end sends, the other reports in a later turn of the loop, in order; what is sent before the other end has opened
    waits for it. Closing one end ends both: the other reports first what was sent before.
    """

    traits: Traits = STDIO

    def __init__(self, label: str = "memory", *, frame_limit: int = 128 << 20) -> None:
        self.label = label
        self._frame_limit = frame_limit
        self._peer: MemoryTransport | None = None
        self._report: Sink | None = None
        self._arrived: deque[Report] = deque()
        self._opened = self._closed = self._scheduled = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, report: Sink) -> None:
        """Report from now on what the other end sends."""
        if self._opened or self._closed:
            raise LocalProtocolError(f"the connection to {self.label} was opened before; make a new pair")
        self._opened, self._report, self._loop = True, report, asyncio.get_running_loop()
        self._schedule()

    async def perform(self, action: Performable) -> None:
        """Hand a message to the other end; nothing happens once either end is closed."""
        if isinstance(action, Close):
            await self.close()
        elif isinstance(action, Send):
            if not self._opened and not self._closed:
                raise LocalProtocolError(f"the connection to {self.label} is not open yet; await open() first")
            if not self._closed and self._peer is not None:
                self._peer._arrive(action.message)
                if len(self._peer._arrived) > _MANY:  # a sender that never waits must not keep the other end from running
                    await asyncio.sleep(0)

    async def close(self) -> None:
        """End both ends."""
        if self._closed:
            return
        self._closed = True
        self._arrived.clear()  # whoever closes does not want to hear any more
        report, self._report = self._report, None
        if report is not None:
            report(Closed("closed by us"))
        if self._peer is not None:
            self._peer._peer_closed()

    def _arrive(self, message: bytes) -> None:
        size = len(message)
        if size > self._frame_limit:
            self._arrived.append(Oversized(message[:_SAMPLE], message[-_SAMPLE:], size, self._frame_limit))
        else:
            self._arrived.append(Received(message))
        self._schedule()

    def _peer_closed(self) -> None:
        if not self._closed:
            self._arrived.append(Closed(f"{self.label} closed the connection"))
            self._schedule()

    def _schedule(self) -> None:
        if self._arrived and not self._scheduled and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        """Report what has arrived so far; what the reports set off arrives in the next turn."""
        self._scheduled = False
        for _ in range(len(self._arrived)):
            if self._report is None or not self._arrived:
                return
            report, item = self._report, self._arrived.popleft()
            if isinstance(item, Closed):
                self._closed, self._report = True, None
            report(item)
        self._schedule()


def memory_pair(*, frame_limit: int = 128 << 20, labels: tuple[str, str] = ("client", "server")) -> tuple[MemoryTransport, MemoryTransport]:
    """Two joined ends, neither open yet; each is labelled with the name of its *peer*: ``labels`` name the owners."""
    one, other = MemoryTransport(labels[1], frame_limit=frame_limit), MemoryTransport(labels[0], frame_limit=frame_limit)
    one._peer, other._peer = other, one
    return one, other
