"""Reading the audit: the last records, and the story of one call.  Works on any connection, read-only ones too."""

from __future__ import annotations

import sqlite3
from typing import Any, get_args

import msgspec

from dragoman.store.chain import COLUMNS, Row
from dragoman.store.records import AuditRecord, CallStory, Status, Writer
from dragoman.store.writers import liveness

_SELECT = f"SELECT {COLUMNS} FROM audit"
_FILTERS = ("server", "tool", "turn", "call", "status")


def tail(con: sqlite3.Connection, n: int = 20, **filters: str | None) -> list[AuditRecord]:
    """The last ``n`` records over all writers, oldest first; ``filters`` are exact values of server, tool, turn, call, status."""
    wanted = {name: value for name, value in filters.items() if value is not None}
    if unknown := wanted.keys() - set(_FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    where = " AND ".join(f'"{name}" = ?' for name in wanted)
    rows = con.execute(f"{_SELECT}{f' WHERE {where}' if where else ''} ORDER BY n DESC LIMIT ?", (*wanted.values(), max(n, 0)))
    return [_record(row) for row in rows][::-1]


def show(con: sqlite3.Connection, call: str) -> CallStory:
    """Everything written about ``call``, and its verdict."""
    records = [_record(row) for row in con.execute(f"{_SELECT} WHERE call = ? ORDER BY n", (call,))]
    return CallStory(call=call, verdict=_verdict(con, records), records=records)


def writer_row(con: sqlite3.Connection, writer: str) -> Writer | None:
    row = con.execute("SELECT pid, started, host, argv0, opened_at, closed_at FROM writers WHERE writer = ?", (writer,)).fetchone()
    if row is None:
        return None
    return Writer(writer=writer, pid=row[0], started=row[1], host=row[2], argv0=row[3], opened_at=row[4], closed_at=row[5])


def _verdict(con: sqlite3.Connection, records: list[AuditRecord]) -> str:
    if not records:
        return "never left"
    for record in reversed(records):
        if record.event == "ended":
            return record.status if record.status is not None and record.status in get_args(Status) else "unknown"
    sent = [record for record in records if record.event == "sending"]
    asked = [record for record in records if record.event == "asked"]
    if not sent and not asked:
        return "noted"
    writer = writer_row(con, (sent or asked)[-1].writer)
    alive = writer is not None and liveness(writer) == "alive"
    if sent:
        # A writer on another host cannot be looked at: what was sent there counts as unknown, the careful answer.
        return "in flight" if alive else "unknown"
    return "waiting" if alive else "never left"


def _record(row: tuple[Any, ...]) -> AuditRecord:
    """A row as a record.  A broken ``detail`` is shown as such: finding out who broke it is verify's business."""
    fields = dict(zip(Row._fields, row, strict=True))
    fields.pop("v")
    text = fields.pop("detail")
    try:
        detail = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        detail = {"unreadable": str(text)[:200]}
    return AuditRecord(**fields, detail=detail)
