"""Opening the SQLite file: permissions, pragmas, migrations, and its errors in words.  It knows no queries.

Migrations only go forward and are numbered by ``user_version``; ``application_id`` marks the file as ours.  All missing
steps run in one write transaction, so of two processes that start at once one migrates and the other finds it done.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from dragoman.errors import ConfigError, DragomanError

FILE_NAME = "store.sqlite3"
APPLICATION_ID = 0x44524147  # "DRAG"
BUSY_WAIT_S = 0.25  # how long SQLite waits by itself for a lock; longer waits are ours, so that they can be given up

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # n is the order of writing over all writers.  (writer, seq) has no unique index on purpose: it would cost every
        # append, and whoever edits the file could drop it; verify finds doubles.
        """CREATE TABLE audit (
            n INTEGER PRIMARY KEY, writer TEXT NOT NULL, seq INTEGER NOT NULL, prev TEXT NOT NULL, hash TEXT NOT NULL,
            v INTEGER NOT NULL, at REAL NOT NULL, event TEXT NOT NULL, call TEXT NOT NULL, turn TEXT, principal TEXT,
            server TEXT, tool TEXT, tier TEXT, attempt INTEGER, status TEXT, detail TEXT NOT NULL)""",
        "CREATE INDEX audit_call ON audit (call)",
        "CREATE TABLE heads (writer TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID",
        """CREATE TABLE writers (
            writer TEXT PRIMARY KEY, pid INTEGER NOT NULL, started TEXT NOT NULL, host TEXT NOT NULL, argv0 TEXT NOT NULL,
            opened_at REAL NOT NULL, closed_at REAL) WITHOUT ROWID""",
        """CREATE TABLE health (
            n INTEGER PRIMARY KEY, server TEXT NOT NULL, at REAL NOT NULL, ok INTEGER NOT NULL, ms REAL, error TEXT)""",
        "CREATE INDEX health_server ON health (server, n)",
        """CREATE TABLE pins (
            server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL, definition TEXT NOT NULL,
            first_seen REAL NOT NULL, state TEXT NOT NULL CHECK (state IN ('pinned', 'held')),
            PRIMARY KEY (server, kind, name, state))""",
        """CREATE TABLE trusted_commands (
            path TEXT NOT NULL, server TEXT NOT NULL, hash TEXT NOT NULL, at REAL NOT NULL, "by" TEXT NOT NULL,
            PRIMARY KEY (path, server))""",
        "CREATE TABLE eras (key TEXT PRIMARY KEY, era TEXT NOT NULL, revision TEXT NOT NULL, at REAL NOT NULL)",
        """CREATE TABLE catalogs (
            server TEXT PRIMARY KEY, at REAL NOT NULL, era TEXT NOT NULL, revision TEXT NOT NULL, tools TEXT NOT NULL)""",
    ),
    (
        # Calls that were sent and have no end yet, each with the place of its last *sending*: a handful of rows, so that what a
        # crash left open is found without reading the audit. It proves nothing, and verify does not look at it.
        "CREATE TABLE sent (call TEXT PRIMARY KEY, n INTEGER NOT NULL, writer TEXT NOT NULL) WITHOUT ROWID",
        """INSERT OR REPLACE INTO sent SELECT call, n, writer FROM audit AS s WHERE event = 'sending'
            AND NOT EXISTS (SELECT 1 FROM audit AS e WHERE e.call = s.call AND e.event = 'ended') ORDER BY n""",
        """CREATE TRIGGER audit_sending AFTER INSERT ON audit WHEN new.event = 'sending'
            BEGIN INSERT OR REPLACE INTO sent VALUES (new.call, new.n, new.writer); END""",
        """CREATE TRIGGER audit_ended AFTER INSERT ON audit WHEN new.event = 'ended'
            BEGIN DELETE FROM sent WHERE call = new.call; END""",
        "CREATE INDEX audit_unknown ON audit (n) WHERE status = 'unknown'",
    ),
    (
        # Servers of two configurations may have one name: rows belong to a configuration (scope) from here on. Whose the old rows of
        # health and catalogs are cannot be known, and the next connection writes them anew; pins are a person's word and are kept.
        # A row of health is what one process (holder) knows of a server, so that its new fields need no new columns.
        "DROP TABLE health",
        """CREATE TABLE health (
            scope TEXT NOT NULL, server TEXT NOT NULL, holder TEXT NOT NULL, at REAL NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (scope, server, holder)) WITHOUT ROWID""",
        "DROP TABLE catalogs",
        """CREATE TABLE catalogs (
            scope TEXT NOT NULL, server TEXT NOT NULL, at REAL NOT NULL, era TEXT NOT NULL, revision TEXT NOT NULL, tools TEXT NOT NULL,
            PRIMARY KEY (scope, server))""",
        "ALTER TABLE pins RENAME TO old_pins",
        """CREATE TABLE pins (
            scope TEXT NOT NULL, server TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL,
            definition TEXT NOT NULL, first_seen REAL NOT NULL, state TEXT NOT NULL CHECK (state IN ('pinned', 'held')),
            PRIMARY KEY (scope, server, kind, name, state))""",
        "INSERT INTO pins SELECT '', server, kind, name, hash, definition, first_seen, state FROM old_pins",
        "DROP TABLE old_pins",
    ),
    (
        # All that a search can ask for but texts, in the order of writing: appended to, never sorted into, and a fifth of the audit
        # to read through. One index per column would find rare values sooner, and cost every append its place in each.
        "CREATE INDEX audit_facets ON audit (n, at, event, server, tool, tier, status, principal, turn)",
        # How far the index of texts reaches. It is made where SQLite has FTS5, and only when there is time: see store/texts.py.
        "CREATE TABLE texts_upto (id INTEGER PRIMARY KEY CHECK (id = 1), n INTEGER NOT NULL)",
        "INSERT INTO texts_upto VALUES (1, 0)",
        # Where the chain of a writer begins since its oldest records were pruned: after record seq, which had this hash and time. The
        # chains of writers that are gone and have no records left are one row, with an empty name: see store/prune.py.
        """CREATE TABLE anchors (
            writer TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID""",
        "CREATE INDEX audit_pruned ON audit (n) WHERE event = 'pruned'",
    ),
)
#: From this version on there is a table of calls that have no end yet.
HAS_SENT = 2
#: From this version on records may be searched and pruned.
HAS_ANCHORS = 4

T = TypeVar("T")


def store_error(message: str, hint: str | None = None) -> DragomanError:
    """The one kind of exception a store raises."""
    error = DragomanError(message)
    error.hint = hint
    return error


def is_busy(error: BaseException) -> bool:
    """Whether another connection holds the lock, so that waiting helps."""
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def in_words(error: BaseException, path: Path) -> DragomanError:
    """What SQLite or the system said about ``path``, with the next step."""
    if isinstance(error, DragomanError):
        return error
    code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
    if is_busy(error):
        return store_error(f"store {path} is locked by another program: {error}", "end the program that keeps it locked, and try again")
    if code == sqlite3.SQLITE_FULL:
        return store_error(f"no space left for store {path}: {error}", "free disk space, then start again")
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return store_error(f"store {path} is damaged: {error}", "keep a copy and move it away; a new one is made at the next start")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) or isinstance(error, OSError):
        hint = "check the folder's owner and permissions, or set DRAGOMAN_HOME"
        return store_error(f"store {path} cannot be opened or written: {error}", hint)
    return store_error(f"store {path}: {error}")


def open_database(path: Path, *, patience_s: float = 10.0, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> sqlite3.Connection:
    """A connection for writing, with the schema brought up to date.

    A missing folder is made 0700; the file is 0600 (SQLite gives its ``-wal`` and ``-shm`` the same).

    Raises:
        ConfigError: It is no regular file, or newer than we know.
        DragomanError: Not ours, damaged, not writable, or locked for longer than ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    connection: sqlite3.Connection | None = None
    must_be_regular(path)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _create_private(path)
        connection = sqlite3.connect(path, timeout=BUSY_WAIT_S, isolation_level=None)
        _while_busy(lambda: look(connection, path, len(migrations)), deadline)
        # Changing the journal mode may answer "locked" at once, without SQLite's own waiting.
        _while_busy(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchone(), deadline)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: fsync alone leaves data in the drive's cache; no effect elsewhere
        _while_busy(lambda: migrate(connection, path, migrations), deadline)
    except (sqlite3.Error, OSError, DragomanError) as exc:
        if connection is not None:
            connection.close()
        raise in_words(exc, path) from (None if isinstance(exc, DragomanError) else exc)
    return connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, safe beside live writers; the caller checks the schema it finds.

    Raises:
        ConfigError: It is no regular file.
        sqlite3.Error: It cannot be opened.
    """
    must_be_regular(path)
    return sqlite3.connect(path.absolute().as_uri() + "?mode=ro", uri=True, timeout=5.0, isolation_level=None)


def must_be_regular(path: Path) -> None:
    """Refuse what SQLite would wait for without end, or cannot open: a named pipe, a folder, a device. No file at all is fine.

    Raises:
        ConfigError: Saying what is there.
    """
    for name in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        try:
            mode = os.stat(name).st_mode
        except OSError:  # not there; or opening it will say better what is wrong
            continue
        if not stat.S_ISREG(mode):
            what = next((word for is_kind, word in _KINDS if is_kind(mode)), "no regular file")
            raise ConfigError(f"store {name} is {what}", hint="move it away, or set DRAGOMAN_HOME to another folder")


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a folder, not a file"),
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
)


def newer(path: Path, version: int, known: int) -> ConfigError:
    """The complaint about a file of a later version of Dragoman."""
    return ConfigError(
        f"store {path} has schema version {version}, this Dragoman knows versions up to {known}",
        hint="upgrade Dragoman, or set DRAGOMAN_HOME to another folder",
    )


def migrate(connection: sqlite3.Connection, path: Path, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Run the missing steps in one transaction; a step that fails leaves the file as it was."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _check_ours(connection, path, len(migrations))
        for step in migrations[version:]:
            for statement in step:
                connection.execute(statement)
        if version < len(migrations):
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def look(connection: sqlite3.Connection, path: Path, known: int) -> int:
    """The schema version, seen at one moment: another process may be making the very same file."""
    connection.execute("BEGIN")
    try:
        return _check_ours(connection, path, known)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _check_ours(connection: sqlite3.Connection, path: Path, known: int) -> int:
    version = schema_version(connection)
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if mark != APPLICATION_ID and (version or mark or tables):
        raise store_error(f"{path} is an SQLite file of another program", "name another file, or move this one away")
    if version > known:
        raise newer(path, version, known)
    return version


def _create_private(path: Path) -> None:
    # An existing file is never opened here: closing it again would drop the locks that other connections of this
    # process hold on it (POSIX locks belong to the process; https://sqlite.org/howtocorrupt.html, 2.2).
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        with contextlib.suppress(PermissionError):
            if os.stat(path).st_mode & 0o077:
                os.chmod(path, 0o600)


def _while_busy(action: Callable[[], T], deadline: float) -> T:
    while True:
        try:
            return action()
        except sqlite3.OperationalError as exc:
            if not is_busy(exc) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
