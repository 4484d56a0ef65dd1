"""The line that says how far a call is."""

from __future__ import annotations

import io
import sys

import pytest

from dragoman.cli.options import Settings
from dragoman.cli.progress import ProgressLine
from dragoman.runtime.progress import Progress


class Screen(io.StringIO):
    """A terminal, as far as the line can tell."""

    def isatty(self) -> bool:
        return True


def step(number: float, message: str = "rowing") -> Progress:
    return Progress(progress=number, total=9, message=message)


def looked_at(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """In the place of stderr; not as a fixture, because pytest puts its own there between the fixtures and the test."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_line_is_written_over_and_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server says in it is escaped and cut."""
    screen, line = looked_at(monkeypatch), ProgressLine(Settings())
    line.show(step(1))
    line.show(step(2, "\x1b[2J" + "x" * 100))
    line.clear()
    line.clear()
    first, second, *rest = screen.getvalue().split("\r\x1b[K")[1:]
    assert first == "1/9 rowing"
    assert second.startswith("2/9 \\x1b[2Jxxx")
    assert len(second) == 70
    assert rest == [""]


def test_line_is_away_while_a_person_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken away before, and no step is shown until the last question is closed."""
    screen, line = looked_at(monkeypatch), ProgressLine(Settings())
    line.show(step(1))
    with line.away():
        with line.away():
            line.show(step(2))
        line.show(step(3))
    line.show(step(4))
    assert screen.getvalue() == "\r\x1b[K1/9 rowing\r\x1b[K\r\x1b[K4/9 rowing"


@pytest.mark.parametrize("setting", ["json", "trace"])
def test_line_is_not_shown_where_it_would_be_in_the_way(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside JSON and between the lines of a trace."""
    screen, settings = looked_at(monkeypatch), Settings()
    setattr(settings, setting, True)
    ProgressLine(settings).show(step(1))
    assert screen.getvalue() == ""
