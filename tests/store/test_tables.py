"""Health, catalogs, pins, approved commands and eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.clock import FakeClock
from dragoman.store.records import ERA_TTL_S, BreakerRow, Catalog, Check, Health, KnownEra, Pin, TrustedCommand
from dragoman.store.sqlite import SqliteStore
from tests.store.entries import edited

PIN = Pin(scope="mine", server="files", kind="tool", name="read_file", hash="h1", definition='{"name":"read_file"}', first_seen=1.0)
HELD = msgspec.structs.replace(PIN, hash="h2", definition='{"name":"read_file","x":1}', first_seen=2.0, state="held")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    async with await SqliteStore.open(tmp_path / "store.sqlite3", clock=clock) as store:
        yield store


def health_of(store: SqliteStore, server: str = "files", *, scope: str = "mine", holder: str | None = None, **fields: Any) -> Health:
    process = store.process if holder is None else msgspec.structs.replace(store.process, writer=holder)
    return Health(**{"scope": scope, "server": server, "at": 1.0, "state": "ready", "holder": process, **fields})


async def test_a_process_has_one_row_for_each_server(store: SqliteStore) -> None:
    """It is written anew, with all that it holds."""
    check = Check(at=1.0, ok=False, ms=1.5, error="exit 1")
    breaker = BreakerRow(state="open", failures=10, retry_at=9.0)
    full = health_of(store, at=2.0, check=check, ok_at=0.5, era="legacy", calls=3, p50_ms=1.25, breaker=breaker, pid=7, memory_bytes=8)
    await store.record_health([health_of(store), health_of(store, "shop")])
    await store.record_health([full])
    assert await store.health("mine") == {"files": [full], "shop": [health_of(store, "shop")]}


async def test_rows_of_other_processes_stand_beside_it_newest_first_and_are_bounded(store: SqliteStore) -> None:
    """Two programs may use a server at once, and one of them may be dead."""
    for number in range(60):
        await store.record_health([health_of(store, at=float(number), holder=f"process-{number}")])
    found = (await store.health("mine"))["files"]
    assert [row.at for row in found] == [float(number) for number in range(59, 9, -1)]


async def test_rows_belong_to_one_configuration(store: SqliteStore) -> None:
    """Servers of two files may have one name."""
    for scope in ("mine", "theirs"):
        await store.record_health([health_of(store, scope=scope, state=scope)])
        await store.save_catalog(Catalog(scope=scope, server="files", at=1.0, era="legacy", revision=scope, tools="[]"))
        await store.add_pins([msgspec.structs.replace(PIN, scope=scope)])
    assert [row.state for row in (await store.health("mine"))["files"]] == ["mine"]
    assert (await store.catalogs("theirs"))["files"].revision == "theirs"
    await store.forget_server("mine", "files")
    assert (await store.health("mine"), await store.catalogs("mine"), await store.pins("mine")) == ({}, {}, [])
    assert [len(await store.health("theirs")), len(await store.catalogs("theirs")), len(await store.pins("theirs"))] == [1, 1, 1]


async def test_row_that_nobody_can_read_is_left_out(store: SqliteStore) -> None:
    """An edited file, or a version that is older: status answers all the same."""
    await store.record_health([health_of(store, "shop")])
    with edited(store.path) as con:
        con.execute("INSERT INTO health VALUES ('mine', 'files', 'x', 1.0, '{')")
    assert list(await store.health("mine")) == ["shop"]


async def test_catalog_is_replaced_by_a_newer_one(store: SqliteStore) -> None:
    old = Catalog(scope="mine", server="files", at=1.0, era="legacy", revision="2025-11-25", tools="[]")
    new = Catalog(scope="mine", server="files", at=2.0, era="modern", revision="2026-07-28", tools='[{"name":"a"}]')
    await store.save_catalog(old)
    await store.save_catalog(new)
    assert await store.catalogs("mine") == {"files": new}


async def test_first_pin_wins_over_a_later_one(store: SqliteStore) -> None:
    """Two processes may see a server for the first time at once; what one has shown to a person must stand."""
    await store.add_pins([PIN])
    await store.add_pins([msgspec.structs.replace(PIN, hash="other")])
    assert await store.pins("mine") == [PIN]
    assert await store.pins("mine", "shop") == []


async def test_held_definition_stands_beside_the_pinned_one_until_accepted(store: SqliteStore) -> None:
    """A review needs both for its diff."""
    await store.add_pins([PIN])
    await store.replace_pin(HELD)
    assert await store.pins("mine", "files") == [PIN, HELD]
    accepted = await store.accept_held("mine", "files", "tool", "read_file")
    assert accepted == msgspec.structs.replace(HELD, state="pinned")
    assert await store.pins("mine", "files") == [accepted]
    assert await store.accept_held("mine", "files", "tool", "read_file") is None


async def test_pins_are_dropped_by_state_or_altogether(store: SqliteStore) -> None:
    await store.add_pins([PIN, HELD, msgspec.structs.replace(PIN, name="other")])
    await store.drop_pins("mine", "files", kind="tool", name="read_file", state="held")
    assert [(pin.name, pin.state) for pin in await store.pins("mine")] == [("other", "pinned"), ("read_file", "pinned")]
    await store.drop_pins("mine", "files")
    assert await store.pins("mine") == []


async def test_trust_belongs_to_one_file_and_server(store: SqliteStore) -> None:
    yes = TrustedCommand(path="/p/dragoman.toml", server="files", hash="h", at=1.0, by="ada")
    await store.trust_command(yes)
    assert await store.trusted_command("/p/dragoman.toml", "files") == yes
    assert await store.trusted_command("/q/dragoman.toml", "files") is None
    await store.distrust_command("/p/dragoman.toml", "files")
    assert await store.trusted_command("/p/dragoman.toml", "files") is None


async def test_era_is_forgotten_after_seven_days(store: SqliteStore, clock: FakeClock) -> None:
    era = KnownEra(key="argv", era="modern", revision="2026-07-28", at=clock.now())
    await store.remember_era(era)
    clock.advance(ERA_TTL_S)
    assert await store.recall_era("argv") == era
    clock.advance(1)
    assert await store.recall_era("argv") is None
    await store.remember_era(msgspec.structs.replace(era, at=clock.now()))
    await store.forget_era("argv")
    assert await store.recall_era("argv") is None


async def test_removed_server_is_forgotten_alone(store: SqliteStore) -> None:
    await store.add_pins([PIN, msgspec.structs.replace(PIN, server="shop")])
    await store.record_health([health_of(store), health_of(store, "shop")])
    await store.forget_server("mine", "files")
    assert [pin.server for pin in await store.pins("mine")] == ["shop"]
    assert list(await store.health("mine")) == ["shop"]
