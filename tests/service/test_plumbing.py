"""What joins the store to policy and runtime: nothing lost on the way, and no convenience that costs a connection."""

from __future__ import annotations

import getpass
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import ConfigError, DragomanError
from dragoman.policy.ports import AuditEvent
from dragoman.runtime.gauges import Gauge, Seen, vitals
from dragoman.service.plumbing import Plumbing, person
from dragoman.store.records import BreakerRow, Check
from dragoman.wire.listing import Tool

EVENT = AuditEvent(
    at=1.5,
    event="ended",
    call="c1",
    turn="t1",
    principal="ada",
    server="files",
    tool="read",
    tier="L2",
    attempt=2,
    status="unknown",
    detail={"why": "lost"},
)


@pytest.fixture
async def plumbing(tmp_path: Path) -> AsyncIterator[Plumbing]:
    """Open, over an empty store."""
    one = Plumbing(tmp_path / "dragoman.db", "mine")
    await one.open()
    yield one
    await one.close()


@pytest.mark.parametrize("durably", [False, True])
async def test_every_field_of_an_event_reaches_the_store(plumbing: Plumbing, durably: bool) -> None:
    """An audit that drops a field is found out by nobody else."""
    await (plumbing.append_durably if durably else plumbing.append)(EVENT)
    await plumbing.store.flush()
    (record,) = await plumbing.store.tail()
    for field in EVENT.__struct_fields__:
        assert getattr(record, field) == getattr(EVENT, field)


async def test_before_opening_and_after_closing_nothing_is_taken(tmp_path: Path) -> None:
    """Rather than forgotten."""
    plumbing = Plumbing(tmp_path / "dragoman.db")
    with pytest.raises(DragomanError, match="not open"):
        await plumbing.append(EVENT)
    await plumbing.open()
    store = plumbing.store
    await plumbing.open()
    assert plumbing.store is store
    await plumbing.close()
    await plumbing.close()
    with pytest.raises(DragomanError, match="not open"):
        await plumbing.append_durably(EVENT)


async def test_health_is_one_line_and_catalogs_are_kept_whole(plumbing: Plumbing) -> None:
    """For ``status``, which starts nothing."""
    gauge = Gauge(Seen(at=1.0, ok=False, ms=12.345, error="exited with status 3; its last words:\n  | first\n  | second"))
    await plumbing.vitals([vitals("files", "down", gauge), vitals("shop", "ready", Gauge(), pid=os.getpid())], closing=False)
    health = await plumbing.store.health("mine")
    (files,), (shop,) = health["files"], health["shop"]
    assert (files.state, files.check) == ("down", Check(at=1.0, ok=False, ms=12.3, error="exited with status 3; its last words:"))
    assert (shop.check, shop.pid, shop.holder.pid, shop.holder.closed_at) == (None, os.getpid(), os.getpid(), None)
    await plumbing.catalog("files", "legacy", "2025-11-25", (Tool(name="读取", description="reads"),))
    catalog = (await plumbing.store.catalogs("mine"))["files"]
    assert (catalog.era, catalog.revision) == ("legacy", "2025-11-25")
    assert '"读取"' in catalog.tools


async def test_last_words_close_the_row(plumbing: Plumbing) -> None:
    """A process that ended in order is not looked for."""
    await plumbing.vitals([vitals("files", "stopped", Gauge())], closing=True)
    ((row,),) = (await plumbing.store.health("mine")).values()
    assert row.holder.closed_at is not None


async def test_breaker_at_rest_is_no_news(plumbing: Plumbing) -> None:
    """Null in ``status --json`` means that nothing is wrong."""
    rest, counting = BreakerRow(state="closed"), BreakerRow(state="closed", failures=3)
    await plumbing.vitals([vitals("a", "ready", Gauge(), breaker=rest), vitals("b", "ready", Gauge(), breaker=counting)], closing=False)  # type: ignore[arg-type]
    health = await plumbing.store.health("mine")
    assert (health["a"][0].breaker, health["b"][0].breaker) == (None, counting)


async def test_eras_are_remembered_without_the_command_line(plumbing: Plumbing, tmp_path: Path) -> None:
    """A command line may hold a secret; the store needs only to know it again."""
    key = "npx\0server\0--api-key\0s3cr3t-key\0\udcff"
    assert await plumbing.recall(key) is None
    await plumbing.remember(key, "modern")
    await plumbing.remember("other", "legacy")
    assert (await plumbing.recall(key), await plumbing.recall("other")) == ("modern", "legacy")
    with closing(sqlite3.connect(tmp_path / "dragoman.db")) as con:
        assert "s3cr3t" not in str(con.execute("SELECT * FROM eras").fetchall())


async def test_store_that_cannot_remember_eras_costs_no_connection(plumbing: Plumbing, tmp_path: Path) -> None:
    """The handshake finds out anew."""
    with closing(sqlite3.connect(tmp_path / "dragoman.db")) as con:
        con.execute("DROP TABLE eras")
    await plumbing.remember("key", "modern")
    assert await plumbing.recall("key") is None


async def test_place_that_cannot_be_written_is_a_mistake_of_the_configuration(tmp_path: Path) -> None:
    """Exit code 2, and what to set."""
    (tmp_path / "dragoman.db").mkdir()
    with pytest.raises(ConfigError, match=r"dragoman\.db") as caught:
        await Plumbing(tmp_path / "dragoman.db").open()
    assert caught.value.hint == "set DRAGOMAN_HOME to a folder you can write"


async def test_damaged_store_is_no_mistake_of_the_configuration(tmp_path: Path) -> None:
    """It says to move it away."""
    (tmp_path / "dragoman.db").write_bytes(b"no database " * 1000)
    with pytest.raises(DragomanError, match="damaged") as caught:
        await Plumbing(tmp_path / "dragoman.db").open()
    assert not isinstance(caught.value, ConfigError)
    assert caught.value.hint is not None
    assert "move it away" in caught.value.hint


def test_person_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers run as users that no file knows."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found: 4711")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert person().startswith("uid ")
