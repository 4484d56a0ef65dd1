"""Makes the calls anew, in the background, that were answered with an old result while their server was down; once it is back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from dragoman.policy.stack import Stack


class Renewing:
    """One task for each server that came back, its calls one after the other.

    Args:
        stack: The chain, which knows what is owed.
        new_id: Makes the id of a call.
    """

    def __init__(self, stack: Stack, new_id: Callable[[], str]) -> None:
        self._stack, self._new_id = stack, new_id
        self._answers = stack.shared.stale
        self._answers.on_back = self.start
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self, server: str) -> None:
        """A server is back; nothing happens where nothing is owed."""
        if self._closed or not self._answers.is_owed(server):
            return
        task = asyncio.get_running_loop().create_task(self._renew(server))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _renew(self, server: str) -> None:
        for call in self._answers.take_owed(server, self._new_id):
            self._answers.fetched(call, await self._stack.run(call))

    def close(self) -> None:
        """Start nothing more, and stop what is under way."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
