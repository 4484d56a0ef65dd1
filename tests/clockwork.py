"""An event loop whose time passes only when there is nothing else to do: deadlines of minutes cost nothing, and can be measured."""

from __future__ import annotations

import asyncio
import os
import selectors
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


class _Impatient(selectors.DefaultSelector):
    """Never waits: what would be waited for is added to the time instead."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or timeout == 0:
            return found
        if timeout is None:
            raise AssertionError("everything waits, and nothing will ever happen")
        self.skipped += max(timeout, 1e-6)
        return []


class Clockwork(asyncio.SelectorEventLoop):
    """For what happens inside this process alone: sockets to oneself are fine, children and threads are not waited for."""

    def __init__(self) -> None:
        self._impatient = _Impatient()
        super().__init__(self._impatient)

    def time(self) -> float:
        return super().time() + self._impatient.skipped

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it; nothing of it may be left, neither a task nor a descriptor.

        Raises:
            AssertionError: Something is left, or everything waits for ever.
        """
        before, tasks = descriptors(), asyncio.all_tasks(self)
        result = self.run_until_complete(coroutine)
        self.run_until_complete(_turns(4))
        assert not (left := asyncio.all_tasks(self) - tasks), f"tasks are left: {left}"
        assert descriptors() == before, "descriptors are left"
        return result


async def _turns(count: int) -> None:
    for _ in range(count):  # for sockets to be closed that were given up
        await asyncio.sleep(0)


def descriptors() -> int:
    """How many descriptors this process has open."""
    return len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
