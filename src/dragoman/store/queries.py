"""Reading the audit: the last records, and the story of one call.  Works on any connection, read-only ones too."""

from __future__ import annotations

import sqlite3
from typing import Any, get_args

import msgspec

from dragoman.store.chain import COLUMNS, Row
from dragoman.store.records import AuditRecord, CallStory, Status, Writer
from dragoman.store.schema import HAS_SENT, schema_version
from dragoman.store.writers import liveness

_SELECT = f"SELECT {COLUMNS} FROM audit"
_FILTERS = ("event", "server", "tool", "turn", "call", "status")


def tail(con: sqlite3.Connection, n: int = 20, **filters: str | None) -> list[AuditRecord]:
    """The last ``n`` records over all writers, oldest first; ``filters`` are exact values of event, server, tool, turn, call, status.

    ``status="unknown"`` also finds the *sending* of every call that its writer, who is gone, wrote no end of.
    """
    wanted = {name: value for name, value in filters.items() if value is not None}
    if unknown := wanted.keys() - set(_FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    if wanted.get("status") == "unknown":
        del wanted["status"]
        found = _last(con, n, wanted, "status = 'unknown'")
        if gone := _gone(con):
            found += _last(con, n, wanted, _IS_ORPHAN, _json(gone))
    else:
        found = _last(con, n, wanted)
    found.sort(key=lambda row: -row[0])
    return [judged(con, record_of(row[1:])) for row in found[: max(n, 0)]][::-1]


def maybe_ran(con: sqlite3.Connection) -> int:
    """How many calls were sent by writers that are gone, and have no end: each may have run."""
    gone = _gone(con)
    if not gone:
        return 0
    return int(con.execute("SELECT count(*) FROM sent WHERE writer IN (SELECT value FROM json_each(?))", (_json(gone),)).fetchone()[0])


def _json(names: list[str]) -> str:
    return msgspec.json.encode(names).decode()


_IS_ORPHAN = "n IN (SELECT n FROM sent WHERE writer IN (SELECT value FROM json_each(?)))"


def _last(con: sqlite3.Connection, n: int, wanted: dict[str, str], condition: str = "", *values: str) -> list[tuple[Any, ...]]:
    """Rows, newest first, with their place in front."""
    where = " AND ".join(filter(None, [condition, *(f'"{name}" = ?' for name in wanted)]))
    sql = f"SELECT n, {COLUMNS} FROM audit{f' WHERE {where}' if where else ''} ORDER BY n DESC LIMIT ?"
    return con.execute(sql, (*values, *wanted.values(), max(n, 0))).fetchall()


def orphans(con: sqlite3.Connection) -> list[int]:
    """The places of the last *sending* of each call that has no end, and whose writer is gone."""
    gone = _gone(con)
    sql = "SELECT n FROM sent WHERE writer IN (SELECT value FROM json_each(?))"
    return [n for (n,) in con.execute(sql, (_json(gone),))] if gone else []


def _gone(con: sqlite3.Connection) -> list[str]:
    """Writers of calls without an end that write no more; on another host they cannot be looked at, and count as gone."""
    if schema_version(con) < HAS_SENT:
        return []
    return [writer for (writer,) in con.execute("SELECT DISTINCT writer FROM sent").fetchall() if not _alive(con, writer)]


def judged(con: sqlite3.Connection, record: AuditRecord) -> AuditRecord:
    """With a verdict, if it is the *sending* of a call that has no end."""
    if record.event != "sending" or schema_version(con) < HAS_SENT:
        return record
    if con.execute("SELECT 1 FROM sent WHERE call = ?", (record.call,)).fetchone() is None:
        return record
    return msgspec.structs.replace(record, verdict="in flight" if _alive(con, record.writer) else "unknown")


def _alive(con: sqlite3.Connection, writer: str) -> bool:
    row = writer_row(con, writer)
    return row is not None and liveness(row) == "alive"


def show(con: sqlite3.Connection, call: str) -> CallStory:
    """Everything written about ``call``, and its verdict."""
    records = [record_of(row) for row in con.execute(f"{_SELECT} WHERE call = ? ORDER BY n", (call,))]
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
    alive = _alive(con, (sent or asked)[-1].writer)
    if sent:
        # A writer on another host cannot be looked at: what was sent there counts as unknown, the careful answer.
        return "in flight" if alive else "unknown"
    return "waiting" if alive else "never left"


def record_of(row: tuple[Any, ...]) -> AuditRecord:
    """A row as a record.  A broken ``detail`` is shown as such: finding out who broke it is verify's business."""
    fields = dict(zip(Row._fields, row, strict=True))
    fields.pop("v")
    text = fields.pop("detail")
    try:
        detail = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        detail = {"unreadable": str(text)[:200]}
    return AuditRecord(**fields, detail=detail)
