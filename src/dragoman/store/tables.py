"""The statements behind everything that is not the audit, each a function of a connection inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dragoman.store.records import ERA_TTL_S, Catalog, Health, KnownEra, Pin, TrustedCommand

HEALTH_KEPT = 50


def record_health(con: sqlite3.Connection, row: Health) -> None:
    con.execute(
        "INSERT INTO health (server, at, ok, ms, error) VALUES (?, ?, ?, ?, ?)", (row.server, row.at, int(row.ok), row.ms, row.error)
    )
    con.execute(
        "DELETE FROM health WHERE server = ?1 AND n <= (SELECT n FROM health WHERE server = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)",
        (row.server, HEALTH_KEPT),
    )


def health(con: sqlite3.Connection) -> dict[str, Health]:
    rows = con.execute("SELECT server, at, ok, ms, error FROM health WHERE n IN (SELECT max(n) FROM health GROUP BY server)")
    return {row[0]: Health(server=row[0], at=row[1], ok=bool(row[2]), ms=row[3], error=row[4]) for row in rows}


def save_catalog(con: sqlite3.Connection, row: Catalog) -> None:
    con.execute("INSERT OR REPLACE INTO catalogs VALUES (?, ?, ?, ?, ?)", (row.server, row.at, row.era, row.revision, row.tools))


def catalogs(con: sqlite3.Connection) -> dict[str, Catalog]:
    rows = con.execute("SELECT server, at, era, revision, tools FROM catalogs ORDER BY server")
    return {row[0]: Catalog(server=row[0], at=row[1], era=row[2], revision=row[3], tools=row[4]) for row in rows}


_PIN = "server, kind, name, hash, definition, first_seen, state"


def _pin_row(pin: Pin) -> tuple[object, ...]:
    return (pin.server, pin.kind, pin.name, pin.hash, pin.definition, pin.first_seen, pin.state)


def _pins(rows: sqlite3.Cursor) -> list[Pin]:
    return [Pin(server=r[0], kind=r[1], name=r[2], hash=r[3], definition=r[4], first_seen=r[5], state=r[6]) for r in rows]


def pins(con: sqlite3.Connection, server: str | None) -> list[Pin]:
    order = "ORDER BY server, kind, name, state DESC"
    if server is None:
        return _pins(con.execute(f"SELECT {_PIN} FROM pins {order}"))
    return _pins(con.execute(f"SELECT {_PIN} FROM pins WHERE server = ? {order}", (server,)))


def add_pins(con: sqlite3.Connection, rows: Sequence[Pin]) -> None:
    con.executemany(f"INSERT OR IGNORE INTO pins ({_PIN}) VALUES (?, ?, ?, ?, ?, ?, ?)", [_pin_row(row) for row in rows])


def replace_pin(con: sqlite3.Connection, row: Pin) -> None:
    con.execute(f"INSERT OR REPLACE INTO pins ({_PIN}) VALUES (?, ?, ?, ?, ?, ?, ?)", _pin_row(row))


def accept_held(con: sqlite3.Connection, server: str, kind: str, name: str) -> Pin | None:
    key = (server, kind, name)
    held = con.execute("SELECT 1 FROM pins WHERE server = ? AND kind = ? AND name = ? AND state = 'held'", key).fetchone()
    if held is None:
        return None
    con.execute("DELETE FROM pins WHERE server = ? AND kind = ? AND name = ? AND state = 'pinned'", key)
    con.execute("UPDATE pins SET state = 'pinned' WHERE server = ? AND kind = ? AND name = ?", key)
    return _pins(con.execute(f"SELECT {_PIN} FROM pins WHERE server = ? AND kind = ? AND name = ?", key))[0]


def drop_pins(con: sqlite3.Connection, server: str, kind: str | None, name: str | None, state: str | None) -> None:
    con.execute(
        "DELETE FROM pins WHERE server = ?1 AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR state = ?4)",
        (server, kind, name, state),
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


def forget_server(con: sqlite3.Connection, server: str) -> None:
    for table in ("health", "catalogs", "pins", "trusted_commands"):
        con.execute(f"DELETE FROM {table} WHERE server = ?", (server,))
