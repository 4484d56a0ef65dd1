"""Opening the file: permissions, migrations, and files that are not ours or from the future."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.errors import DragomanError
from dragoman.store import schema, texts
from dragoman.store.chain import COLUMNS, genesis, seal
from dragoman.store.schema import APPLICATION_ID, MIGRATIONS, look, migrate, open_database, open_read_only, schema_version
from dragoman.store.search import Query, search
from dragoman.store.verify import verify
from tests.store.entries import edited, entry, locked

NEXT = (*MIGRATIONS, ("ALTER TABLE eras ADD COLUMN note TEXT", "CREATE TABLE grants (id TEXT PRIMARY KEY)"))


def test_new_file_is_private_and_in_wal_mode(tmp_path: Path) -> None:
    path = tmp_path / "state" / "deep" / "store.sqlite3"
    con = open_database(path)
    con.execute("BEGIN IMMEDIATE")
    con.execute("INSERT INTO eras VALUES ('k', 'modern', '2026-07-28', 1.0)")
    con.execute("COMMIT")
    assert con.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert path.parent.stat().st_mode & 0o777 == 0o700
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    assert modes == {"store.sqlite3": 0o600, "store.sqlite3-wal": 0o600, "store.sqlite3-shm": 0o600}
    con.close()


def test_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    open_database(path).close()
    path.chmod(0o644)
    open_database(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_empty_file_is_migrated_from_version_0(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.touch()
    con = open_database(path)
    assert schema_version(con) == len(MIGRATIONS)
    assert con.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    con.close()


def test_old_file_gets_only_the_missing_steps_and_keeps_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    con = open_database(path)
    con.execute("INSERT INTO eras VALUES ('k', 'modern', '2026-07-28', 1.0)")
    con.close()
    con = open_database(path, migrations=NEXT)
    assert schema_version(con) == len(MIGRATIONS) + 1
    assert con.execute("SELECT * FROM eras").fetchall() == [("k", "modern", "2026-07-28", 1.0, None)]
    con.close()


def test_failing_step_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    open_database(path).close()
    with pytest.raises(DragomanError, match="no such table: nowhere"):
        open_database(path, migrations=(*MIGRATIONS, ("CREATE TABLE half (x)", "INSERT INTO nowhere VALUES (1)")))
    con = open_database(path)
    assert schema_version(con) == len(MIGRATIONS)
    assert con.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'").fetchone() == (0,)
    con.close()


def test_file_of_a_newer_version_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    open_database(path, migrations=NEXT).close()
    with pytest.raises(DragomanError) as caught:
        open_database(path)
    assert str(caught.value) == f"store {path} has schema version {len(NEXT)}, this Dragoman knows versions up to {len(MIGRATIONS)}"
    assert caught.value.hint is not None
    assert "upgrade Dragoman" in caught.value.hint


def test_database_of_another_program_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.sqlite3"
    with edited(path) as con:
        con.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(DragomanError, match="SQLite file of another program"):
        open_database(path)
    assert path.read_bytes() == before


def test_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(b"not a database, and longer than a header of SQLite would be" * 50)
    before = path.read_bytes()
    with pytest.raises(DragomanError, match="is damaged"):
        open_database(path)
    assert path.read_bytes() == before


def test_folder_that_is_a_file_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(DragomanError, match="cannot be opened or written"):
        open_database(tmp_path / "state" / "store.sqlite3")


def test_lock_that_stays_is_named(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    open_database(path).close()
    with locked(path), pytest.raises(DragomanError, match="is locked by another program"):
        open_database(path, patience_s=0)


@pytest.mark.parametrize("mode", ["EXCLUSIVE", "IMMEDIATE"])
def test_lock_that_goes_away_is_waited_for(mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process is in the middle of making the same file; EXCLUSIVE stops us at the first look, IMMEDIATE at the journal mode."""
    path = tmp_path / "store.sqlite3"
    pauses: list[float] = []
    with edited(path) as theirs:
        theirs.execute(f"BEGIN {mode}")

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if theirs.in_transaction:
                theirs.execute("ROLLBACK")

        monkeypatch.setattr(schema, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
        con = open_database(path)
        assert schema_version(con) == len(MIGRATIONS)
        con.close()
    assert pauses


def test_read_only_connection_cannot_write(tmp_path: Path) -> None:
    path = tmp_path / "odd name?#%.sqlite3"
    open_database(path).close()
    con = open_read_only(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        con.execute("DELETE FROM audit")
    con.close()


def test_processes_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    """Four programs wait for one word, then open the same missing file; each must end with the full schema."""
    path = tmp_path / "state" / "store.sqlite3"
    program = (
        "import sys; from pathlib import Path; from dragoman.store.schema import open_database, schema_version\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "con = open_database(Path(sys.argv[1])); print(schema_version(con)); con.close()"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=30)[0] for process in started] == [f"{len(MIGRATIONS)}\n"] * 4


class Interrupted(sqlite3.Connection):
    """A connection during whose look at the file another process makes its schema."""

    meanwhile: Path | None = None
    outcome = ""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if "sqlite_schema" in sql and self.meanwhile is not None:
            path, self.meanwhile = self.meanwhile, None
            with contextlib.closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
                try:
                    migrate(other, path)
                    self.outcome = "made"
                except sqlite3.OperationalError:
                    self.outcome = "had to wait"
        return super().execute(sql, *parameters)


def test_file_that_another_process_is_making_is_seen_at_one_moment(tmp_path: Path) -> None:
    """Found by two processes that opened a new store at once: one took the other's tables for a stranger's."""
    path = tmp_path / "new.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, factory=Interrupted)) as connection:
        connection.meanwhile = path
        assert look(connection, path, len(MIGRATIONS)) == 0
        assert connection.outcome == "had to wait"


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_every_earlier_version_is_brought_up_to_date(version: int, tmp_path: Path) -> None:
    """What a person said and what was done is kept; what the next connection writes anyway is not."""
    path = tmp_path / "store.sqlite3"
    con = open_database(path, migrations=MIGRATIONS[:version])
    con.execute("INSERT INTO eras VALUES ('k', 'modern', '2026-07-28', 1.0)")
    con.execute("INSERT INTO trusted_commands VALUES ('/p', 'files', 'h', 1.0, 'ada')")
    con.execute("INSERT INTO audit VALUES (1, 'w', 1, 'p', 'h', 1, 1.0, 'sending', 'c1', NULL, NULL, 'files', 't', 'L2', 1, NULL, '{}')")
    if version < 3:
        con.execute("INSERT INTO pins VALUES ('files', 'tool', 't', 'h', '{}', 1.0, 'pinned')")
        con.execute("INSERT INTO health (server, at, ok, ms, error) VALUES ('files', 1.0, 1, 2.0, NULL)")
        con.execute("INSERT INTO catalogs VALUES ('files', 1.0, 'legacy', '2025-11-25', '[]')")
    con.close()
    con = open_database(path)
    assert schema_version(con) == len(MIGRATIONS)
    assert con.execute("SELECT key FROM eras").fetchall() == [("k",)]
    assert con.execute("SELECT server FROM trusted_commands").fetchall() == [("files",)]
    assert con.execute("SELECT call, writer FROM sent").fetchall() == [("c1", "w")]
    if version < 3:
        assert con.execute("SELECT scope, server, kind, name, state FROM pins").fetchall() == [("", "files", "tool", "t", "pinned")]
    assert con.execute("SELECT count(*) FROM health").fetchone() == (0,)
    assert con.execute("SELECT count(*) FROM catalogs").fetchone() == (0,)
    fresh = open_database(tmp_path / "fresh.sqlite3")
    shape = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name"
    assert con.execute(shape).fetchall() == fresh.execute(shape).fetchall()
    con.close()
    fresh.close()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS)))
