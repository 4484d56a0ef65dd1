"""Searching the audit: what is asked for, and its records from the newest to the oldest.  Works on read-only connections too.

Two ways lead to few records among many: the index of texts, where it reaches and the text is long enough for it, and reading
through ``audit_facets``, a fifth of the audit.  Both only name candidates; each is looked at again, so an index cannot lie.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from dragoman.store import texts
from dragoman.store.chain import COLUMNS
from dragoman.store.queries import orphans, record_of
from dragoman.store.records import AuditRecord
from dragoman.store.schema import HAS_ANCHORS, HAS_SENT, schema_version


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What a search asks for; all of it must hold.

    Attributes:
        text: Stands in what was kept of arguments, messages and other details; ASCII letters in either case.
        call: The beginning of a call's id.
        status: As recorded; ``unknown`` finds the *sending* too of a call that a crash left without an end.
        since, until: Seconds since the epoch; since is included, until is not.
    """

    text: str | None = None
    event: str | None = None
    server: str | None = None
    tool: str | None = None
    status: str | None = None
    tier: str | None = None
    principal: str | None = None
    turn: str | None = None
    call: str | None = None
    since: float | None = None
    until: float | None = None


#: As many records are looked at one by one for their text, before the index of texts is asked.
_FEW = 5_000


def search(con: sqlite3.Connection, query: Query, limit: int) -> list[AuditRecord]:
    """The newest ``limit`` records that match, newest first."""
    wanted, values = _where(con, query)
    if query.call is not None or query.status == "unknown" or schema_version(con) < HAS_ANCHORS:  # have indexes of their own, or none
        wanted, values = _with_text(query, wanted, values)
        return _at(con, _places(con, "", wanted, values, limit))
    if query.text is None:
        return _at(con, _places(con, "INDEXED BY audit_facets", wanted, values, limit))
    if wanted and len(few := _places(con, "INDEXED BY audit_facets", wanted, values, _FEW)) < _FEW:
        return _of_calls(con, few, query)[:limit]
    found = texts.match(con, query.text)
    wanted, values = _with_text(query, wanted, values)
    if found is None:
        return _at(con, _places(con, "NOT INDEXED", wanted, values, limit))
    upto, match = found
    newest = _at(con, _places(con, "NOT INDEXED", [*wanted, "n > ?"], [*values, upto], limit))
    if match and len(newest) < limit:
        # CROSS: the planner keeps this order; the other one would ask the index of texts once per record.
        table = "(SELECT rowid AS found FROM audit_texts WHERE audit_texts MATCH ? ORDER BY rowid DESC) CROSS JOIN audit ON n = found"
        sql = f"SELECT {COLUMNS} FROM {table}{_clause([*wanted, 'found <= ?'])} ORDER BY found DESC LIMIT ?"
        newest += map(record_of, con.execute(sql, (match, *values, upto, limit - len(newest))))
    return newest


def everything(con: sqlite3.Connection, query: Query) -> Iterator[AuditRecord]:
    """Every record that matches, oldest first, read one by one."""
    wanted, values = _with_text(query, *_where(con, query))
    yield from map(record_of, con.execute(f"SELECT {COLUMNS} FROM audit{_clause(wanted)} ORDER BY n", values))


def _places(con: sqlite3.Connection, hint: str, wanted: list[str], values: list[Any], limit: int) -> list[int]:
    """The last places that match."""
    sql = f"SELECT n FROM audit {hint}{_clause(wanted)} ORDER BY n DESC LIMIT ?"
    return [n for (n,) in con.execute(sql, (*values, limit))]


def _at(con: sqlite3.Connection, places: list[int], wanted: Sequence[str] = (), values: Sequence[Any] = ()) -> list[AuditRecord]:
    """The records at these places of which the rest holds too."""
    clause = _clause(["n IN (SELECT value FROM json_each(?))", *wanted])
    return [record_of(row) for row in con.execute(f"SELECT {COLUMNS} FROM audit{clause} ORDER BY n DESC", (json.dumps(places), *values))]


def _clause(wanted: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(wanted)}" if wanted else ""


