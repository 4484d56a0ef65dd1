"""When a connection is made again under the same client: a server that was switched by the handshake, and a session that is gone.

A slow server answered the probe as modern, then read the ``initialize`` that was sent behind it, and takes us for a legacy
client from then on. Started again and not asked both ways, it works.

A legacy server over HTTP that no longer knows our session turns every request away unread. A new session is opened beside the
old connection, what had been set up in the old one is set up again, and the request that was turned away is sent once more.
Whatever else is in flight ends by itself, or by name when the old connection is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Raw

from dragoman.errors import CallFailed, ConnectionLost, DragomanError, ServerError
from dragoman.runtime.driver import Driver
from dragoman.runtime.opening import Opening
from dragoman.runtime.session import Session
from dragoman.wire.envelope import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, encode
from dragoman.wire.methods import PROMPTS_CHANGED, RESOURCE_UPDATED, RESOURCES_CHANGED, TOOLS_CHANGED

log = logging.getLogger("dragoman")

#: Requests that set something up in a session of the handshake eras.
SETTINGS: Final = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_SETTING_S: Final = 5.0
_LINGER_S: Final = 2.0

Settings = dict[tuple[str, str], Mapping[str, Any]]
"""What was set up in a session: the params, by method and resource."""


class Reopening:
    """Replaces the driver of a session.

    Attributes:
        answered: A request has been answered well, so the server is in the era it said.
        busy: A replacement under way, ``None`` otherwise; what is asked meanwhile waits for it.
    """

    def __init__(self, opening: Opening, session: Session) -> None:
        self.answered = False
        self.busy: asyncio.Task[None] | None = None
        self._opening = opening
        self._session = session
        self._replaced: asyncio.Task[None] | None = None
        self._settings: Settings = {}
        self._retiring: dict[asyncio.Task[None], Driver] = {}

    async def ready(self) -> Driver:
        """Wait for a replacement under way, however it ends; the driver to use."""
        while (busy := self.busy) is not None:
            await asyncio.wait([busy])
        return self._session.driver

    def note(self, method: str, params: Mapping[str, Any]) -> None:
        """Remember a setting that a new session would need."""
        if method == "logging/setLevel":
            self._settings[method, ""] = params
        elif method == "resources/subscribe":
            self._settings[method, str(params.get("uri"))] = params
        else:
            self._settings.pop(("resources/subscribe", str(params.get("uri"))), None)

    @property
    def settings(self) -> Settings:
        """A copy of what is set up in the session."""
        return dict(self._settings)

    async def remedied(self, error: CallFailed, driver: Driver) -> bool:
        """Whether a request that failed on ``driver`` with ``error`` may and should be sent once more, on another connection by now.

        Raises:
            TransportError, ProtocolError: The server was started again and cannot be connected to.
        """
        if isinstance(error, ServerError):
            if not self._was_switched(error, driver):
                return False
            if self._replaced is None:
                self._replaced = self._start(self._replace(driver))
            await asyncio.shield(self._replaced)
            return True
        if not isinstance(error, ConnectionLost) or error.maybe_ran != "no" or not driver.connection.session_lost:
            return False
        if self._session.closed or not self._opening.repeatable:
            return False
        try:
            if self.busy is not None:
                await asyncio.shield(self.busy)
            elif self._session.driver is driver:
                await asyncio.shield(self._start(self._renew(driver)))
        except DragomanError as exc:
            error.hint = f"a new session could not be opened: {exc}"
            return False
        return True

    async def close(self) -> None:
        """Close what was replaced and is not closed yet."""
        for driver in list(self._retiring.values()):
            await driver.close()

    # --- parts --------------------------------------------------------------------------------------------------

    def _was_switched(self, error: ServerError, driver: Driver) -> bool:
        if self.answered or not self._opening.repeatable or self._session.peer.era != "modern" or not driver.connection.asked_both_ways:
            return False
        return error.code in (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS) or -32019 <= error.code <= -32000

    def _start(self, work: Any) -> asyncio.Task[None]:
        self.busy = task = asyncio.create_task(work)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self.busy = None
        if not task.cancelled():
            task.exception()  # seen, even if nobody waits any more

    async def _replace(self, driver: Driver) -> None:
        log.info("%s: restarted: it answers the stateless era as if it were a legacy connection", self._session.label)
        await driver.close("restarted")
        await self._opening.connect(self._session, known="modern")

    async def _renew(self, old: Driver) -> None:
        session = self._session
        try:
            await self._opening.connect(session, known="legacy")
        except BaseException:
            session.driver = old  # the next request is turned away again, and tries again
            if session.closed:
                await old.close()
            raise
        task = asyncio.create_task(self._retire(old))
        self._retiring[task] = old
        task.add_done_callback(lambda task: self._retiring.pop(task, None))
        await self.repeat(self.settings)

    async def repeat(self, settings: Settings) -> None:
        """Set up what was set up in another session, and count everything as changed meanwhile: nobody would have told us."""
        session = self._session
        for (method, _), params in settings.items():
            try:
                await session.driver.request(method, params, timeout_s=_SETTING_S)
            except DragomanError as exc:
                log.warning("%s: %s could not be repeated in the new session: %s", session.label, method, exc)
            else:
                self.note(method, params)
        for method in (TOOLS_CHANGED, RESOURCES_CHANGED, PROMPTS_CHANGED):
            session.changed(method)
        for method, uri in settings:
            if method == "resources/subscribe":
                session.changed(RESOURCE_UPDATED, Raw(encode({"uri": uri})))

    async def _retire(self, old: Driver) -> None:
        await old.quiet(_LINGER_S)
        await old.close("its session is gone")
