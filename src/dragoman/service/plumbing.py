"""Joins the store to what policy and runtime ask for: an audit sink, a watcher, a memory of eras.

One object, opened with the host and closed after it, so that a host can be built without touching a disk.
"""

from __future__ import annotations

import asyncio
import getpass
import hashlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from dragoman.config.model import AuditConfig, OnAuditFailure
from dragoman.errors import ConfigError, DragomanError
from dragoman.policy.ports import AuditEvent
from dragoman.runtime.gauges import Gauge, Seen, Vitals, vitals
from dragoman.store.prune import Keep
from dragoman.store.records import AuditEntry, BreakerRow, Catalog, Check, Health, KnownEra, StoreFailure, Writer
from dragoman.store.sqlite import SqliteStore
from dragoman.transports.footprint import resident_bytes
from dragoman.wire.listing import Tool
from dragoman.wire.revisions import LEGACY, MODERN, Era
from dragoman.wire.tier import Tier

log = logging.getLogger("dragoman")


class Plumbing:
    """The store, once it is open.

    Args:
        path: The database file.
        scope: The configuration whose servers are written about; see :mod:`dragoman.service.scopes`.
        on_failure: Is told, once and on the event loop, when ordinary records can no longer be written.
        keep: What of the audit is not pruned while it is open; ``None``: all of it.
    """

    def __init__(
        self, path: Path, scope: str = "", on_failure: Callable[[StoreFailure], None] | None = None, keep: Keep | None = None
    ) -> None:
        self._path, self._scope, self._on_failure, self._keep = path, scope, on_failure, keep
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
            self._store = await SqliteStore.open(self._path, on_failure=self._on_failure, keep=self._keep)
        except DragomanError as exc:
            if self._path.is_dir() or not os.access(self._path if self._path.exists() else self._path.parent, os.W_OK):
                raise ConfigError(str(exc), hint="set DRAGOMAN_HOME to a folder you can write") from exc
            raise

    async def close(self) -> None:
        """Write what is queued, and end."""
        store, self._store = self._store, None
        if store is not None:
            await store.close()

    def refuses(self, tier: Tier | None, on_failure: OnAuditFailure) -> str | None:
        """Why a call of ``tier`` may not go while the audit cannot be written; calls without tiers are as L0."""
        failure = self._store.failure if self._store is not None else None
        if failure is None or (on_failure == "reads-only" and tier in ("L0", None)):
            return None
        return failure.error

    # --- AuditSink ----------------------------------------------------------------------------------------------

    async def append(self, event: AuditEvent) -> None:
        await self.store.append(_entry(event))

    async def append_durably(self, event: AuditEvent) -> None:
        await self.store.append_durably(_entry(event))

    # --- Watcher ------------------------------------------------------------------------------------------------

    async def vitals(self, rows: Sequence[Vitals], *, closing: bool) -> None:
        pids = {row.pid for row in rows if row.pid is not None}
        memory = await asyncio.to_thread(resident_bytes, pids) if pids else {}
        now, holder = time.time(), self.store.process
        if closing:
            holder = msgspec.structs.replace(holder, closed_at=now)
        await self.store.record_health([_health(row, self._scope, now, holder, memory) for row in rows])

    async def checked(self, server: str, seen: Seen, era: str, revision: str) -> None:
        """Write down one look at a server that this process does not keep running."""
        row = vitals(server, "stopped", Gauge(seen), era=era, revision=revision)
        await self.vitals([row], closing=True)

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        text = msgspec.json.encode(tools).decode()
        row = Catalog(scope=self._scope, server=server, at=time.time(), era=era, revision=revision, tools=text)
        await self.store.save_catalog(row)

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


def _health(row: Vitals, scope: str, now: float, holder: Writer, memory: Mapping[int, int]) -> Health:
    seen, breaker = row.seen, row.breaker
    return Health(
        scope=scope,
        server=row.server,
        at=now,
        state=row.state,
        check=Check(at=seen.at, ok=seen.ok, ms=round(seen.ms, 1), error=first_line(seen.error)) if seen is not None else None,
        ok_at=row.ok_at,
        era=row.era,
        revision=row.revision,
        calls=row.calls,
        failures=row.failures,
        p50_ms=row.p50_ms,
        p99_ms=row.p99_ms,
        breaker=BreakerRow(state=breaker.state, failures=breaker.failures, retry_at=breaker.retry_at)
        if breaker is not None and (breaker.failures or breaker.state != "closed")
        else None,
        restarts=row.restarts,
        pid=row.pid,
        memory_bytes=memory.get(row.pid) if row.pid is not None else None,
        holder=holder,
    )


def first_line(text: str | None) -> str | None:
    """As much of an error as a row has room for."""
    return text.splitlines()[0][:500] if text else None


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


def keep_of(config: AuditConfig) -> Keep:
    """What the store prunes by the configuration."""
    return Keep(days=config.keep_days, max_bytes=config.max_mb * 1_000_000)


def person() -> str:
    """The user at the keyboard, for records."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "somebody"
