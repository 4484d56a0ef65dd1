"""The thread: what a stuck disk, a full queue and a vanished file do to the callers, and what is synced when."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import DragomanError
from dragoman.store import schema
from dragoman.store import worker as worker_module
from dragoman.store.records import StoreFailure
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import verify
from tests.runtime.fakes import until
from tests.store.entries import entry, locked

BOUND_S = 30


class TellingConnection(sqlite3.Connection):
    """Writes down every statement and commit, in order."""

    told: list[str]

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        self.told.append(sql.split(" (")[0])
        return super().execute(sql, *args)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that stores opened in this test execute from now on."""
    statements: list[str] = []

    def open_telling(path: Path, *, patience_s: float) -> sqlite3.Connection:
        original_open(path).close()
        con = sqlite3.connect(path, isolation_level=None, factory=TellingConnection, timeout=0.1)
        con.told = statements
        return con

    original_open = schema.open_database
    monkeypatch.setattr(worker_module, "open_database", open_telling)
    return statements


async def test_durable_record_is_committed_with_full_sync_before_it_returns(tmp_path: Path, told: list[str]) -> None:
    """The promise to whoever sends something risky: SQLite, PRAGMA synchronous, FULL syncs the write-ahead log at each commit."""
    async with await SqliteStore.open(tmp_path / "store.sqlite3") as store:
        await store.append_durably(entry(1))
        assert told[0] == "PRAGMA synchronous=FULL"
        assert told[1] == "BEGIN IMMEDIATE"
        assert told[-1] == "COMMIT"
        told.clear()
        await store.append(entry(2))
        await store.flush()
        assert told[0] == "PRAGMA synchronous=NORMAL"


async def test_ordinary_records_share_a_transaction(tmp_path: Path, told: list[str]) -> None:
    async with await SqliteStore.open(tmp_path / "store.sqlite3", linger_s=BOUND_S) as store:
        for number in range(50):
            await store.append(entry(number))
        await store.flush()
        assert told.count("COMMIT") == 1


async def test_loop_goes_on_while_the_disk_is_stuck(tmp_path: Path) -> None:
    """Ordinary records are taken, other tasks run, and a durable record waits; all are there once the lock is gone."""
    store = await SqliteStore.open(tmp_path / "store.sqlite3", patience_s=BOUND_S)
    with locked(store.path):
        for number in range(500):
            await store.append(entry(number))
        durable = asyncio.ensure_future(store.append_durably(entry(500)))
        turns = 0
        async with asyncio.timeout(BOUND_S):
            while turns < 1000:
                await asyncio.sleep(0)
                turns += 1
        assert not durable.done()
    await asyncio.wait_for(durable, BOUND_S)
    assert [record.call for record in await store.tail(1)] == ["call-500"]
    await store.close()
    assert (verify(store.path).ok, verify(store.path).records, store.failure) == (True, 501, None)


