"""The index of texts: which records may hold a text, by its runs of three characters.  A help, never the truth.

It is filled by the store's thread when nothing else is to do, never with a record's own commit: that would make every call pay
for searches that few people make.  What it has not reached yet is read through.  Without FTS5 in SQLite there is none.
"""

from __future__ import annotations

import json
import sqlite3

from dragoman.store.schema import HAS_ANCHORS, schema_version

#: Records per transaction; about 30 ms in which others wait.
STEP = 500


def index_some(con: sqlite3.Connection, step: int = STEP) -> bool:
    """Take the next ``step`` records in; whether there may be more.  Inside a transaction."""
    if not _made(con):
        try:
            # detail=none: no positions, a third of the size; a text's runs must all be there, and the record is looked at anyway.
            con.execute("CREATE VIRTUAL TABLE audit_texts USING fts5(detail, content='', tokenize='trigram', detail=none, columnsize=0)")
        except sqlite3.OperationalError:  # no FTS5, or none with trigrams: SQLite before 3.34
            return False
    upto = _upto(con)
    last = con.execute("SELECT max(n) FROM (SELECT n FROM audit WHERE n > ? ORDER BY n LIMIT ?)", (upto, step)).fetchone()[0]
    if last is None:
        return False
    con.execute(f"INSERT INTO audit_texts (rowid, detail) SELECT n, detail FROM audit WHERE n > ? AND n <= ? AND {_WORTH}", (upto, last))
    con.execute("UPDATE texts_upto SET n = ?", (last,))
    return True


def forget(con: sqlite3.Connection, upto: int) -> None:
    """Take out the records up to place ``upto``, before they are deleted."""
    if _made(con):
        con.execute(
            f"""INSERT INTO audit_texts (audit_texts, rowid, detail)
                SELECT 'delete', n, detail FROM audit WHERE n <= ? AND n <= ? AND {_WORTH}""",
            (upto, _upto(con)),
        )


def match(con: sqlite3.Connection, text: str) -> tuple[int, str] | None:
    """How far the index reaches, and what to ask it for ``text`` (empty: it has no such record); ``None`` where it is of no help."""
    if schema_version(con) < HAS_ANCHORS or not _made(con):
        return None
    asked = []
    for form in forms(text):
        runs = _runs(form) if len(form) > 2 else _begun_with(con, form)
        if runs is None:
            return None
        if not runs:
            continue
        word = " AND " if len(form) > 2 else " OR "
        asked.append("(" + word.join('"' + run.replace('"', '""') + '"' for run in runs) + ")")
    return _upto(con), " OR ".join(asked)


def _runs(text: str) -> list[str]:
    return list(dict.fromkeys(text[start : start + 3] for start in range(len(text) - 2)))[:64]


def _begun_with(con: sqlite3.Connection, text: str) -> list[str] | None:
    """The runs that begin with one or two characters, as words of Chinese are; ``None`` where they are too many to ask for.

    No text is missed: behind every character of a value stands another one, if only the quote at its end.
    """
    con.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.audit_runs USING fts5vocab(main, audit_texts, row)")
    low = text.lower()
    sql = "SELECT term FROM temp.audit_runs WHERE term >= ? AND term < ? LIMIT 401"
    found = [term for (term,) in con.execute(sql, (low, low + "\U0010ffff"))]
    return found if len(found) <= 400 else None


def forms(text: str) -> tuple[str, ...]:
    """How ``text`` stands in a record: in a value that is JSON, or in a value that is JSON text inside JSON, as arguments are."""
    once = json.dumps(text, ensure_ascii=False)[1:-1]
    return tuple(dict.fromkeys((once, json.dumps(once, ensure_ascii=False)[1:-1])))


_WORTH = "length(detail) > 2"


def _upto(con: sqlite3.Connection) -> int:
    row = con.execute("SELECT n FROM texts_upto").fetchone()
    return int(row[0]) if row else 0


def _made(con: sqlite3.Connection) -> bool:
    return con.execute("SELECT 1 FROM sqlite_schema WHERE name = 'audit_texts'").fetchone() is not None
