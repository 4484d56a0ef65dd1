"""From a target to a session: start the transport, find the era, and start a server again that died of the probe."""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from dragoman.errors import ConnectFailed, DragomanError, LocalProtocolError, SpawnFailed, VersionMismatch
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.handshake import Identity
from dragoman.runtime.driver import CLOSE_S, Driver, Tap
from dragoman.runtime.eras import EraMemory
from dragoman.runtime.session import Session
from dragoman.transports.base import Transport
from dragoman.wire.revisions import ALL, LEGACY, MODERN, Era

log = logging.getLogger("dragoman")


class Opening(msgspec.Struct, kw_only=True):
    """Everything needed to connect, and to connect again.

    Attributes:
        transport: Makes a fresh, unopened transport.
        close_s: How long a transport may take to close.
        fallback: Makes a transport of 2024-11-05 for where ``transport`` is not spoken; ``None`` where there is none.
        key: Under which the era is remembered; ``None`` for never, where nothing is known of the transport and it is opened once.
        revision: The only one to speak, or ``None``.
        died_of_probe: The server ended when it was asked for its era, and was started again.
    """

    transport: Callable[[], Transport]
    identity: Identity
    label: str
    key: str | None
    eras: EraMemory
    timeout_s: float
    revision: str | None = None
    tap: Tap | None = None
    close_s: float = CLOSE_S
    fallback: Callable[[], Transport] | None = None
    died_of_probe: bool = False

    @property
    def repeatable(self) -> bool:
        """Whether ``transport`` can make more than one."""
        return self.key is not None

    async def connect(self, session: Session, known: Era | None = None) -> None:
        """Open a connection for ``session``; sets its ``driver`` and ``peer``.

        Raises:
            SpawnFailed, ConnectFailed, VersionMismatch, ServerError: As :meth:`Driver.open`.
        """
        if known is None and self.key is not None and self.revision is None:
            known = await self.eras.recall(self.key)
        try:
            await self._find(session, known)
        except DragomanError as exc:
            exc.server = exc.server or self.label
            if isinstance(exc, VersionMismatch):
                log.warning("%s: %s", self.label, exc.for_user().replace("\n", "; "))
            raise
        peer = session.peer
        if self.key is not None and self.revision is None and peer.era != known:  # a pinned revision says nothing of what it prefers
            await self.eras.remember(self.key, peer.era)
        log.info(
            "%s: connected to %s %s, revision %s (%s)", self.label, peer.info.name or "a server", peer.info.version, peer.revision, peer.era
        )

    async def _find(self, session: Session, known: Era | None) -> None:
        if self.fallback is not None and self.revision == LEGACY[-1]:
            await self._try(session, "legacy", self.fallback)
            return
        try:
            await self._try(session, known)
        except (ConnectFailed, SpawnFailed) as exc:
            if session.closed:
                raise
            if self._ended_on_the_probe(session, known):
                # Some old servers end, or hang up, when their first message is not initialize: begin again, the old way.
                log.debug("%s ended on the probe; beginning again with the handshake", self.label)
                await self._try(session, "legacy")
                self.died_of_probe = True
            elif isinstance(exc, ConnectFailed) and self.fallback is not None and self.revision is None and _is_turned_away(exc.status):
                await self._fall_back(session, self.fallback, exc)
            else:
                raise

    def _ended_on_the_probe(self, session: Session, known: Era | None) -> bool:
        driver = getattr(session, "driver", None)
        modern_only = self._revisions() == MODERN
        return self.repeatable and known != "legacy" and not modern_only and driver is not None and driver.ended_by_itself

    async def _fall_back(self, session: Session, make: Callable[[], Transport], first: ConnectFailed) -> None:
        log.debug("%s: %s; trying the transport of 2024-11-05", self.label, first)
        try:
            await self._try(session, "legacy", make)
        except ConnectFailed as exc:
            if exc.status is None:
                raise
            first.hint = f"it does not speak HTTP+SSE of 2024-11-05 either ({exc.message}); is the path right?"
            raise first from exc  # it is no event stream at all, so what was said before counts
        log.warning(
            "%s speaks only HTTP+SSE of 2024-11-05, which is deprecated and cannot resume: ask for its Streamable HTTP endpoint, often "
            "the same URL with /mcp; until then, revision 2024-11-05 in its configuration connects at once",
            self.label,
        )

    async def _try(self, session: Session, known: Era | None, make: Callable[[], Transport] | None = None) -> None:
        self._refuse_if_closed(session)
        transport = (make or self.transport)()
        revisions = self._revisions() if make is None or self.revision is not None else LEGACY
        connection = Connection(Role.CLIENT, self.identity, traits=transport.traits, revisions=revisions, known=known)
        driver = Driver(connection, transport, session, label=self.label, tap=self.tap, close_s=self.close_s)
        session.driver = driver
        peer = await driver.open(self.timeout_s)
        try:
            self._refuse_if_closed(session)
        except ConnectFailed:
            await driver.close()
            raise
        session.peer = peer

    def _refuse_if_closed(self, session: Session) -> None:
        if session.closed:
            raise ConnectFailed(f"{self.label} was closed while it was opened")

    def _revisions(self) -> tuple[str, ...]:
        return ALL if self.revision is None else (self.revision,)


def _is_turned_away(status: int | None) -> bool:
    """Whether an answer to initialize leaves room for the old transport: not where a credential or patience is missing."""
    return status is not None and 400 <= status < 500 and status not in (401, 403, 407, 408, 429)


def check_revision(revision: str | None) -> None:
    """Refuse a revision that we do not speak.

    Raises:
        LocalProtocolError: It is not one of the five.
    """
    if revision is not None and revision not in ALL:
        raise LocalProtocolError(f"revision {revision!r} is not one we speak", hint=f"one of {', '.join(MODERN + LEGACY)}")
