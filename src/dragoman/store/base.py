"""The interface of a store: async, usable from any loop or thread of the process that opened it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

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
from dragoman.store.search import Query


class AuditLog(Protocol):
    """The writing half, all that the chain around a call needs."""

    @property
    def failure(self) -> StoreFailure | None:
        """Why ordinary records are no longer written, or ``None``."""
        ...

    async def append(self, entry: AuditEntry) -> None:
        """Hand over an ordinary record; waits only while the queue is full, never for the disk.

        After a failure of the disk the record is counted in ``failure.lost`` and the call returns.

        Raises:
            DragomanError: The store is closed, or this is a forked child.
        """
        ...

    async def append_durably(self, entry: AuditEntry) -> None:
        """Return once the record, and all that were appended before it, would survive a power cut.

        Raises:
            DragomanError: It could not be written; nothing that depends on it may go ahead.
        """
        ...


class Store(AuditLog, Protocol):
    """Everything that is remembered.  Every method may raise ``DragomanError``; writes return after their commit."""

    async def flush(self) -> None:
        """Return once everything appended so far is committed, or counted as lost."""
        ...

    async def close(self, timeout_s: float = 5.0) -> None:
        """Write what is queued and end; idempotent.  What did not make it in time is in ``failure``."""
        ...

    # the audit, read

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
        """The last ``n`` records that match, oldest first; ``unknown`` finds the calls too that a crash left without an end."""
        ...

    async def maybe_ran(self) -> int:
        """How many calls were sent by writers that are gone, and have no end."""
        ...

    async def show(self, call: str) -> CallStory:
        """All records of one call and its verdict; no records and ``never left`` for an id nobody wrote down."""
        ...

    async def search(self, query: Query, limit: int) -> list[AuditRecord]:
        """The newest ``limit`` records that match, newest first."""
        ...

    async def prune(self, keep: Keep) -> Pruned:
        """Prune to the end; calls are written in between."""
        ...

    async def foresee(self, keep: Keep) -> Pruned:
        """What pruning would take away now; by size it is an estimate."""
        ...

    # health and catalogs

    @property
    def process(self) -> Writer:
        """Who writes: this process, by this store."""
        ...

    async def record_health(self, rows: Sequence[Health]) -> None:
        """Write rows in place of earlier ones of the same server and holder; those of the last 50 holders are kept."""
        ...

    async def health(self, scope: str) -> dict[str, list[Health]]:
        """The rows of every server of a configuration, by name, newest first."""
        ...

    async def save_catalog(self, catalog: Catalog) -> None: ...

    async def catalogs(self, scope: str) -> dict[str, Catalog]: ...

    # pins

    async def pins(self, scope: str, server: str | None = None) -> list[Pin]: ...

    async def add_pins(self, pins: Sequence[Pin]) -> None:
        """Add those that have no row of the same scope, server, kind, name and state yet; the first of two processes wins."""
        ...

    async def replace_pin(self, pin: Pin) -> None: ...

    async def accept_held(self, scope: str, server: str, kind: str, name: str) -> Pin | None:
        """Make the held definition the pinned one, and return it; ``None`` if nothing is held."""
        ...

    async def drop_pins(
        self, scope: str, server: str, *, kind: str | None = None, name: str | None = None, state: str | None = None
    ) -> None: ...

    # approved commands of project files

    async def trust_command(self, command: TrustedCommand) -> None: ...

    async def trusted_command(self, path: str, server: str) -> TrustedCommand | None: ...

    async def distrust_command(self, path: str, server: str) -> None: ...

    # eras

    async def remember_era(self, era: KnownEra) -> None: ...

    async def recall_era(self, key: str) -> KnownEra | None:
        """What was remembered within the last seven days."""
        ...

    async def forget_era(self, key: str) -> None: ...

    async def forget_server(self, scope: str, server: str) -> None:
        """Drop health, catalog and pins of a server that was removed; its audit stays."""
        ...
