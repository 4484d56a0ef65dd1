"""What is told, to whom, and how often."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest

from dragoman.clock import FakeClock
from dragoman.runtime.alerts import AlertBook
from dragoman.wire.alerts import Alert, AlertKind
from tests.runtime.fakes import until


def alert(kind: str = "server down", server: str = "files", text: str = "files is down") -> Alert:
    return Alert(kind=cast(AlertKind, kind), server=server, text=text, at=1.0)


class Teller:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Alert] = []
        self.closed = False

    def __call__(self, alert: Alert) -> None:
        self.told.append(alert)

    async def close(self, timeout_s: float) -> None:
        self.closed = True


async def test_alert_is_one_warning_and_reaches_everybody(caplog: pytest.LogCaptureFixture) -> None:
    """Our choice: never silent; what a server wrote into it is escaped, secrets are taken out."""
    seen: list[Alert] = []
    teller = Teller()
    book = AlertBook(seen.append, tellers=[teller], redact=lambda text: text.replace("hunter2", "***"))
    book(alert(text="files said \x1b[2J hunter2"))
    await book.close(1.0)
    (record,) = caplog.records
    assert (record.name, record.levelno, record.getMessage()) == ("dragoman", logging.WARNING, "files said \\x1b[2J ***")
    assert [found.text for found in seen] == [found.text for found in teller.told] == ["files said \\x1b[2J ***"]
    assert teller.closed


async def test_what_repeats_within_a_minute_is_told_once_at_its_end_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Our choice: a server that flaps floods nobody, and its last word is heard all the same."""
    clock = FakeClock()
    teller = Teller()
    book = AlertBook(tellers=[teller], clock=clock, quiet_s=0.05)
    for number in range(4):
        book(alert(text=f"down {number}"))
    assert [found.text for found in teller.told] == ["down 0"]
    await until(lambda: len(teller.told) == 2)
    assert teller.told[1].text == "down 3 (2 more like this since the last one)"
    await book.close(1.0)
    assert len(teller.told) == len(caplog.records) == 2


async def test_other_servers_and_other_kinds_are_told_at_once() -> None:
    """Our choice: "the same" is the same kind of the same server."""
    teller = Teller()
    book = AlertBook(tellers=[teller])
    for one in (alert(), alert("server up"), alert(server="shop"), alert("breaker open")):
        book(one)
    assert len(teller.told) == 4
    await book.close(1.0)
    assert len(teller.told) == 4


async def test_after_the_minute_the_same_alert_is_told_again() -> None:
    """Our choice."""
    clock = FakeClock()
    teller = Teller()
    book = AlertBook(tellers=[teller], clock=clock)
    book(alert())
    clock.advance(60.0)
    book(alert())
    assert [found.text for found in teller.told] == ["files is down"] * 2
    await book.close(1.0)


async def test_closing_tells_what_waits() -> None:
    """Never silent: the program may end within the minute."""
    teller = Teller()
    book = AlertBook(tellers=[teller])
    book(alert(text="one"))
    book(alert(text="two"))
    await book.close(1.0)
    assert [found.text for found in teller.told] == ["one", "two"]


async def test_alerts_of_many_servers_are_remembered_in_bounds() -> None:
    """A host may add and remove servers for ever; what waited is told before it is forgotten."""
    teller = Teller()
    book = AlertBook(tellers=[teller])
    book(alert(server="first"))
    book(alert(server="first", text="again"))
    for number in range(1100):
        book(alert(server=f"s{number}"))
    assert len(book._told) == 1000
    assert [found.text for found in teller.told if found.server == "first"] == ["files is down", "again"]
    await book.close(1.0)


@pytest.mark.parametrize("is_async", [False, True])
async def test_callback_that_raises_is_logged_and_harms_nobody(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    """A program's own fault must not end a supervisor."""

    def fails(one: Alert) -> Any:
        raise ValueError("my fault")

    async def fails_later(one: Alert) -> None:
        await asyncio.sleep(0)
        raise ValueError("my fault")

    book = AlertBook(fails_later if is_async else fails)
    book(alert())
    await book.close(1.0)
    assert [record.getMessage() for record in caplog.records] == ["files is down", "on_alert failed"]
    assert "my fault" in (caplog.records[1].exc_text or "")


async def test_callback_that_never_ends_does_not_hold_up_the_close(caplog: pytest.LogCaptureFixture) -> None:
    """Bounded, and said."""
    started = asyncio.Event()

    async def hangs(one: Alert) -> None:
        started.set()
        await asyncio.Event().wait()

    book = AlertBook(hangs)
    book(alert())
    await started.wait()
    async with asyncio.timeout(10):
        await book.close(0.01)
    assert "did not end within 0.01 s" in caplog.text


def test_without_a_loop_an_alert_is_logged_and_repeats_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A sink may be called while no loop runs: what cannot be awaited is said."""
    seen: list[Alert] = []
    book = AlertBook(seen.append)
    book(alert())
    book(alert())
    assert len(seen) == 1

    class Later:
        def __await__(self) -> Any:
            yield

    AlertBook(lambda one: Later())(alert(text="x"))
    assert "no event loop runs here" in caplog.text
