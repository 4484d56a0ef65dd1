"""Tail, show, and the verdict on a call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.store.queries import maybe_ran, show, tail
from dragoman.store.schema import MIGRATIONS, open_database, open_read_only
from dragoman.store.sqlite import SqliteStore
from tests.store.entries import edited, entry, written


async def test_tail_gives_the_last_records_oldest_first(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path / "store.sqlite3") as store:
        for number in range(30):
            await store.append(entry(number))
        assert [record.call for record in await store.tail()] == [f"call-{number}" for number in range(10, 30)]
        assert [record.call for record in await store.tail(2)] == ["call-28", "call-29"]
        assert await store.tail(0) == []


@pytest.mark.parametrize("name", ["event", "server", "tool", "turn", "call", "status"])
async def test_tail_filters_by(name: str, tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path / "store.sqlite3") as store:
        await store.append(entry(1))
        await store.append(entry(2, **{name: "wanted"}))
        await store.append(entry(3, **{name: "want%"}))
        assert [record.seq for record in await store.tail(**{name: "wanted"})] == [2]  # type: ignore[arg-type]  # a table of keywords


def test_unknown_filter_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "store.sqlite3")
    con = open_read_only(tmp_path / "store.sqlite3")
    with pytest.raises(TypeError, match="no such filter: detail"):
        tail(con, detail="x")
    con.close()


async def test_record_reads_back_as_it_was_written(tmp_path: Path) -> None:
    async with await SqliteStore.open(tmp_path / "store.sqlite3") as store:
        await store.append(entry(1, detail={"z": [1, {"y": None}], "a": "é\x00"}))
        [record] = (await store.show("call-1")).records
    assert record.detail == {"z": [1, {"y": None}], "a": "é\x00"}
    assert (record.writer, record.seq, record.principal, record.attempt, record.status) == (store.writer, 1, "ada", 1, None)
    assert record.for_json()["at"] == "2027-01-15T08:00:01.250Z"


@pytest.mark.parametrize(
    ("events", "living", "dead"),
    [
        ([], "never left", "never left"),
        ([("connected", None)], "noted", "noted"),
        ([("asked", None)], "waiting", "never left"),
        ([("asked", None), ("sending", None)], "in flight", "unknown"),
        ([("asked", None), ("sending", None), ("ended", "ok")], "ok", "ok"),
        ([("asked", None), ("sending", None), ("ended", "unknown")], "unknown", "unknown"),
        ([("asked", None), ("ended", "denied")], "denied", "denied"),
        ([("asked", None), ("ended", "gibberish")], "unknown", "unknown"),
    ],
)
async def test_verdict_follows_from_the_records_and_the_writers_life(
    events: list[tuple[str, str | None]], living: str, dead: str, tmp_path: Path
) -> None:
    """Our rule: sending without ended is unknown once the writer is gone; asked alone means it never left."""
    path = tmp_path / "store.sqlite3"
    async with await SqliteStore.open(path) as store:
        for event, status in events:
            await store.append(entry(1, event=event, status=status))
        assert (await store.show("call-1")).verdict == living
    con = open_read_only(path)
    story = show(con, "call-1")
    con.close()
    assert story.verdict == dead
    assert [(record.event, record.status) for record in story.records] == events


async def test_call_of_a_killed_writer_is_unknown(tmp_path: Path) -> None:
    """The writer never said goodbye: its process is looked for and not found."""
    path = tmp_path / "store.sqlite3"
    program = (
        "import asyncio, os, sys; from tests.store.entries import entry; from dragoman.store.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = await SqliteStore.open(sys.argv[1])\n"
        "    await store.append_durably(entry(1, event='sending'))\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    root = str(Path(__file__).parents[2])
    ended = subprocess.run([sys.executable, "-c", program, str(path)], cwd=root, env={**os.environ, "PYTHONPATH": root}, timeout=30)
    assert ended.returncode == -9
    async with await SqliteStore.open(path) as store:
        assert (await store.show("call-1")).verdict == "unknown"


async def test_calls_without_an_end_of_writers_that_are_gone_are_unknown_in_the_tail(tmp_path: Path) -> None:
    """Our rule, the same as that of ``show``; a call of a writer that lives is in flight, one that ended is neither."""
    path = tmp_path / "store.sqlite3"
    program = (
        "import asyncio, os, sys; from tests.store.entries import entry; from dragoman.store.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = await SqliteStore.open(sys.argv[1])\n"
        "    await store.append(entry(1, call='lost', event='asked'))\n"
        "    await store.append(entry(2, call='lost', event='sending', server='shop'))\n"
        "    await store.append(entry(3, call='done', event='sending'))\n"
        "    await store.append_durably(entry(4, call='done', event='ended', status='ok'))\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())"
    )
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", program, str(path)], cwd=root, env={**os.environ, "PYTHONPATH": root}, timeout=30)
    async with await SqliteStore.open(path) as store:
        await store.append(entry(5, call="flying", event="sending"))
        await store.append(entry(6, call="told", event="sending"))
        await store.append(entry(7, call="told", event="ended", status="unknown"))
        unknown = await store.tail(status="unknown")
        assert [(record.call, record.event, record.verdict) for record in unknown] == [
            ("lost", "sending", "unknown"),
            ("told", "ended", None),
        ]
        assert [record.call for record in await store.tail(1, status="unknown")] == ["told"]
        assert [record.call for record in await store.tail(status="unknown", server="shop")] == ["lost"]
        assert await store.tail(status="unknown", server="elsewhere") == []
        verdicts = {record.call: record.verdict for record in await store.tail() if record.event == "sending"}
        assert verdicts == {"lost": "unknown", "done": None, "flying": "in flight", "told": None}
        assert await store.maybe_ran() == 1
        assert unknown[0].for_json()["verdict"] == "unknown"
    con = open_read_only(path)
    assert [record.call for record in tail(con, status="unknown")] == ["lost", "flying", "told"]
    question = "SELECT n FROM audit WHERE status = 'unknown' ORDER BY n DESC LIMIT 5"
    plan = " ".join(str(row) for row in con.execute(f"EXPLAIN QUERY PLAN {question}"))
    assert "audit_unknown" in plan
    con.close()


def test_calls_that_an_older_file_left_open_are_found_after_its_migration(tmp_path: Path) -> None:
    """The first schema had no table of them; read as it is, without migrating, it knows of none and breaks nothing."""
    path = tmp_path / "store.sqlite3"
    open_database(path, migrations=MIGRATIONS[:1]).close()
    with edited(path) as con:
        for n, (call, event) in enumerate([("a", "sending"), ("b", "sending"), ("b", "ended"), ("a", "sending")], 1):
            con.execute(
                "INSERT INTO audit (writer, seq, prev, hash, v, at, event, call, detail) VALUES ('w', ?, '', '', 1, 1.0, ?, ?, '{}')",
                (n, event, call),
            )
        assert len(tail(con)) == 4
        assert (maybe_ran(con), tail(con, status="unknown")) == (0, [])
    con = open_database(path)
    assert maybe_ran(con) == 1
    assert [(record.call, record.seq) for record in tail(con, status="unknown")] == [("a", 4)]
    con.close()


def test_broken_detail_is_shown_as_such(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(path, entry(1))
    with edited(path) as con:
        con.execute("UPDATE audit SET detail = '{\"x\":'")
        assert tail(con)[0].detail == {"unreadable": '{"x":'}