def test_a_file_of_every_earlier_version_is_brought_up_to_date_and_still_proves_and_searches(version: int, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    rows, prev = [], genesis("w")
    for number in range(1, 4):
        rows.append(seal(entry(number, event="sending", detail={"arguments": f"invoice {number}"}), "w", number, prev))
        prev = rows[-1].hash
    con = open_database(path, migrations=MIGRATIONS[:version])
    con.executemany(f"INSERT INTO audit ({COLUMNS}) VALUES ({', '.join('?' * len(rows[0]))})", rows)
    con.execute("INSERT INTO heads VALUES ('w', 3, ?)", (prev,))
    con.execute("INSERT INTO writers VALUES ('w', 1, '', 'elsewhere', 'x', 1.0, 2.0)")
    con.close()
    assert verify(path).ok
    con = open_read_only(path)
    assert [record.seq for record in search(con, Query(text="invoice 2"), 5)] == [2]
    con.close()
    con = open_database(path)
    assert schema_version(con) == len(MIGRATIONS)
    while texts.index_some(con):
        pass
    assert [record.seq for record in search(con, Query(text="invoice 2"), 5)] == [2]
    assert [record.seq for record in search(con, Query(server="files", status="unknown"), 5)] == [3, 2, 1]
    con.close()
    assert verify(path).ok
