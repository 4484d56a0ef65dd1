"""Callbacks of the user's, run off the reader and in order, however slow they are and however fast the server sends."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final

log = logging.getLogger("dragoman")

MAX_BYTES: Final = 32 << 20
_EACH: Final = 256  # bytes that waiting costs, whatever it holds on to
_BREATH_S: Final = 0.01  # of plain callbacks in a row, before others get their turn
_TRACEBACKS: Final = 3  # of failing callbacks that are logged; the server decides how many there are
_LOOK: Final = 64  # callbacks between two looks at the clock

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Inbox:
    """A bounded queue of callbacks and one task that runs them; beyond 32 MB the oldest is dropped and counted.

    Each connection has one of its own, and so its own three tracebacks in the log: a server that is connected to again has three more.

    Args:
        label: What to call the server in messages.
        spawn: Starts the task.

    Attributes:
        dropped: How many callbacks were never run.
    """

    def __init__(self, label: str, spawn: Spawn) -> None:
        self.dropped = 0
        self._failed = 0
        self._label = label
        self._spawn = spawn
        self._waiting: deque[tuple[Callable[[], Any], int]] = deque()
        self._bytes = 0
        self._worker: asyncio.Task[None] | None = None

    def put(self, callback: Callable[[], Any], size: int = 0) -> None:
        """Run ``callback`` later; it may be ``async``. ``size`` is what it holds on to, in bytes."""
        size += _EACH
        self._waiting.append((callback, size))
        self._bytes += size
        while self._bytes > MAX_BYTES and len(self._waiting) > 1:
            self._bytes -= self._waiting.popleft()[1]
            self.dropped += 1
            if self.dropped == 1:
                log.warning("%s sends more than its callbacks take in; the oldest are dropped", self._label)
        if self._worker is None:
            self._worker = self._spawn(self._work())

    def close(self) -> None:
        """Forget what has not run yet."""
        if self._failed > _TRACEBACKS:
            log.error("%s: %d callbacks failed; the first %d were logged", self._label, self._failed, _TRACEBACKS)
            self._failed = 0
        self._waiting.clear()
        self._bytes = 0

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        ran, began = 0, clock()
        try:
            while self._waiting:
                callback, size = self._waiting.popleft()
                self._bytes -= size
                try:
                    outcome = callback()
                    if inspect.isawaitable(outcome):
                        await outcome
                except Exception:
                    self._failed += 1
                    if self._failed <= _TRACEBACKS:
                        log.exception("%s: a callback failed", self._label)
                ran += 1
                if ran % _LOOK == 0 and clock() - began > _BREATH_S:
                    await asyncio.sleep(0)
                    began = clock()
        finally:
            self._worker = None
