"""Entries and files that the tests of the store share."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.clock import SystemClock
from dragoman.store.records import AuditEntry
from dragoman.store.sqlite import SqliteStore

AT = 1_800_000_000.25


class At(SystemClock):
    """A wall clock that stands still."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


def entry(number: int = 0, **changes: Any) -> AuditEntry:
    fields: dict[str, Any] = {
        "at": AT + number,
        "event": "asked",
        "call": f"call-{number}",
        "turn": "turn-1",
        "principal": "ada",
        "server": "files",
        "tool": "read_file",
        "tier": "L0",
        "attempt": 1,
        "status": None,
        "detail": {"number": number, "arguments": "sha256:00"},
    }
    return AuditEntry(**{**fields, **changes})


def written(path: Path, *entries: AuditEntry) -> str:
    """A closed store at ``path`` with ``entries`` added by one new writer, whose name is returned."""

    async def write() -> str:
        async with await SqliteStore.open(path) as store:
            for item in entries:
                await store.append(item)
            return store.writer

    return asyncio.run(write())


@contextmanager
def edited(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as anybody with a copy of SQLite can edit it."""
    con = sqlite3.connect(path, isolation_level=None)
    try:
        yield con
    finally:
        con.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """The file while another program holds it for writing: to a store, a disk that is stuck."""
    with edited(path) as con:
        con.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            con.execute("ROLLBACK")
