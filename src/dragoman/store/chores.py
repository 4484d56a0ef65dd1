"""What the store's thread does when nobody waits for it: prune, and fill the index of texts.  A step at a time, when it is due.

Soon after opening and then every hour; a run has a bound, so that a store that was never looked after is put in order bit by bit.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from pathlib import Path

from dragoman.clock import Clock
from dragoman.errors import DragomanError
from dragoman.store import prune, texts
from dragoman.store.records import AuditEntry
from dragoman.store.schema import is_busy

FIRST_AFTER_S = 0.2
EVERY_S = 3_600.0
#: Between two steps of a run, so that one processor is never taken for long.
PAUSE_S = 0.02
#: Steps of a run: 100,000 records.
STEPS = 200

_log = logging.getLogger("dragoman.store")


class Chores:
    """When the next step is due, and the step; all in one thread."""

    def __init__(self, path: Path, clock: Clock, keep: prune.Keep | None) -> None:
        self._path, self._clock, self._keep = path, clock, keep
        self._due = time.monotonic() + FIRST_AFTER_S
        self._left = STEPS

    def wait_s(self) -> float:
        """Seconds until the next step."""
        return max(self._due - time.monotonic(), 0.0)

    def step(self, con: sqlite3.Connection) -> AuditEntry | None:
        """Do the next piece of work inside a transaction; what to write down about it, in the same one."""
        if self._keep is not None and (note := prune.step(con, self._keep, self._clock.now())) is not None:
            self._again()
            return note
        if texts.index_some(con):
            self._again()
        else:
            self.rest()
        return None

    def failed(self, error: BaseException) -> None:
        """The step was rolled back.  The audit is what matters, so this is said and tried again later."""
        if isinstance(error, DragomanError) and self._keep is not None:
            self._keep = None  # it is broken, and will be at the next try
            _log.warning("store %s: %s", self._path, error)
        elif is_busy(error):
            _log.debug("store %s is busy; chores wait", self._path)
        else:
            _log.warning("store %s: not pruned and no texts indexed: %s", self._path, error)
        self.rest()

    def _again(self) -> None:
        self._left -= 1
        if self._left > 0:
            self._due = time.monotonic() + PAUSE_S
        else:
            self.rest()

    def rest(self) -> None:
        """Nothing to do until the next run."""
        self._left, self._due = STEPS, time.monotonic() + EVERY_S
