"""The one case in which a connection is made twice: a slow server that answered as modern and was switched by what came after.

It was sent ``initialize`` behind the probe because it took long; it answered the probe, then read ``initialize``, and takes us
for a legacy client from then on. Started again and not asked both ways, it works.
"""

from __future__ import annotations

import asyncio
import logging

from dragoman.errors import ServerError
from dragoman.runtime.driver import Driver
from dragoman.runtime.opening import Opening
from dragoman.runtime.session import Session
from dragoman.wire.envelope import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND

log = logging.getLogger("dragoman")


class Reopening:
    """Replaces the driver of a session, at most once.

    Attributes:
        answered: A request has been answered well, so the server is in the era it said.
    """

    def __init__(self, opening: Opening, session: Session) -> None:
        self.answered = False
        self._opening = opening
        self._session = session
        self._task: asyncio.Task[None] | None = None

    def would_help(self, error: ServerError, driver: Driver) -> bool:
        """Whether this refusal, on ``driver``, looks like a server that was switched."""
        if self.answered or self._session.peer.era != "modern" or not driver.connection.asked_both_ways:
            return False
        return error.code in (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS) or -32019 <= error.code <= -32000

    async def replace(self, driver: Driver) -> None:
        """Close ``driver`` and connect anew, once for all the calls that it failed."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(driver))
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # seen, even if nobody waits any more
        await asyncio.shield(self._task)

    async def _run(self, driver: Driver) -> None:
        log.info("%s: restarted: it answers the stateless era as if it were a legacy connection", self._session.label)
        await driver.close("restarted")
        await self._opening.connect(self._session, known="modern")
