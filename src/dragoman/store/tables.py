"""The statements behind everything that is not the audit, each a function of a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from dragoman.store.records import ERA_TTL_S, Catalog, Health, KnownEra, Pin, TrustedCommand

#: Rows per server, of different processes; those that live write theirs anew, so the oldest are of dead ones.
HEALTH_KEPT = 50

_decode_health = msgspec.json.Decoder(Health).decode


def record_health(con: sqlite3.Connection, rows: Sequence[Health]) -> None:
    con.executemany(
        "INSERT OR REPLACE INTO health VALUES (?, ?, ?, ?, ?)",
        [(row.scope, row.server, row.holder.writer, row.at, msgspec.json.encode(row)) for row in rows],
    )
    con.executemany(
        """DELETE FROM health WHERE scope = ?1 AND server = ?2
            AND at < (SELECT at FROM health WHERE scope = ?1 AND server = ?2 ORDER BY at DESC LIMIT 1 OFFSET ?3)""",
        [(row.scope, row.server, HEALTH_KEPT - 1) for row in rows],
    )


def health(con: sqlite3.Connection, scope: str) -> dict[str, list[Health]]:
    found: dict[str, list[Health]] = {}
    for (body,) in con.execute("SELECT body FROM health WHERE scope = ? ORDER BY server, at DESC", (scope,)):
        try:
            row = _decode_health(body)
        except (msgspec.MsgspecError, TypeError):  # edited, or of a later version: the other rows still answer
            continue
        found.setdefault(row.server, []).append(row)
    return found


def save_catalog(con: sqlite3.Connection, row: Catalog) -> None:
    con.execute(
        "INSERT OR REPLACE INTO catalogs VALUES (?, ?, ?, ?, ?, ?)", (row.scope, row.server, row.at, row.era, row.revision, row.tools)
    )


def catalogs(con: sqlite3.Connection, scope: str) -> dict[str, Catalog]:
    rows = con.execute("SELECT server, at, era, revision, tools FROM catalogs WHERE scope = ? ORDER BY server", (scope,))
    return {row[0]: Catalog(scope=scope, server=row[0], at=row[1], era=row[2], revision=row[3], tools=row[4]) for row in rows}


_PIN = "scope, server, kind, name, hash, definition, first_seen, state"


def _pin_row(pin: Pin) -> tuple[object, ...]:
    return (pin.scope, pin.server, pin.kind, pin.name, pin.hash, pin.definition, pin.first_seen, pin.state)


def _pins(rows: sqlite3.Cursor) -> list[Pin]:
    return [Pin(scope=r[0], server=r[1], kind=r[2], name=r[3], hash=r[4], definition=r[5], first_seen=r[6], state=r[7]) for r in rows]


def pins(con: sqlite3.Connection, scope: str, server: str | None) -> list[Pin]:
    order = "ORDER BY server, kind, name, state DESC"
    return _pins(con.execute(f"SELECT {_PIN} FROM pins WHERE scope = ?1 AND (?2 IS NULL OR server = ?2) {order}", (scope, server)))


def add_pins(con: sqlite3.Connection, rows: Sequence[Pin]) -> None:
    con.executemany(f"INSERT OR IGNORE INTO pins ({_PIN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [_pin_row(row) for row in rows])


def replace_pin(con: sqlite3.Connection, row: Pin) -> None:
    con.execute(f"INSERT OR REPLACE INTO pins ({_PIN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", _pin_row(row))


_ONE_PIN = "scope = ? AND server = ? AND kind = ? AND name = ?"


def accept_held(con: sqlite3.Connection, scope: str, server: str, kind: str, name: str) -> Pin | None:
    key = (scope, server, kind, name)
    held = con.execute(f"SELECT 1 FROM pins WHERE {_ONE_PIN} AND state = 'held'", key).fetchone()
    if held is None:
        return None
    con.execute(f"DELETE FROM pins WHERE {_ONE_PIN} AND state = 'pinned'", key)
    con.execute(f"UPDATE pins SET state = 'pinned' WHERE {_ONE_PIN}", key)
    return _pins(con.execute(f"SELECT {_PIN} FROM pins WHERE {_ONE_PIN}", key))[0]


def drop_pins(con: sqlite3.Connection, scope: str, server: str, kind: str | None, name: str | None, state: str | None) -> None:
    con.execute(
        """DELETE FROM pins WHERE scope = ?1 AND server = ?2
            AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR name = ?4) AND (?5 IS NULL OR state = ?5)""",
        (scope, server, kind, name, state),
    )


def trust_command(con: sqlite3.Connection, row: TrustedCommand) -> None:
    con.execute("INSERT OR REPLACE INTO trusted_commands VALUES (?, ?, ?, ?, ?)", (row.path, row.server, row.hash, row.at, row.by))


def trusted_command(con: sqlite3.Connection, path: str, server: str) -> TrustedCommand | None:
    row = con.execute('SELECT hash, at, "by" FROM trusted_commands WHERE path = ? AND server = ?', (path, server)).fetchone()
    return TrustedCommand(path=path, server=server, hash=row[0], at=row[1], by=row[2]) if row else None


def distrust_command(con: sqlite3.Connection, path: str, server: str) -> None:
    con.execute("DELETE FROM trusted_commands WHERE path = ? AND server = ?", (path, server))


def remember_era(con: sqlite3.Connection, row: KnownEra) -> None:
    con.execute("INSERT OR REPLACE INTO eras VALUES (?, ?, ?, ?)", (row.key, row.era, row.revision, row.at))
    con.execute("DELETE FROM eras WHERE at < ?", (row.at - ERA_TTL_S,))


def recall_era(con: sqlite3.Connection, key: str, now: float) -> KnownEra | None:
    row = con.execute("SELECT era, revision, at FROM eras WHERE key = ? AND at >= ?", (key, now - ERA_TTL_S)).fetchone()
    return KnownEra(key=key, era=row[0], revision=row[1], at=row[2]) if row else None


def forget_era(con: sqlite3.Connection, key: str) -> None:
    con.execute("DELETE FROM eras WHERE key = ?", (key,))


def forget_server(con: sqlite3.Connection, scope: str, server: str) -> None:
    for table in ("health", "catalogs", "pins"):
        con.execute(f"DELETE FROM {table} WHERE scope = ? AND server = ?", (scope, server))