async def test_full_queue_makes_the_caller_wait_and_loses_nothing(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.sqlite3", max_queued=20)
    taken, nearly_full = 0, asyncio.Event()

    async def write() -> None:
        nonlocal taken
        for number in range(1000):
            await store.append(entry(number))
            taken += 1
            if taken == 20:
                nearly_full.set()

    with locked(store.path):
        writing = asyncio.ensure_future(write())
        await asyncio.wait_for(nearly_full.wait(), BOUND_S)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert not writing.done()
        assert taken <= 20 + worker_module.BATCH
    await asyncio.wait_for(writing, BOUND_S)
    await store.close()
    assert (verify(store.path).ok, verify(store.path).records) == (True, 1000)


async def test_call_cancelled_while_the_queue_is_full_is_written_all_the_same(tmp_path: Path) -> None:
    """How a cancelled call ended belongs into the audit as well."""
    store = await SqliteStore.open(tmp_path / "store.sqlite3", max_queued=1, linger_s=BOUND_S)
    with locked(store.path):
        await store.append(entry(1))
        waiting = asyncio.ensure_future(store.append(entry(2)))
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await store.close()
    assert verify(store.path).records == 2


async def test_durable_record_behind_a_lock_is_refused_in_words_and_not_written_later(tmp_path: Path) -> None:
    """The caller will not send; a record that says it did must not appear afterwards."""
    store = await SqliteStore.open(tmp_path / "store.sqlite3", patience_s=0.05)
    with locked(store.path):
        with pytest.raises(DragomanError, match=r"did not answer within 0\.05 s") as caught:
            await store.append_durably(entry(1, event="sending"))
        assert caught.value.hint == "end the program that keeps it locked, and try again"
        await store.append(entry(1, event="ended", status="refused"))
    await store.close()
    async with await SqliteStore.open(store.path) as again:
        assert [record.event for record in await again.tail()] == ["ended"]
    assert store.failure is None


async def test_close_behind_a_lock_is_bounded_and_counts_what_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await SqliteStore.open(tmp_path / "store.sqlite3")
    with locked(store.path):
        for number in range(7):
            await store.append(entry(number))
        await asyncio.wait_for(store.close(timeout_s=0.01), BOUND_S)
    assert store.failure is not None
    assert store.failure.lost == 7
    assert "locked by another program" in store.failure.error
    assert "7 audit records were not written" in caplog.text


async def test_close_of_a_thread_that_hangs_is_bounded_and_counts_what_is_lost(tmp_path: Path) -> None:
    """A disk that never answers, such as a dead network mount: the program ends all the same, and says what it could not write."""
    store = await SqliteStore.open(tmp_path / "store.sqlite3", patience_s=0.05)
    hanging = threading.Event()
    try:
        with pytest.raises(DragomanError, match="did not answer"):
            await store._read(lambda con: hanging.wait(BOUND_S))
        for number in range(3):
            await store.append(entry(number))
        await asyncio.wait_for(store.close(timeout_s=0.01), BOUND_S)
        assert store.failure is not None
        assert store.failure.lost == 3
        assert "did not answer" in store.failure.error
    finally:
        hanging.set()
    await store.close()
    assert store.failure.lost == 3


async def test_append_takes_an_entry_without_a_turn_of_the_loop(tmp_path: Path) -> None:
    """It stands on the path of every call, three times: while there is space it may not suspend."""
    async with await SqliteStore.open(tmp_path / "store.sqlite3") as store:
        appending = store.append(entry(1))
        with pytest.raises(StopIteration):
            appending.send(None)
        assert len(await store.tail()) == 1


async def test_replaced_file_is_noticed(tmp_path: Path) -> None:
    """SQLite would go on writing into the deleted file; the records would be gone with the process."""
    store = await SqliteStore.open(tmp_path / "store.sqlite3")
    await store.append_durably(entry(1))
    store.path.rename(tmp_path / "moved.sqlite3")
    store.path.touch()
    with pytest.raises(DragomanError, match="replaced or deleted while in use"):
        await store.append_durably(entry(2))
    await store.append(entry(3))
    await store.flush()
    assert store.failure is not None
    assert store.failure.lost == 1
    await store.close()


async def test_error_of_ours_in_the_thread_fails_loudly_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a defect")

    store = await SqliteStore.open(tmp_path / "store.sqlite3")
    monkeypatch.setattr(worker_module, "seal", broken)
    with pytest.raises(DragomanError, match=r"audit record not written: .*RuntimeError: a defect"):
        await asyncio.wait_for(store.append_durably(entry(1)), BOUND_S)
    assert await store.tail() == []
    await store.close()


async def test_question_that_fails_is_an_error_of_its_caller_alone(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.sqlite3")
    with pytest.raises(DragomanError, match="no such table"):
        await store._read(lambda con: con.execute("SELECT * FROM nowhere").fetchall())
    await store.append_durably(entry(1))
    assert store.failure is None
    await store.close()


async def test_opening_that_is_cancelled_ends_its_thread(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    opening = asyncio.ensure_future(SqliteStore.open(path))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with await SqliteStore.open(path) as store:
        await store.append_durably(entry(1))
    assert verify(path).records == 1


async def test_queue_that_stays_full_stops_the_audit_and_not_the_caller(tmp_path: Path) -> None:
    """Nothing hangs: behind a lock that never ends, records are counted as lost, and it is told once."""
    told: list[StoreFailure] = []
    path = tmp_path / "store.sqlite3"
    async with await SqliteStore.open(path, max_queued=2, patience_s=0.3, on_failure=told.append) as store:
        with locked(path):
            async with asyncio.timeout(30):
                for number in range(20):
                    await store.append(entry(number))
            await until(lambda: bool(told))
        (failure,) = told
        assert "kept locked by another program" in failure.error
        with pytest.raises(DragomanError, match="audit record not written"):
            await store.append_durably(entry(99))
    assert store.failure is not None
    assert store.failure.lost >= 18
