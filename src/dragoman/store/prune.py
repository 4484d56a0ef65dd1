"""Forgetting the oldest records without breaking the proof: a chain then begins at its anchor.

Records go in the order of writing, so what goes is a beginning of every chain, and an anchor keeps the place and hash of the last
one.  Each step writes, in its own transaction, a record ``pruned`` with a digest over all anchors: whoever cuts a chain and makes up
an anchor has to forge the chain of whoever pruned last, too.  A step checks what it takes away first: a broken place stays.
"""

from __future__ import annotations

import hashlib
import sqlite3

import msgspec

from dragoman.store import texts
from dragoman.store.chain import COLUMNS, canonical_json
from dragoman.store.queries import writer_row
from dragoman.store.records import AuditEntry, iso
from dragoman.store.schema import store_error
from dragoman.store.verify import Chains, anchors_digest
from dragoman.store.writers import liveness

#: Records per transaction; about 25 ms in which others wait.
STEP = 500
#: The event of the record that says what was pruned.
PRUNED = "pruned"
_DAY_S = 86_400.0
#: The anchor of all chains that are gone with all their records.
_GONE = ""


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept: records of the last ``days``, as long as the database holds no more than ``max_bytes``."""

    days: float
    max_bytes: int


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """How many records went, or would go, and the time of the last of them (UTC)."""

    records: int
    up_to: str | None


def step(con: sqlite3.Connection, keep: Keep, now: float) -> AuditEntry | None:
    """Prune at most ``STEP`` records; the record to write about it in the same transaction, ``None`` if nothing is to be pruned.

    Raises:
        DragomanError: What would go, or an anchor, is not as it was written.
    """
    bound = _bound(con, keep, now)
    if bound is None:
        return None
    chains = Chains(con)
    if (fault := chains.anchor_fault()) is not None:
        raise _stopped(str(fault))
    counted = 0
    for row in con.execute(f"SELECT {COLUMNS} FROM audit WHERE n <= ? ORDER BY n", (bound,)):
        counted += 1
        chains.record(row)
    if chains.bad:
        raise _stopped(str(next(iter(chains.bad.values()))))
    ends = con.execute("SELECT writer, max(seq), hash, at FROM audit WHERE n <= ? GROUP BY writer", (bound,)).fetchall()
    con.executemany("INSERT OR REPLACE INTO anchors VALUES (?, ?, ?, ?)", ends)
    texts.forget(con, bound)
    con.execute("DELETE FROM audit WHERE n <= ?", (bound,))
    con.execute("DELETE FROM sent WHERE n <= ?", (bound,))
    _fold(con)
    detail = {"records": counted, "up_to": iso(max(end[3] for end in ends)), "anchors_sha256": anchors_digest(con)}
    return AuditEntry(at=now, event=PRUNED, detail=detail)


def foresee(con: sqlite3.Connection, keep: Keep, now: float) -> Pruned:
    """What pruning would take away now; by size it is an estimate."""
    records = con.execute("SELECT count(*) FROM audit").fetchone()[0]
    kept = "at >= ? AND at <= ?"
    first = con.execute(f"SELECT min(n) FROM audit INDEXED BY audit_facets WHERE {kept}", _span(keep, now)).fetchone()[0]
    if first is None:
        first = con.execute("SELECT max(n) FROM audit").fetchone()[0]
    count = con.execute("SELECT count(*) FROM audit WHERE n < ?", (first,)).fetchone()[0] if records else 0
    used = used_bytes(con)
    if records and used > keep.max_bytes:
        count = max(count, min(records - 1, -(-(used - keep.max_bytes) * records // used)))
    last = con.execute("SELECT at FROM audit ORDER BY n LIMIT 1 OFFSET ?", (count - 1,)).fetchone() if count else None
    return Pruned(records=count, up_to=iso(last[0]) if last else None)


def used_bytes(con: sqlite3.Connection) -> int:
    """What the database holds; its file may be longer, with free pages that are used again."""
    pages, free, size = (con.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
    return int((pages - free) * size)


def _bound(con: sqlite3.Connection, keep: Keep, now: float) -> int | None:
    """The place up to which to prune in one step; never the last record, so that no place is used twice."""
    if used_bytes(con) > keep.max_bytes:
        kept = None
    else:
        # A record from the future was written under a wrong clock, and must not keep all that came after it for ever.
        low, high = _span(keep, now)
        oldest = con.execute("SELECT at FROM audit ORDER BY n LIMIT 1").fetchone()
        if oldest is None or low <= oldest[0] <= high:
            return None
        rows = con.execute("SELECT n, at FROM audit INDEXED BY audit_facets ORDER BY n LIMIT ?", (STEP,))
        kept = next((n for n, at in rows if low <= at <= high), None)
    sql = "SELECT max(n) FROM (SELECT n FROM audit WHERE n < (SELECT max(n) FROM audit) AND (?1 IS NULL OR n < ?1) ORDER BY n LIMIT ?2)"
    bound = con.execute(sql, (kept, STEP)).fetchone()[0]
    if bound is None or con.execute("SELECT count(*) FROM (SELECT 1 FROM audit LIMIT 3)").fetchone()[0] < 3:
        return None  # two records, of which one says that the others were pruned: no use in pruning that again and again
    return int(bound)


def _span(keep: Keep, now: float) -> tuple[float, float]:
    return now - keep.days * _DAY_S, now + _DAY_S


def _fold(con: sqlite3.Connection) -> None:
    """Chains that are gone with all their records become one anchor: every command is a writer, and they must not pile up."""
    ended = "SELECT writer, seq, hash, anchors.at FROM anchors JOIN heads USING (writer, seq, hash) ORDER BY writer"
    for writer, seq, hash_, at in con.execute(ended).fetchall():
        row = writer_row(con, writer)
        if row is None or liveness(row) != "gone":
            continue
        count, before, last = con.execute("SELECT seq, hash, at FROM anchors WHERE writer = ?", (_GONE,)).fetchone() or (0, "", at)
        both = hashlib.sha256(canonical_json([before, writer, seq, hash_])).hexdigest()
        for table in ("heads", "writers", "anchors"):
            con.execute(f"DELETE FROM {table} WHERE writer = ?", (writer,))
        con.execute("INSERT OR REPLACE INTO anchors VALUES (?, ?, ?, ?)", (_GONE, count + seq, both, max(last, at)))


def _stopped(why: str) -> Exception:
    return store_error(f"nothing more is pruned, because the audit is broken: {why}", "see: dragoman audit verify")
