"""Joins the store to what policy and runtime ask for: an audit sink, a watcher, a memory of eras.

One object, opened with the host and closed after it, so that a host can be built without touching a disk.
"""

from __future__ import annotations

import getpass
import hashlib
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from dragoman.errors import ConfigError, DragomanError
from dragoman.policy.ports import AuditEvent
from dragoman.store.records import AuditEntry, Catalog, Health, KnownEra, StoreFailure
from dragoman.store.sqlite import SqliteStore
from dragoman.wire.listing import Tool
from dragoman.wire.revisions import LEGACY, MODERN, Era

log = logging.getLogger("dragoman")


class Plumbing:
    """The store, once it is open.

    Args:
        path: The database file.
        on_failure: Is told, once and on the event loop, when ordinary records can no longer be written.
    """

    def __init__(self, path: Path, on_failure: Callable[[StoreFailure], None] | None = None) -> None:
        self._path, self._on_failure = path, on_failure
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
        """Open the store; safe to call twice.

        Raises:
            ConfigError: There is no place for it that can be written.
            DragomanError: It is there and cannot be used: damaged, newer than this version, locked.
        """
        if self._store is not None:
            return
        try:
            self._store = await SqliteStore.open(self._path, on_failure=self._on_failure)
        except DragomanError as exc:
            if self._path.is_dir() or not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
                raise ConfigError(str(exc), hint="set DRAGOMAN_HOME to a folder you can write") from exc
            raise

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

    # --- EraMemory: a convenience, so a store that fails costs a slower handshake and no connection ----------------

    async def recall(self, key: str) -> Era | None:
        try:
            known = await self.store.recall_era(_digest(key))
        except DragomanError as exc:
            log.debug("eras are not remembered: %s", exc)
            return None
        if known is None:
            return None
        return "modern" if known.era == "modern" else "legacy"

    async def remember(self, key: str, era: Era) -> None:
        revision = MODERN[0] if era == "modern" else LEGACY[0]
        try:
            await self.store.remember_era(KnownEra(key=_digest(key), era=era, revision=revision, at=time.time()))
        except DragomanError as exc:
            log.debug("eras are not remembered: %s", exc)


def _digest(key: str) -> str:
    # A command line may hold a secret, and nobody needs to read it here.
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()


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
