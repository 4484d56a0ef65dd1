"""What is written down about servers, when, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from dragoman.errors import DragomanError
from dragoman.runtime import watching
from dragoman.runtime.gauges import Vitals
from dragoman.wire.listing import Tool
from tests.runtime.fakes import FakeServer, until
from tests.runtime.hosts import Fleet


class Notebook:
    """A watcher that keeps what it is given; it writes one row at a time while ``slow`` is not set."""

    def __init__(self) -> None:
        self.written: list[tuple[Vitals, bool]] = []
        self.free = asyncio.Event()
        self.free.set()
        self.fails = False

    async def vitals(self, rows: Sequence[Vitals], *, closing: bool) -> None:
        await self.free.wait()
        self.written += [(row, closing) for row in rows]
        if self.fails:
            raise DragomanError("the disk is full")

    async def catalog(self, server: str, era: str, revision: str, tools: tuple[Tool, ...]) -> None:
        pass

    def of(self, server: str) -> list[Vitals]:
        return [row for row, _ in self.written if row.server == server]


def plain(server: FakeServer) -> None:
    """A server as it comes."""


async def test_calls_and_their_endings_are_in_the_last_words() -> None:
    """Counted in memory; a row is written when a server comes up, and when the host closes."""
    book = Notebook()
    fleet = Fleet({"files": plain}, watcher=book)
    async with fleet.host as host:
        await until(lambda: len(book.written) == 1)
        assert (book.of("files")[0].state, book.of("files")[0].calls) == ("ready", 0)
        tool = (await host.tools())[0].full_name
        for _ in range(3):
            await host.call(tool, {})
        await host.call("files.no_such_tool", {})
    last, closing = book.written[-1]
    assert closing
    assert (last.server, last.calls, last.failures) == ("files", 3, 0)
    assert last.p50_ms is not None


async def test_news_while_a_row_is_written_are_one_row_more_and_so_are_those_right_after_it() -> None:
    """A flapping server on a slow disk queues nothing, and neither does one on a fast disk."""
    book = Notebook()
    fleet = Fleet({"files": plain}, watcher=book)
    async with fleet.host as host:
        await until(lambda: len(book.written) == 1)
        book.free.clear()
        slot = host.slots["files"]
        for _ in range(100):
            host.note_check("files", 1.0, None)
            await asyncio.sleep(0)
        book.free.set()
        await until(lambda: len(book.written) == 2)
        for _ in range(100):
            host.note_check("files", 1.0, None)
            await asyncio.sleep(0)
        await until(lambda: len(book.written) == 3)
        assert slot.gauge.seen is not None
    assert len(book.written) == 4
    assert book.written[-1][1]


async def test_servers_that_come_up_one_after_the_other_are_written_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each writing looks at the memory of every process of the machine."""
    monkeypatch.setattr(watching, "TOGETHER_S", 60.0)
    book = Notebook()
    async with Fleet({"files": plain}, watcher=book).host as host:
        await until(lambda: len(book.written) == 1)
        for number in range(3):
            await host.add_spec(msgspec.structs.replace(host.slots["files"].spec, name=f"more{number}"))
            await asyncio.sleep(0)
        assert len(book.written) == 1
    assert [(row.server, closing) for row, closing in book.written[1:]] == [(name, True) for name in ("files", "more0", "more1", "more2")]


async def test_rows_are_written_anew_by_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their age says whether the process behind them still works."""
    monkeypatch.setattr(watching, "REFRESH_S", 0.01)
    monkeypatch.setattr(watching, "COUNTED_S", 0.01)
    book = Notebook()
    async with Fleet({"files": plain}, watcher=book).host:
        await until(lambda: len(book.of("files")) >= 4)


async def test_counts_are_written_soon_and_only_where_they_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """`status` lags by seconds, and a server that nobody calls costs no writing."""
    monkeypatch.setattr(watching, "COUNTED_S", 0.01)
    book = Notebook()
    async with Fleet({"files": plain, "quiet": plain}, watcher=book).host as host:
        await until(lambda: len(book.written) == 2)
        tool = next(tool.full_name for tool in await host.tools() if tool.full_name.startswith("files."))
        for calls in (1, 2, 3):
            await host.call(tool, {})
            await until(lambda calls=calls: book.of("files")[-1].calls == calls)  # type: ignore[misc]
        assert len(book.of("quiet")) == 1
        assert len(book.of("files")) == 4


async def test_removed_server_gets_its_last_words() -> None:
    """Else its row would look alive as long as the program does."""
    book = Notebook()
    async with Fleet({"files": plain}, watcher=book).host as host:
        await until(lambda: bool(book.written))
        await host.remove("files")
        await until(lambda: book.written[-1][1])
        count = len(book.written)
    assert len(book.written) == count


async def test_what_cannot_be_written_costs_nothing() -> None:
    """No connection and no close."""
    book = Notebook()
    book.fails = True
    async with Fleet({"files": plain}, watcher=book).host as host:
        await until(lambda: bool(book.written))
        assert host.slots["files"].state == "ready"
