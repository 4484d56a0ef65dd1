"""What is pruned, when, and what is left to prove."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from dragoman.errors import DragomanError
from dragoman.store import chores, prune
from dragoman.store.prune import Keep, used_bytes
from dragoman.store.schema import open_read_only
from dragoman.store.search import Query
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import verify
from tests.store.entries import AT, At, edited, entry, written

DAY = 86_400.0
FOREVER = 2**40


async def opened(path: Path, now: float = AT + 100 * DAY, keep: Keep | None = None) -> SqliteStore:
    return await SqliteStore.open(path, clock=At(now), keep=keep)


async def calls(store: SqliteStore) -> list[str]:
    return [record.call or record.event for record in (await store.search(Query(), 10_000))[::-1]]


async def test_what_is_older_than_the_days_goes_and_the_rest_verifies(tmp_path: Path) -> None:
    """Of two writers; the one of which nothing is left leaves a count, and the pruning itself is on record."""
    path = tmp_path / "store.sqlite3"
    await asyncio.to_thread(written, path, *(entry(0, at=AT + n * DAY, call=f"a{n}") for n in (0, 1, 2)))
    await asyncio.to_thread(written, path, *(entry(0, at=AT + n * DAY, call=f"b{n}") for n in (3, 20, 50)))
    keep = Keep(days=90, max_bytes=FOREVER)
    async with await opened(path) as store:
        foreseen = await store.foresee(keep)
        assert await calls(store) == ["a0", "a1", "a2", "b3", "b20", "b50"]
        done = await store.prune(keep)
        assert done == foreseen
        assert (done.records, done.up_to) == (4, "2027-01-18T08:00:00.250Z")
        assert await calls(store) == ["b20", "b50", "pruned"]
        assert (await store.prune(keep)).records == 0
        noted = (await store.tail(1))[0]
        assert noted.detail["records"] == 4
    report = verify(path)
    assert report.ok
    assert (report.records, report.pruned, report.pruned_up_to) == (3, 4, AT + 3 * DAY)
    with edited(path) as con:
        assert con.execute("SELECT writer, seq FROM anchors ORDER BY writer").fetchall()[0] == ("", 3)
        assert con.execute("SELECT count(*) FROM writers").fetchone() == (2,)


async def test_pruning_again_and_again_keeps_the_chains_whole(tmp_path: Path) -> None:
    """Also the chain of the one who prunes, and the records about earlier prunings."""
    path = tmp_path / "store.sqlite3"
    keep = Keep(days=10, max_bytes=FOREVER)
    for day in range(0, 60, 6):
        async with await opened(path, AT + day * DAY) as store:
            for part in range(4):
                await store.append(entry(0, at=AT + (day + part) * DAY, call=f"{day}-{part}"))
            await store.prune(keep)
        report = verify(path)
        assert report.ok, report
    assert report.pruned > 30
    with edited(path) as con:
        assert con.execute("SELECT count(*) FROM heads").fetchone()[0] <= 4


async def test_a_database_beyond_its_size_loses_the_oldest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite3"
    monkeypatch.setattr(prune, "STEP", 20)
    await asyncio.to_thread(written, path, *(entry(n, at=AT, detail={"text": f"{n} " * 500}) for n in range(300)))
    keep = Keep(days=90, max_bytes=300_000)
    async with await opened(path, AT + DAY) as store:
        foreseen = await store.foresee(keep)
        done = await store.prune(keep)
        assert done.records > 100
        assert abs(foreseen.records - done.records) < 100
        assert (await calls(store))[-2:-1] != []
    assert verify(path).ok
    con = open_read_only(path)
    assert used_bytes(con) <= keep.max_bytes
    con.close()


async def test_a_limit_that_nothing_fits_in_ends_with_two_records_and_not_in_a_circle(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    await asyncio.to_thread(written, path, *(entry(n) for n in range(5)))
    async with await opened(path, AT) as store:
        await store.prune(Keep(days=90, max_bytes=1))
        assert len(await calls(store)) <= 2
    assert verify(path).ok


async def test_a_record_from_the_future_does_not_keep_all_that_came_after_it(tmp_path: Path) -> None:
    """A clock was wrong once; and one of long ago among new ones takes nothing with it."""
    path = tmp_path / "store.sqlite3"
    await asyncio.to_thread(written, path, *(entry(0, at=AT + n * DAY, call=f"{n}") for n in (0, 9_999, 1, 99, -5_000, 99.5)))
    async with await opened(path) as store:
        await store.prune(Keep(days=90, max_bytes=FOREVER))
        assert await calls(store) == ["99", "-5000", "99.5", "pruned"]


async def test_what_was_tampered_with_is_never_pruned(tmp_path: Path) -> None:
    """It would be the end of the evidence."""
    path = tmp_path / "store.sqlite3"
    await asyncio.to_thread(written, path, *(entry(n) for n in range(5)))
    with edited(path) as con:
        con.execute("UPDATE audit SET tool = 'harmless' WHERE n = 3")
    async with await opened(path) as store:
        with pytest.raises(DragomanError, match=r"nothing more is pruned, because the audit is broken: .* record 3: edited"):
            await store.prune(Keep(days=1, max_bytes=FOREVER))
        assert len(await calls(store)) == 5


async def test_the_thread_prunes_and_indexes_by_itself_while_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Soon after opening, a step at a time; what is appended meanwhile is in the same chain."""
    path = tmp_path / "store.sqlite3"
    monkeypatch.setattr(chores, "FIRST_AFTER_S", 0.0)
    monkeypatch.setattr(chores, "PAUSE_S", 0.0)
    monkeypatch.setattr(prune, "STEP", 2)
    await asyncio.to_thread(written, path, *(entry(n) for n in range(20)))
    async with asyncio.timeout(20), await opened(path, keep=Keep(days=90, max_bytes=FOREVER)) as store:
        number = 0
        while (upto := await store._read(lambda con: con.execute("SELECT n FROM texts_upto").fetchone()[0])) < 20:
            await store.append(entry(number := number + 1, at=AT + 100 * DAY, call="new"))
        assert upto >= 20
        assert "call-3" not in await calls(store)
        assert "new" in await calls(store)
    report = verify(path)
    assert report.ok
    assert report.pruned >= 20


async def test_chores_that_fail_are_said_and_harm_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A broken audit: one warning, no more pruning, and the calls go on."""
    path = tmp_path / "store.sqlite3"
    monkeypatch.setattr(chores, "FIRST_AFTER_S", 0.0)
    await asyncio.to_thread(written, path, *(entry(n) for n in range(5)))
    with edited(path) as con:
        con.execute("UPDATE audit SET tool = 'harmless' WHERE n = 3")
    with caplog.at_level(logging.WARNING, "dragoman.store"):
        async with asyncio.timeout(20), await opened(path, keep=Keep(days=1, max_bytes=FOREVER)) as store:
            while not caplog.records:
                await store.append_durably(entry(9))
            assert store.failure is None
    assert ["nothing more is pruned" in record.getMessage() for record in caplog.records] == [True]
