"""Hearing of changes at a server of a host: one subscription that is made again whenever its server is."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Self

from dragoman.errors import CallFailed, DragomanError, LocalProtocolError
from dragoman.runtime.slots import Slot
from dragoman.runtime.subscriptions import Change, Changes


class Following:
    """Enter it, then iterate over its changes; it ends when it is left, or when the server is stopped for good.

    After a restart of the server everything it covers counts as changed (``missed``).

    Args:
        slot: The server.
        what: As for :meth:`dragoman.Client.listen`.
    """

    def __init__(self, slot: Slot, what: dict[str, Any]) -> None:
        self._slot, self._what = slot, what
        self._changes: Changes | None = None
        self._missed: list[Change] = []
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        """Start the server where needed, and ask it.

        Raises:
            CallFailed, LocalProtocolError: It did not agree.
            DragomanError: It did not start.
        """
        if self._changes is not None or self._closed.is_set():
            raise LocalProtocolError("a subscription is entered once", hint="call listen() again")
        self._slot.listeners += 1
        try:
            await self._subscribe()
        except BaseException:
            self._slot.listeners -= 1
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._slot.listeners -= 1
        self._closed.set()
        if self._changes is not None:
            await self._changes.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        while not self._closed.is_set():
            if self._missed:
                return self._missed.pop(0)
            changes = self._changes
            if changes is None:
                if not await self._again():
                    break
                continue
            try:
                return await changes.__anext__()
            except (StopAsyncIteration, CallFailed):
                await changes.close()
                self._changes = None
        raise StopAsyncIteration

    async def _subscribe(self) -> None:
        client = await self._slot.connected()
        changes = client.listen(**self._what)
        await changes.__aenter__()
        self._changes = changes

    async def _again(self) -> bool:
        """Subscribe anew when the server is up again; whether there is any more to wait for."""
        slot = self._slot
        while not self._closed.is_set() and slot.state not in ("stopped", "disabled", "not approved"):
            moved = slot.moved
            if slot.state == "ready":
                try:
                    await self._subscribe()
                except DragomanError:
                    if slot.state == "ready" and slot.moved is moved:
                        raise  # it is up, and does not agree
                    continue
                assert self._changes is not None
                self._missed = list(self._changes.wanted.changes(missed=True))
                return True
            waits = [asyncio.ensure_future(event.wait()) for event in (moved, self._closed)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await wait
        return False
