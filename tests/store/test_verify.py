"""What verify finds, and that it finds nothing where nothing is."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.store.chain import COLUMNS, Row, record_hash
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import verify
from tests.store.entries import edited, entry, locked, written


def rehash(con: sqlite3.Connection, seq: int) -> None:
    """Make one record's hash fit its content, as an attacker with some knowledge would."""
    row = Row._make(con.execute(f"SELECT {COLUMNS} FROM audit WHERE seq = ?", (seq,)).fetchone())
    con.execute("UPDATE audit SET hash = ? WHERE seq = ?", (record_hash(row), seq))


def swap(con: sqlite3.Connection) -> None:
    con.execute("UPDATE audit SET n = -1 WHERE seq = 2")
    con.execute("UPDATE audit SET n = 2 WHERE seq = 3")
    con.execute("UPDATE audit SET n = 3 WHERE n = -1")


def swap_numbers(con: sqlite3.Connection) -> None:
    con.execute("UPDATE audit SET seq = 5 - seq WHERE seq IN (2, 3)")


def edit_and_rehash(con: sqlite3.Connection) -> None:
    con.execute("UPDATE audit SET principal = 'mallory' WHERE seq = 3")
    rehash(con, 3)


def edit_last_and_rehash(con: sqlite3.Connection) -> None:
    con.execute("UPDATE audit SET principal = 'mallory' WHERE seq = 5")
    rehash(con, 5)


def sql(*statements: str) -> Callable[[sqlite3.Connection], None]:
    def run(con: sqlite3.Connection) -> None:
        for statement in statements:
            con.execute(statement)

    return run


