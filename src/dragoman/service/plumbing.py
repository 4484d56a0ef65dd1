"""Joins the store to what policy and runtime ask for: an audit sink, a watcher, a memory of eras.

One object, opened with the host and closed after it, so that a host can be built without touching a disk.
"""

from __future__ import annotations

import getpass
import os
import time
from pathlib import Path

import msgspec

from dragoman.errors import DragomanError
from dragoman.policy.ports import AuditEvent
from dragoman.store.records import AuditEntry, Catalog, Health, KnownEra
from dragoman.store.sqlite import SqliteStore
from dragoman.wire.listing import Tool
from dragoman.wire.revisions import LEGACY, MODERN, Era


class Plumbing:
    """The store, once it is open.

    Args:
        path: The database file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._store: SqliteStore | None = None

    @property
    def store(self) -> SqliteStore:
        """The open store.

        Raises:
            DragomanError: It is not open.
        """
        if self._store is None:
            raise DragomanError("the store is not open")
        return self._store

    async def open(self) -> None:
        """Open the store; safe to call twice."""
        if self._store is None:
            self._store = await SqliteStore.open(self._path)

    async def close(self) -> None:
        """Write what is queued, and end."""
        store, self._store = self._store, None
        if store is not None:
            await store.close()

    # --- AuditSink ----------------------------------------------------------------------------------------------

    async def append(self, event: AuditEvent) -> None:
        await self.store.append(_entry(event))

    async def append_durably(self, event: AuditEvent) -> None:
        await self.store.append_durably(_entry(event))

    # --- Watcher ------------------------------------------------------------------------------------------------

    async def health(self, server: str, ok: bool, ms: float, error: str | None) -> None:
        line = error.splitlines()[0][:500] if error else None
        await self.store.record_health(Health(server=server, at=time.time(), ok=ok, ms=round(ms, 1), error=line))

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        text = msgspec.json.encode(tools).decode()
        await self.store.save_catalog(Catalog(server=server, at=time.time(), era=era, revision=revision, tools=text))

    # --- EraMemory ----------------------------------------------------------------------------------------------

    async def recall(self, key: str) -> Era | None:
        known = await self.store.recall_era(key)
        if known is None:
            return None
        return "modern" if known.era == "modern" else "legacy"

    async def remember(self, key: str, era: Era) -> None:
        revision = MODERN[0] if era == "modern" else LEGACY[0]
        await self.store.remember_era(KnownEra(key=key, era=era, revision=revision, at=time.time()))


def _entry(event: AuditEvent) -> AuditEntry:
    return AuditEntry(
        at=event.at,
        event=event.event,
        call=event.call,
        turn=event.turn,
        principal=event.principal,
        server=event.server,
        tool=event.tool,
        tier=event.tier,
        attempt=event.attempt,
        status=event.status,
        detail=event.detail,
    )


def person() -> str:
    """The user at the keyboard, for records."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
