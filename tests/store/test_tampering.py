"""Random tampering with whole and with pruned audits: verify names the first record that is not as it was written."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import DragomanError
from dragoman.store.chain import COLUMNS
from dragoman.store.prune import Keep
from dragoman.store.sqlite import SqliteStore
from dragoman.store.verify import ANCHORS, verify
from tests.store.entries import AT, At, edited, entry

Rows = dict[str, list[tuple[int, tuple[Any, ...]]]]  # of a writer, in the order of the file: place, record
Tamper = Callable[[sqlite3.Connection, random.Random, list[int]], None]


def flip(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    column = dice.choice(
        ("at", "event", "call", "turn", "principal", "server", "tool", "tier", "status", "detail", "prev", "hash", "v", "seq")
    )
    other = f"CASE typeof({column}) WHEN 'text' THEN {column} || ' ' WHEN 'null' THEN 'x' ELSE {column} + 1 END"
    con.execute(f"UPDATE audit SET {column} = {other} WHERE n = ?", (dice.choice(places),))


def drop(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    con.execute("DELETE FROM audit WHERE n = ?", (dice.choice(places),))


def reorder(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    writer = con.execute("SELECT writer FROM audit WHERE n = ?", (dice.choice(places),)).fetchone()[0]
    own = [n for (n,) in con.execute("SELECT n FROM audit WHERE writer = ?", (writer,))]
    one, two = dice.sample(own, 2)
    for old, new in ((one, -1), (two, one), (-1, two)):
        con.execute("UPDATE audit SET n = ? WHERE n = ?", (new, old))


def cut_beginning(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    con.execute("DELETE FROM audit WHERE n <= ?", (dice.choice(places),))


def cut_end(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    con.execute("DELETE FROM audit WHERE n >= ?", (dice.choice(places),))


def splice(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    writers = [writer for (writer,) in con.execute("SELECT DISTINCT writer FROM audit")]
    con.execute(
        "UPDATE audit SET writer = CASE writer WHEN ?1 THEN ?2 ELSE ?1 END WHERE n >= ?3", (*dice.sample(writers, 2), dice.choice(places))
    )


def duplicate(con: sqlite3.Connection, dice: random.Random, places: list[int]) -> None:
    con.execute(f"INSERT INTO audit SELECT (SELECT max(n) + 1 FROM audit), {COLUMNS} FROM audit WHERE n = ?", (dice.choice(places),))


async def audit(path: Path, pruned: bool) -> None:
    """Three writers that write in turns; the first third pruned, or not."""
    dice = random.Random(7)
    stores = [await SqliteStore.open(path, clock=At(AT + 40)) for _ in range(3)]
    for number in range(40):
        store = dice.choice(stores)
        await store.append(entry(number))
        await store.flush()
    if pruned:
        await stores[0].prune(Keep(days=27 / 86_400, max_bytes=2**40))
    for store in stores:
        await store.close()


def rows(con: sqlite3.Connection) -> Rows:
    found: Rows = {}
    for n, *values in con.execute(f"SELECT n, {COLUMNS} FROM audit ORDER BY n"):
        found.setdefault(values[0], []).append((n, tuple(values)))
    return found


def first_difference(before: Rows, after: Rows, writer: str) -> set[int] | None:
    """Where the chain is no longer as it was: the record that should stand there, and the one that does."""
    was, now = [row for _, row in before.get(writer, [])], [row for _, row in after.get(writer, [])]
    for index in range(max(len(was), len(now))):
        if was[index : index + 1] != now[index : index + 1]:
            return {row[1] for rows in (was, now) for row in rows[index : index + 1]} | (
                {was[-1][1] + 1} if index >= len(was) and was else set()
            )
    return None


@pytest.mark.parametrize("pruned", [False, True], ids=["whole", "pruned"])
@pytest.mark.parametrize("tamper", [flip, drop, reorder, cut_beginning, cut_end, splice, duplicate], ids=lambda tamper: tamper.__name__)
def test_the_first_bad_record_of_every_chain_that_was_touched_is_named(tamper: Tamper, pruned: bool, tmp_path: Path) -> None:
    """Of each chain that differs from what was written, and of no other one; fifteen times at random places."""
    original = tmp_path / "store.sqlite3"
    asyncio.run(audit(original, pruned))
    report = verify(original)
    assert report.ok
    assert bool(report.pruned) is pruned
    for seed in range(15):
        path = tmp_path / f"{seed}.sqlite3"
        shutil.copy(original, path)
        with edited(path) as con:
            before = rows(con)
            tamper(con, random.Random(seed), [n for chain in before.values() for n, _ in chain])
            after = rows(con)
        expected = {writer: first_difference(before, after, writer) for writer in before.keys() | after.keys()}
        touched = {writer: places for writer, places in expected.items() if places is not None}
        assert touched, seed
        bad = {fault.writer: fault.seq for fault in verify(path).bad}
        assert bad.keys() - {ANCHORS} == touched.keys(), seed
        for writer, places in touched.items():
            assert bad[writer] in places, (seed, bad[writer], places)


ANCHOR_TAMPERINGS: dict[str, str] = {
    "one removed": "DELETE FROM anchors WHERE writer = (SELECT max(writer) FROM anchors)",
    "all removed": "DELETE FROM anchors",
    "its count edited": "UPDATE anchors SET seq = seq + 1",
    "its hash edited": "UPDATE anchors SET hash = 'x'",
    "its time edited": "UPDATE anchors SET at = at + 1",
    "its time no time": "UPDATE anchors SET at = 'x'",
    "one added": "INSERT INTO anchors VALUES ('somebody', 3, 'x', 1.0)",
    "no word of the pruning": "DELETE FROM audit WHERE event = 'pruned'",
}


@pytest.mark.parametrize("name", ANCHOR_TAMPERINGS)
async def test_a_changed_anchor_is_found_and_nothing_more_is_pruned(name: str, tmp_path: Path) -> None:
    """Pruning over it would vouch for it."""
    path = tmp_path / "store.sqlite3"
    await audit(path, True)
    with edited(path) as con:
        con.execute(ANCHOR_TAMPERINGS[name])
    assert not verify(path).ok
    async with await SqliteStore.open(path, clock=At(AT + 41)) as store:
        with pytest.raises(DragomanError, match="nothing more is pruned, because the audit is broken"):
            await store.prune(Keep(days=20 / 86_400, max_bytes=2**40))


async def test_a_cut_beginning_with_an_anchor_made_up_for_it_is_found(tmp_path: Path) -> None:
    """The anchor fits the chain; but nobody wrote down that it pruned."""
    path = tmp_path / "store.sqlite3"
    await audit(path, False)
    with edited(path) as con:
        con.execute("INSERT INTO anchors SELECT writer, max(seq), hash, at FROM audit WHERE n <= 10 GROUP BY writer")
        con.execute("DELETE FROM audit WHERE n <= 10")
    (bad,) = verify(path).bad
    assert str(bad) == "where the chains begin since records were pruned: made up (no pruning was written down)"
