"""What travels between the async face and the thread: work with an answer, and the way back to the caller's loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

from dragoman.store.records import AuditEntry

Run = Callable[[sqlite3.Connection], Any]


class Reply:
    """A future of the loop it was made in, settled from the thread; settling a forgotten one does nothing."""

    __slots__ = ("_loop", "future")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def settle(self, result: Any = None, error: BaseException | None = None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._set, result, error)
        except RuntimeError:  # the loop is closed: nobody waits any more
            pass

    def _set(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Job:
    """Work with an answer.  ``abandoned`` is set by a caller that stopped waiting: what has not begun is then not done."""

    __slots__ = ("abandoned", "entry", "reply", "run", "writes")

    def __init__(self, reply: Reply, *, entry: AuditEntry | None = None, run: Run | None = None, writes: bool = False) -> None:
        self.reply, self.entry, self.run, self.writes, self.abandoned = reply, entry, run, writes, False
