"""The embedded store: SQLite in a thread of its own behind an async face.  Only the face is here.

Several processes, and several stores in one process, may have the same file open; each is a writer with its own chain.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from dragoman.clock import Clock, SystemClock
from dragoman.store import prune, queries, tables
from dragoman.store.jobs import Job, Reply
from dragoman.store.prune import Keep, Pruned
from dragoman.store.records import (
    AuditEntry,
    AuditRecord,
    CallStory,
    Catalog,
    Health,
    KnownEra,
    Pin,
    StoreFailure,
    TrustedCommand,
    Writer,
)
from dragoman.store.schema import store_error
from dragoman.store.search import Query, search
from dragoman.store.worker import Worker

MAX_QUEUED = 10_000
LINGER_S = 0.01

T = TypeVar("T")


class SqliteStore:
    """A ``Store`` in one SQLite file.  Make it with ``open``, end it with ``close`` or ``async with``."""

    def __init__(self, worker: Worker, patience_s: float) -> None:
        self._worker, self._patience_s = worker, patience_s

    @classmethod
    async def open(
        cls,
        path: Path | str,
        *,
        clock: Clock | None = None,
        max_queued: int = MAX_QUEUED,
        linger_s: float = LINGER_S,
        patience_s: float = 10.0,
        on_failure: Callable[[StoreFailure], None] | None = None,
        keep: Keep | None = None,
    ) -> SqliteStore:
        """Open or make the file, and bring its schema up to date.

        Args:
            max_queued: Records that may wait for the disk; beyond it ``append`` waits.
            linger_s: How long an ordinary record may wait for others, to be written in one transaction with them.
            patience_s: How long opening, durable records, questions and a full queue wait for a lock that another program holds.
            on_failure: Is told, once and on the event loop, when ordinary records can no longer be written; without it that is logged.
            keep: What the thread prunes, soon after opening and then every hour; ``None``: nothing.

        Raises:
            DragomanError: It cannot be used; the message says why.
        """
        tell = _on_this_loop(on_failure) if on_failure is not None else None
        limits = {"linger_s": linger_s, "patience_s": patience_s}
        worker = Worker(path, clock or SystemClock(), max_queued=max_queued, on_failure=tell, keep=keep, **limits)
        opened = Reply()
        worker.start(opened)
        try:
            await opened.future
        except asyncio.CancelledError:
            worker.stop(0)
            raise
        return cls(worker, patience_s)

    async def __aenter__(self) -> SqliteStore:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        await self.close()

    @property
    def path(self) -> Path:
        return self._worker.path

    @property
    def writer(self) -> str:
        """The name of this store's chain."""
        return self._worker.writer.writer

    @property
    def process(self) -> Writer:
        """Who writes: this process, by this store."""
        return self._worker.writer

    @property
    def failure(self) -> StoreFailure | None:
        return self._worker.failure

    async def append(self, entry: AuditEntry) -> None:
        worker = self._worker
        while not worker.has_space():
            worker.check_usable()
            space = Reply()
            worker.wait_for_space(space)
            try:
                async with asyncio.timeout(self._patience_s):
                    await space.future
            except TimeoutError:
                worker.report_locked(self._patience_s)
                break
            except asyncio.CancelledError:
                worker.put(entry)  # over the bound: how a cancelled call ended must be written too
                raise
        worker.put(entry)

    async def append_durably(self, entry: AuditEntry) -> None:
        await self._ask(Job(Reply(), entry=entry))

    async def flush(self) -> None:
        await self._read(lambda con: None)

    async def close(self, timeout_s: float = 5.0) -> None:
        self._worker.check_usable()
        ended = Reply()
        self._worker.stop(timeout_s, ended)
        try:
            async with asyncio.timeout(timeout_s + 1):
                await ended.future
        except TimeoutError:
            self._worker.report_stuck(timeout_s + 1)

    async def _read(self, run: Callable[[sqlite3.Connection], T]) -> T:
        return cast(T, await self._ask(Job(Reply(), run=run)))

    async def _write(self, run: Callable[[sqlite3.Connection], T]) -> T:
        return cast(T, await self._ask(Job(Reply(), run=run, writes=True)))

    async def _ask(self, job: Job) -> Any:
        self._worker.submit(job)
        try:
            async with asyncio.timeout(self._patience_s):
                return await job.reply.future
        except TimeoutError:
            raise store_error(
                f"store {self.path} did not answer within {self._patience_s:g} s (another program may hold its lock)",
                "end the program that keeps it locked, and try again",
            ) from None
        finally:
            job.abandoned = True  # no effect on what is done

    # --- the audit, read ------------------------------------------------------------------------------------------

    async def tail(
        self,
        n: int = 20,
        *,
        event: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        turn: str | None = None,
        call: str | None = None,
        status: str | None = None,
    ) -> list[AuditRecord]:
        return await self._read(
            lambda con: queries.tail(con, n, event=event, server=server, tool=tool, turn=turn, call=call, status=status)
        )

    async def maybe_ran(self) -> int:
        return await self._read(queries.maybe_ran)

    async def show(self, call: str) -> CallStory:
        return await self._read(lambda con: queries.show(con, call))

    async def search(self, query: Query, limit: int) -> list[AuditRecord]:
        return await self._read(lambda con: [queries.judged(con, record) for record in search(con, query, limit)])

    async def prune(self, keep: Keep) -> Pruned:
        now, total, up_to = self._worker.clock.now(), 0, None

        def step(con: sqlite3.Connection) -> AuditEntry | None:
            note = prune.step(con, keep, now)
            self._worker.noting(con, note)
            return note

        while (note := await self._write(step)) is not None:
            total, up_to = total + note.detail["records"], note.detail["up_to"]
        return Pruned(records=total, up_to=up_to)

    async def foresee(self, keep: Keep) -> Pruned:
        now = self._worker.clock.now()
        return await self._read(lambda con: prune.foresee(con, keep, now))

    # --- health and catalogs --------------------------------------------------------------------------------------

    async def record_health(self, rows: Sequence[Health]) -> None:
        await self._write(lambda con: tables.record_health(con, rows))

    async def health(self, scope: str) -> dict[str, list[Health]]:
        return await self._read(lambda con: tables.health(con, scope))

    async def save_catalog(self, catalog: Catalog) -> None:
        await self._write(lambda con: tables.save_catalog(con, catalog))

    async def catalogs(self, scope: str) -> dict[str, Catalog]:
        return await self._read(lambda con: tables.catalogs(con, scope))

    # --- pins -----------------------------------------------------------------------------------------------------

    async def pins(self, scope: str, server: str | None = None) -> list[Pin]:
        return await self._read(lambda con: tables.pins(con, scope, server))

    async def add_pins(self, pins: Sequence[Pin]) -> None:
        await self._write(lambda con: tables.add_pins(con, pins))

    async def replace_pin(self, pin: Pin) -> None:
        await self._write(lambda con: tables.replace_pin(con, pin))

    async def accept_held(self, scope: str, server: str, kind: str, name: str) -> Pin | None:
        return await self._write(lambda con: tables.accept_held(con, scope, server, kind, name))

    async def drop_pins(
        self, scope: str, server: str, *, kind: str | None = None, name: str | None = None, state: str | None = None
    ) -> None:
        await self._write(lambda con: tables.drop_pins(con, scope, server, kind, name, state))

    # --- approved commands and eras -------------------------------------------------------------------------------

    async def trust_command(self, command: TrustedCommand) -> None:
        await self._write(lambda con: tables.trust_command(con, command))

    async def trusted_command(self, path: str, server: str) -> TrustedCommand | None:
        return await self._read(lambda con: tables.trusted_command(con, path, server))

    async def distrust_command(self, path: str, server: str) -> None:
        await self._write(lambda con: tables.distrust_command(con, path, server))

    async def remember_era(self, era: KnownEra) -> None:
        await self._write(lambda con: tables.remember_era(con, era))

    async def recall_era(self, key: str) -> KnownEra | None:
        now = self._worker.clock.now()
        return await self._read(lambda con: tables.recall_era(con, key, now))

    async def forget_era(self, key: str) -> None:
        await self._write(lambda con: tables.forget_era(con, key))

    async def forget_server(self, scope: str, server: str) -> None:
        await self._write(lambda con: tables.forget_server(con, scope, server))


def _on_this_loop(callback: Callable[[StoreFailure], None]) -> Callable[[StoreFailure], None]:
    loop = asyncio.get_running_loop()

    def tell(failure: StoreFailure) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(callback, failure)

    return tell