def _of_calls(con: sqlite3.Connection, places: list[int], query: Query) -> list[AuditRecord]:
    """The records with the text among these, and among the others of their calls."""
    text, values = _text(query)
    these = "n IN (SELECT value FROM json_each(?))"
    calls = f"call IN (SELECT call FROM audit WHERE {these} AND call != '')"
    listed = json.dumps(places)
    whole = f"SELECT {COLUMNS} FROM audit WHERE n IN (SELECT n FROM audit WHERE {these} UNION SELECT n FROM audit WHERE {calls})"
    span, times = _span(query)
    rows = con.execute(f"{whole} AND {' AND '.join([*text, *span])} ORDER BY n DESC", (listed, listed, *values, *times))
    return [record_of(row) for row in rows]


def _with_text(query: Query, wanted: list[str], values: list[Any]) -> tuple[list[str], list[Any]]:
    """The text too: it stands in *asked*, and what else is asked for may stand in another record of the same call."""
    if query.text is None:
        return wanted, values
    text, text_values = _text(query)
    if not wanted:
        return text, text_values
    itself = " AND ".join(wanted)
    other = f"call != '' AND EXISTS (SELECT 1 FROM audit AS o WHERE o.call = audit.call AND {itself.replace('audit.', 'o.')})"
    span, times = _span(query)
    return [*text, *span, f"(({itself}) OR ({other}))"], [*text_values, *times, *values, *values]


def _text(query: Query) -> tuple[list[str], list[Any]]:
    patterns = [f"%{_like(form)}%" for form in texts.forms(query.text or "")]
    either = " OR ".join(["detail LIKE ? ESCAPE '\\'"] * len(patterns))
    return [f"({either})"], list(patterns)


def _span(query: Query) -> tuple[list[str], list[Any]]:
    bounds = [(f"audit.at {sign} ?", at) for sign, at in ((">=", query.since), ("<", query.until)) if at is not None]
    return [bound for bound, _ in bounds], [at for _, at in bounds]


def _where(con: sqlite3.Connection, query: Query) -> tuple[list[str], list[Any]]:
    """What the columns of one record must hold; each is written ``audit.name``."""
    wanted, values = _span(query)
    for name in ("event", "tier", "principal", "turn"):
        if (value := getattr(query, name)) is not None:
            wanted.append(f"audit.{name} = ?")
            values.append(value)
    _where_tool(query, wanted, values)
    if query.status == "unknown":
        index = "INDEXED BY audit_unknown" if schema_version(con) >= HAS_SENT else ""
        wanted.append(f"audit.n IN (SELECT n FROM audit {index} WHERE status = 'unknown' UNION SELECT value FROM json_each(?))")
        values.append(json.dumps(orphans(con)))
    elif query.status is not None:
        wanted.append("audit.status = ?")
        values.append(query.status)
    if query.call is not None:
        wanted.append("audit.call >= ? AND audit.call < ?")
        values += [query.call, query.call + "\U0010ffff"]
    return wanted, values


def _where_tool(query: Query, wanted: list[str], values: list[Any]) -> None:
    # *asked* is written before anybody knows which server a name means: the name stands there as it was asked for.
    server, tool = query.server, query.tool
    asked = "audit.server IS NULL AND audit.tool"
    if server is not None and tool is not None:
        wanted.append(f"((audit.server = ? AND audit.tool = ?) OR ({asked} IN (?, ?)))")
        values += [server, tool, f"{server}.{tool}", f"{server}__{tool}"]
    elif server is not None:
        # Ranges, and not LIKE: every third record is looked at so. What follows "." is "/", and what follows "_" is "`".
        wanted.append(f"(audit.server = ? OR ({asked} >= ? AND audit.tool < ?) OR ({asked} >= ? AND audit.tool < ?))")
        values += [server, f"{server}.", f"{server}/", f"{server}__", f"{server}_`"]
    elif tool is not None:
        wanted.append(f"(audit.tool = ? OR ({asked} LIKE ? ESCAPE '\\') OR ({asked} LIKE ? ESCAPE '\\'))")
        values += [tool, "%." + _like(tool), "%\\_\\_" + _like(tool)]


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