def to_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def sql_of(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with edited(path) as con:
            con.execute(statement)

    return run


TAMPERINGS: dict[str, tuple[Callable[[sqlite3.Connection], None], int, str]] = {
    **{
        f"edited {column}": (sql(f"UPDATE audit SET {column} = {value} WHERE seq = 3"), 3, "edited (its hash")
        for column, value in {
            "at": "at + 1",
            "event": "'ended'",
            "call": "'other'",
            "turn": "NULL",
            "principal": "'mallory'",
            "server": "'db'",
            "tool": "'drop'",
            "tier": "'L3'",
            "attempt": "2",
            "status": "'ok'",
            "detail": "'{}'",
            "prev": "hash",
            "hash": "prev",
        }.items()
    },
    "spaces in the detail": (sql("UPDATE audit SET detail = replace(detail, ':', ': ') WHERE seq = 3"), 3, "edited (its hash"),
    "detail no JSON": (sql("UPDATE audit SET detail = 'x' WHERE seq = 3"), 3, "edited (its hash"),
    "text as bytes": (sql("UPDATE audit SET tool = CAST(tool AS BLOB) WHERE seq = 3"), 3, "wrong type"),
    "text that is no UTF-8": (sql("UPDATE audit SET tool = CAST(x'ff' AS TEXT) WHERE seq = 3"), 3, "edited (its hash"),
    "wrong version": (sql("UPDATE audit SET v = 2 WHERE seq = 3"), 3, "wrong version 2 (known: 1)"),
    "edited with a new hash": (edit_and_rehash, 4, "replaced"),
    "last one edited with a new hash": (edit_last_and_rehash, 5, "head of the chain is edited"),
    "one removed": (sql("DELETE FROM audit WHERE seq = 3"), 3, "missing"),
    "two removed": (sql("DELETE FROM audit WHERE seq IN (2, 3)"), 2, "missing, up to 3"),
    "first removed": (sql("DELETE FROM audit WHERE seq = 1"), 1, "missing"),
    "removed and closed up": (
        sql("DELETE FROM audit WHERE seq = 3", "UPDATE audit SET seq = seq - 1 WHERE seq > 3"),
        3,
        "edited (its hash",
    ),
    "last removed": (sql("DELETE FROM audit WHERE seq = 5"), 5, "missing (it was the last)"),
    "last two removed": (sql("DELETE FROM audit WHERE seq > 3"), 4, "missing, up to the last record 5"),
    "all removed": (sql("DELETE FROM audit"), 1, "missing, up to the last record 5"),
    "all and the heads removed": (sql("DELETE FROM audit", "DELETE FROM heads"), 1, "head of the chain is missing"),
    "head removed": (sql("DELETE FROM heads"), 5, "head of the chain is missing"),
    "head and name removed": (sql("DELETE FROM heads", "DELETE FROM writers"), 5, "head of the chain is missing"),
    "head put back": (sql("UPDATE heads SET seq = 4"), 5, "head of the chain is edited"),
    "head's hash edited": (sql("UPDATE heads SET hash = 'x'"), 5, "head of the chain is edited"),
    "moved": (swap, 2, "missing"),
    "renumbered": (swap_numbers, 2, "missing"),
    "written twice": (sql("INSERT INTO audit SELECT n + 100, " + COLUMNS + " FROM audit WHERE seq = 3"), 3, "out of order, or there twice"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found_and_the_first_bad_record_named(name: str, tmp_path: Path) -> None:
    """Each kind of change that an editor of the file can make; the other writer's chain stays good."""
    tamper, seq, what = TAMPERINGS[name]
    path = tmp_path / "store.sqlite3"
    writer = written(path, *(entry(number) for number in range(5)))
    assert verify(path).ok
    with edited(path) as con:
        tamper(con)
    written(path, entry(6))
    report = verify(path)
    assert not report.ok
    assert [(bad.writer, bad.seq) for bad in report.bad] == [(writer, seq)]
    assert what in report.bad[0].what
    assert report.damage is None


def test_chain_passed_off_as_anothers_is_found(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(path, entry(1), entry(2))
    with edited(path) as con:
        for table in ("audit", "heads", "writers"):
            con.execute(f"UPDATE {table} SET writer = 'somebody'")
    assert [(bad.writer, bad.seq) for bad in verify(path).bad] == [("somebody", 1)]


def test_every_broken_writer_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    writers = [written(path, entry(1), entry(2), entry(3)) for _ in range(3)]
    with edited(path) as con:
        con.execute("UPDATE audit SET tool = 'x' WHERE seq >= 2 AND writer != ?", (writers[1],))
    report = verify(path)
    assert {(bad.writer, bad.seq) for bad in report.bad} == {(writers[0], 2), (writers[2], 2)}
    assert (report.records, report.writers) == (9, 3)


def test_missing_and_empty_audits_are_good(tmp_path: Path) -> None:
    """Our command line promises exit 0 on an empty audit."""
    path = tmp_path / "store.sqlite3"
    assert verify(path).ok
    assert not path.exists()
    path.touch()
    assert verify(path).ok
    written(path)
    report = verify(path)
    assert report.ok
    assert (report.records, report.writers) == (0, 0)


def corrupt_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 12] = b"\xa5" * (4096 * 9)
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 6])


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (corrupt_page, "is damaged"),
        (cut, "is damaged"),
        (lambda path: path.write_bytes(b"garbage" * 1000), "is damaged"),
    ],
    ids=["pages overwritten", "file cut", "no database"],
)
def test_damaged_file_is_a_finding_and_no_traceback(harm: Callable[[Path], object], what: str, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(path, *(entry(number, detail={"text": "x" * 500}) for number in range(300)))
    harm(path)
    report = verify(path)
    assert not report.ok
    assert what in (report.damage or "")


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("PRAGMA user_version = 0", "schema version 0"),
        ("PRAGMA application_id = 1", "another program"),
        ("DROP TABLE heads", "table heads was removed"),
    ],
)
def test_file_with_a_changed_schema_is_a_finding(statement: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(path, entry(1))
    with edited(path) as con:
        con.execute(statement)
    assert what in (verify(path).damage or "")


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda path: (path.unlink(), path.mkdir()), "is a folder, not a file"),
        (to_pipe, "is a named pipe, not a file"),
        (lambda path: os.mkfifo(f"{path}-wal"), "-wal is a named pipe, not a file"),
        (sql_of("PRAGMA user_version = 99"), "schema version 99, this Dragoman knows versions up to"),
    ],
    ids=["a folder", "a named pipe", "a named pipe beside it", "newer"],
)
async def test_what_cannot_be_checked_is_said_and_is_no_finding(harm: Callable[[Path], object], what: str, tmp_path: Path) -> None:
    """SQLite waits on a named pipe for ever; a newer file is not broken. Opening it to write says the same."""
    path = tmp_path / "store.sqlite3"
    await asyncio.to_thread(written, path, entry(1))
    harm(path)
    with pytest.raises(ConfigError, match=re.escape(what)):
        verify(path)
    with pytest.raises(ConfigError, match=re.escape(what)):
        await SqliteStore.open(path)


async def test_live_file_is_verified_beside_its_writer_and_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    async with await SqliteStore.open(path) as store:
        await store.append(entry(1))
        await store.flush()
        with locked(path):
            report = verify(path)
        assert report.ok
        assert report.records == 1


def test_memory_does_not_grow_with_the_records(tmp_path: Path) -> None:
    """Rows are read one by one: the peak over 20,000 records stays far below their 9 MB."""
    import tracemalloc

    path = tmp_path / "store.sqlite3"
    written(path, *(entry(number, detail={"text": "x" * 200}) for number in range(20_000)))
    tracemalloc.start()
    try:
        assert verify(path).records == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
