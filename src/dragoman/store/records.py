"""The values a store keeps, as frozen structs; they hold no behaviour beyond dating themselves in words.

Times are seconds since the Unix epoch, UTC.  JSON that the store only hands on (definitions, tool lists) is kept as text.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

Event = Literal["asked", "sending", "ended"]
Status = Literal["ok", "tool error", "refused", "denied", "expired", "failed", "cancelled", "unknown"]
Verdict = Literal[
    "ok", "tool error", "refused", "denied", "expired", "failed", "cancelled", "unknown", "in flight", "waiting", "never left", "noted"
]
PinState = Literal["pinned", "held"]
Alive = Literal["alive", "gone", "elsewhere"]

ERA_TTL_S = 7 * 24 * 3600.0


def iso(at: float) -> str:
    """``at`` as UTC to the millisecond, ``2026-11-30T23:26:25.123Z``; a time no calendar holds stays a number."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return str(at)


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller writes down: one moment of one call, or a note (``event`` such as ``connected``, ``call`` empty).

    ``detail`` is a JSON object: reason, layer, error kind, arguments digest, approver, duration_ms, sizes.  It belongs to
    the store from the moment it is appended: the caller must not change it afterwards, and must not put secrets in it.
    """

    at: float
    event: str
    call: str = ""
    turn: str | None = None
    principal: str | None = None
    server: str | None = None
    tool: str | None = None
    tier: str | None = None
    attempt: int | None = None
    status: str | None = None
    detail: dict[str, Any] = msgspec.field(default_factory=dict)


class AuditRecord(AuditEntry, frozen=True, kw_only=True):
    """An entry as it stands in the chain of ``writer``: ``seq`` counts from 1, ``prev`` and ``hash`` are SHA-256 in hex.

    ``verdict`` is no part of the chain: of a *sending* without an *ended* it says ``unknown`` or ``in flight`` (see ``CallStory``).
    """

    writer: str
    seq: int
    prev: str
    hash: str
    verdict: Verdict | None = None

    @property
    def at_iso(self) -> str:
        return iso(self.at)

    def for_json(self) -> dict[str, Any]:
        """All fields, with ``at`` in words."""
        return {**msgspec.structs.asdict(self), "at": self.at_iso}


class Writer(msgspec.Struct, frozen=True, kw_only=True):
    """Who writes a chain: one opened store in one process.

    ``started`` names the process beyond its reused number (boot and start time; empty where the system does not tell).
    """

    writer: str
    pid: int
    started: str
    host: str
    argv0: str
    opened_at: float
    closed_at: float | None = None


class CallStory(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one call in the order of writing, and what became of it.

    ``unknown``: it may have run.  ``never left``: asked for, and the writer is gone.  ``in flight``: sent by a writer that lives.
    ``waiting``: not sent yet by a writer that lives.  ``noted``: only notes.  Else the status of the last *ended*.
    """

    call: str
    verdict: str
    records: list[AuditRecord]


class StoreFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why the store cannot write any more, since when, and how many records it had to give up."""

    error: str
    at: float
    lost: int


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a server: ``ms`` to connect and shake hands, or for a heartbeat; ``error`` one line."""

    at: float
    ok: bool
    ms: float | None = None
    error: str | None = None


class BreakerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A breaker that is not at rest: its state in a word, faults in a row, and when it tries again."""

    state: str
    failures: int = 0
    retry_at: float | None = None


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """A server as one process sees it. That process keeps the row fresh while it lives, and closes it when it ends in order.

    Attributes:
        scope: Whose server of that name it is: a configuration.
        at: When the row was written.
        state: What the server's slot is in, e.g. ``ready`` or ``down``.
        check: The last look; ``None``: nobody looked yet.
        ok_at: The last one that found it well.
        calls, failures: Since the process began; a failure is a call without a result.
        p50_ms, p99_ms: Of the last calls that had a result.
        breaker: ``None`` while nothing is wrong, or where there is none.
        pid, memory_bytes: Of the server's own process, and of its whole process group.
        holder: The process that wrote the row.
    """

    scope: str
    server: str
    at: float
    state: str
    check: Check | None = None
    ok_at: float | None = None
    era: str | None = None
    revision: str | None = None
    calls: int = 0
    failures: int = 0
    p50_ms: float | None = None
    p99_ms: float | None = None
    breaker: BreakerRow | None = None
    restarts: int = 0
    pid: int | None = None
    memory_bytes: int | None = None
    holder: Writer


class Pin(msgspec.Struct, frozen=True, kw_only=True):
    """A definition as a person knows it (``pinned``), or a differing one that waits for review (``held``).

    ``scope`` as in :class:`Health`. ``kind`` is ``tool``, ``resource`` or ``prompt``; ``definition`` the JSON text that ``hash`` was
    made from.
    """

    scope: str
    server: str
    kind: str
    name: str
    hash: str
    definition: str
    first_seen: float
    state: PinState = "pinned"


class TrustedCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A person's yes to one exact command line or URL of one project file."""

    path: str
    server: str
    hash: str
    at: float
    by: str


class KnownEra(msgspec.Struct, frozen=True, kw_only=True):
    """What a server answered to the handshake; ``key`` is its argv or origin.  Forgotten after seven days."""

    key: str
    era: str
    revision: str
    at: float


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """The tools a server listed last, as JSON text, for those who must answer without starting it; ``scope`` as in :class:`Health`."""

    scope: str
    server: str
    at: float
    era: str
    revision: str
    tools: str
