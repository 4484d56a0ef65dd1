"""Health, catalogs, pins, approved commands and eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dragoman.clock import FakeClock
from dragoman.store.records import ERA_TTL_S, Catalog, Health, KnownEra, Pin, TrustedCommand
from dragoman.store.sqlite import SqliteStore
from tests.store.entries import edited

PIN = Pin(server="files", kind="tool", name="read_file", hash="h1", definition='{"name":"read_file"}', first_seen=1.0)
HELD = msgspec.structs.replace(PIN, hash="h2", definition='{"name":"read_file","x":1}', first_seen=2.0, state="held")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    async with await SqliteStore.open(tmp_path / "store.sqlite3", clock=clock) as store:
        yield store


async def test_latest_health_of_each_server_is_kept(store: SqliteStore) -> None:
    for number in range(60):
        await store.record_health(Health(server="files", at=float(number), ok=True, ms=1.5))
    down = Health(server="shop", at=5.0, ok=False, error="exit 1")
    await store.record_health(down)
    assert await store.health() == {"files": Health(server="files", at=59.0, ok=True, ms=1.5), "shop": down}
    with edited(store.path) as con:
        assert con.execute("SELECT server, count(*), min(at) FROM health GROUP BY server").fetchall() == [
            ("files", 50, 10.0),
            ("shop", 1, 5.0),
        ]


async def test_catalog_is_replaced_by_a_newer_one(store: SqliteStore) -> None:
    old = Catalog(server="files", at=1.0, era="legacy", revision="2025-11-25", tools="[]")
    new = Catalog(server="files", at=2.0, era="modern", revision="2026-07-28", tools='[{"name":"a"}]')
    await store.save_catalog(old)
    await store.save_catalog(new)
    assert await store.catalogs() == {"files": new}


async def test_first_pin_wins_over_a_later_one(store: SqliteStore) -> None:
    """Two processes may see a server for the first time at once; what one has shown to a person must stand."""
    await store.add_pins([PIN])
    await store.add_pins([msgspec.structs.replace(PIN, hash="other")])
    assert await store.pins() == [PIN]
    assert await store.pins("shop") == []


async def test_held_definition_stands_beside_the_pinned_one_until_accepted(store: SqliteStore) -> None:
    """A review needs both for its diff."""
    await store.add_pins([PIN])
    await store.replace_pin(HELD)
    assert await store.pins("files") == [PIN, HELD]
    accepted = await store.accept_held("files", "tool", "read_file")
    assert accepted == msgspec.structs.replace(HELD, state="pinned")
    assert await store.pins("files") == [accepted]
    assert await store.accept_held("files", "tool", "read_file") is None


async def test_pins_are_dropped_by_state_or_altogether(store: SqliteStore) -> None:
    await store.add_pins([PIN, HELD, msgspec.structs.replace(PIN, name="other")])
    await store.drop_pins("files", kind="tool", name="read_file", state="held")
    assert [(pin.name, pin.state) for pin in await store.pins()] == [("other", "pinned"), ("read_file", "pinned")]
    await store.drop_pins("files")
    assert await store.pins() == []


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


async def test_removed_server_is_forgotten_but_for_its_audit(store: SqliteStore) -> None:
    await store.add_pins([PIN, msgspec.structs.replace(PIN, server="shop")])
    await store.record_health(Health(server="files", at=1.0, ok=True))
    await store.save_catalog(Catalog(server="files", at=1.0, era="legacy", revision="2025-11-25", tools="[]"))
    await store.trust_command(TrustedCommand(path="/p", server="files", hash="h", at=1.0, by="ada"))
    await store.forget_server("files")
    assert [pin.server for pin in await store.pins()] == ["shop"]
    assert (await store.health(), await store.catalogs(), await store.trusted_command("/p", "files")) == ({}, {}, None)
