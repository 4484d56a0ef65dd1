"""The store as programs use it: several at once, killed in the middle, forgotten at the end, from several loops."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.errors import DragomanError
from dragoman.store.base import Store
from dragoman.store.queries import tail
from dragoman.store.records import AuditEntry
from dragoman.store.schema import open_read_only
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import verify
from tests.store.entries import edited, entry, locked, written

PROGRAM = str(Path(__file__).with_name("writing_program.py"))


def start(path: Path, count: int, mode: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, PROGRAM, str(path), str(count), mode], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_sqlite_store_is_a_store(tmp_path: Path) -> None:
    async def use() -> None:
        store: Store = await SqliteStore.open(tmp_path / "store.sqlite3")
        await store.close()

    asyncio.run(use())


async def test_records_make_one_chain_across_ordinary_and_durable_ones(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    async with await SqliteStore.open(path) as store:
        await store.append(entry(1))
        await store.append_durably(entry(2))
        await store.append(entry(3))
        records = await store.tail()
    assert [(record.seq, record.call) for record in records] == [(1, "call-1"), (2, "call-2"), (3, "call-3")]
    assert [record.prev for record in records[1:]] == [record.hash for record in records[:-1]]
    assert verify(path).ok


def test_store_that_only_reads_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(path)
    with edited(path) as con:
        assert con.execute("SELECT (SELECT count(*) FROM writers) + (SELECT count(*) FROM heads)").fetchone() == (0,)


def test_two_processes_that_write_at_once_make_two_good_chains(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    running = [start(path, 2000, "plain"), start(path, 50, "durable")]
    for process in running:
        _, errors = process.communicate(timeout=50)
        assert (process.returncode, errors) == (0, "")
    report = verify(path)
    assert report.ok, report
    assert (report.records, report.writers) == (2050, 2)


def test_two_stores_in_one_process_are_two_writers(tmp_path: Path) -> None:
    async def use() -> None:
        path = tmp_path / "store.sqlite3"
        async with await SqliteStore.open(path) as first, await SqliteStore.open(path) as second:
            for number in range(300):
                await first.append(entry(number))
                await second.append(entry(number))
            await first.append_durably(entry(300))
            assert first.writer != second.writer
        assert (verify(path).ok, verify(path).records) == (True, 601)

    asyncio.run(use())


def test_killed_writer_leaves_a_good_chain_with_everything_it_was_promised(tmp_path: Path) -> None:
    """kill -9 in mid-stream: each number that was printed had been committed, and nothing stands half written."""
    path = tmp_path / "store.sqlite3"
    with start(path, 0, "durable") as process:
        assert process.stdout is not None
        promised = 0
        while promised < 40:
            promised = int(process.stdout.readline().replace("open", "0").split()[0])
        process.send_signal(signal.SIGKILL)
        promised = max([promised, *(int(line) for line in process.stdout if line.endswith("\n"))])
        process.wait(timeout=30)
    report = verify(path)
    assert report.ok, report
    assert report.records in (promised, promised + 1)
    con = open_read_only(path)
    assert [record.detail["number"] for record in tail(con, 3)] == list(range(report.records - 2, report.records + 1))
    con.close()
    written(path, entry(1))
    assert verify(path).ok


def test_program_that_forgets_to_close_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    process = start(path, 700, "forgets")
    _, errors = process.communicate(timeout=50)
    assert (process.returncode, errors) == (0, "")
    assert (verify(path).ok, verify(path).records) == (True, 700)


def test_full_disk_refuses_durable_records_and_counts_the_others(tmp_path: Path) -> None:
    """Files may not grow beyond 200 KB in that process; reading goes on, and the loss is counted and said on stderr."""
    path = tmp_path / "store.sqlite3"
    process = start(path, 2000, "tiny-disk")
    output, errors = process.communicate(timeout=50)
    assert process.returncode == 0, errors
    lines = dict(line.split(" ", 1) for line in output.splitlines())
    assert "audit record not written: " in lines["refused"]
    assert lines["readable"] == "5"
    report = verify(path)
    assert report.ok, report
    assert report.records + int(lines["lost"]) == 2000 + 1
    assert 0 < report.records < 2000
    assert "audit records were not written" in errors


def test_store_serves_several_loops_and_threads(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"

    async def write(store: SqliteStore, base: int) -> None:
        for number in range(100):
            await store.append(entry(base + number))
        await store.append_durably(entry(base + 100))

    async def main() -> None:
        async with await SqliteStore.open(path) as store:
            threads = [threading.Thread(target=lambda base=base: asyncio.run(write(store, base))) for base in (1000, 2000, 3000)]
            for thread in threads:
                thread.start()
            await write(store, 0)
            for thread in threads:
                await asyncio.to_thread(thread.join, 30)

    asyncio.run(main())
    assert (verify(path).ok, verify(path).records) == (True, 404)


def test_loop_that_ended_before_its_answer_harms_nobody(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"

    async def impatient(store: SqliteStore) -> None:
        task = asyncio.ensure_future(store.tail())
        await asyncio.sleep(0)
        task.cancel()

    async def main() -> None:
        async with await SqliteStore.open(path) as store:
            with locked(path):
                await asyncio.to_thread(lambda: asyncio.run(impatient(store)))
            await store.append_durably(entry(1))

    asyncio.run(main())
    assert verify(path).records == 1


async def test_close_is_idempotent_and_a_closed_store_says_so(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "store.sqlite3")
    await store.append(entry(1))
    await asyncio.gather(store.close(), store.close())
    await store.close()
    with pytest.raises(DragomanError, match="is closed"):
        await store.append(entry(2))
    with pytest.raises(DragomanError, match="is closed"):
        await store.append_durably(entry(2))
    with pytest.raises(DragomanError, match="is closed"):
        await store.tail()
    assert verify(store.path).records == 1
    with edited(store.path) as con:
        assert con.execute("SELECT closed_at IS NOT NULL FROM writers").fetchall() == [(1,)]


async def test_unusable_file_is_refused_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    path.write_bytes(b"garbage" * 1000)
    with pytest.raises(DragomanError, match="is damaged"):
        await SqliteStore.open(path)
    assert not [thread for thread in threading.enumerate() if thread.name == "dragoman-store" and not _ends(thread)]


def _ends(thread: threading.Thread) -> bool:
    thread.join(30)
    return not thread.is_alive()


def _use_in_child(store: SqliteStore, answers: multiprocessing.connection.Connection) -> None:
    async def use() -> list[str]:
        said = []
        for attempt in (store.append(entry(2)), store.append_durably(entry(2)), store.tail(), store.close()):
            try:
                await attempt
                said.append("accepted")
            except DragomanError as exc:
                said.append(str(exc))
        return said

    answers.send(asyncio.run(use()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")  # Python 3.12 warns of what is tested here
def test_forked_child_is_refused_and_the_parent_goes_on(tmp_path: Path) -> None:
    """The thread does not live in the child, and SQLite forbids carrying a connection there."""
    path = tmp_path / "store.sqlite3"

    async def opened() -> SqliteStore:
        return await SqliteStore.open(path)

    store = asyncio.run(opened())
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    child = context.Process(target=_use_in_child, args=(store, theirs))
    child.start()
    assert ours.poll(30)
    said = ours.recv()
    child.join(30)
    assert (child.exitcode, len(said)) == (0, 4)
    assert all("opened before this process was forked" in line for line in said)

    async def finish() -> None:
        await store.append(entry(1))
        await store.close()

    asyncio.run(finish())
    assert (verify(path).ok, verify(path).records) == (True, 1)


text = st.none() | st.text()
details = st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(), max_size=4)
entries = st.builds(
    AuditEntry,
    at=st.floats(),
    event=st.text(),
    call=st.text(),
    turn=text,
    server=text,
    tool=text,
    status=text,
    attempt=st.none() | st.integers(),
    detail=details,
)


@settings(max_examples=25)
@given(st.lists(entries, max_size=12))
@example([entry(1, at=-0.0)])
def test_whatever_is_appended_verifies_and_reads_back(items: list[AuditEntry]) -> None:
    """Hypothesis gives lone surrogates, NaN, huge integers and bytes too: every one of them is a record in the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite3"
        written(path, *items)
        report = verify(path)
        assert report.ok, report
        assert report.records == len(items)
        con = open_read_only(path)
        records = tail(con, 100)
        con.close()
        for item, record in zip(items, records, strict=True):
            if "repaired" not in record.detail:
                assert {name: getattr(record, name) for name in item.__struct_fields__} == {
                    name: getattr(item, name) for name in item.__struct_fields__
                } or any(isinstance(value, float | bytes) for value in item.detail.values())
