"""What a server says on the side: in its log line by line, at the logger of its name, at the program's own callback."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman import Host, LogMessage
from dragoman.service import voices
from dragoman.service.voices import RATE, Voice
from dragoman.transports.logfile import LogFile
from tests.runtime.fakes import until
from tests.service.hosting import configured, demo, server

WARNING = {"level": "warning", "logger": "db", "data": "hunter2 \x1b[2J\nlost"}


class Heard:
    """A voice, and the file it writes."""

    def __init__(self, folder: Path, on_log: voices.OnLog | None = None) -> None:
        self.path = folder / "files.log"
        self.voice = Voice("files", LogFile(self.path), lambda text: text.replace("hunter2", "***"), on_log)

    @property
    def lines(self) -> list[list[str]]:
        """The lines of the log without their times, in their parts."""
        text = self.path.read_text() if self.path.exists() else ""
        return [line.split("\t")[1:] for line in text.splitlines()]


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What the logger of the server gets, of every level."""
    caplog.set_level(logging.DEBUG, "dragoman.server.files")
    return caplog


def test_message_is_written_logged_and_handed_on(tmp_path: Path, told: pytest.LogCaptureFixture) -> None:
    """What it says is escaped; secrets do not reach the logger; the program gets it as it came, with the name of who spoke."""
    seen: list[LogMessage] = []
    heard = Heard(tmp_path, seen.append)
    heard.voice.heard(WARNING)
    heard.voice.heard({"level": "debug", "logger": "a\tb", "data": {"n": 1}})
    heard.voice.close()
    assert heard.lines == [["message", "warning", "db", "hunter2 \\x1b[2J\\nlost"], ["message", "debug", "a\\tb", '{"n": 1}']]
    record = told.records[0]
    assert (record.name, record.levelno) == ("dragoman.server.files", logging.WARNING)
    assert record.getMessage() == "[warning] db: *** \\x1b[2J\\nlost"
    assert seen[0] == LogMessage(server="files", level="warning", logger="db", data=WARNING["data"])


async def test_message_is_not_glued_to_a_line_that_is_not_finished(tmp_path: Path, told: pytest.LogCaptureFixture) -> None:
    """Two channels: what comes between two halves of a line stands before it, and the line is whole."""
    heard = Heard(tmp_path)
    heard.voice.stderr(b"one\r\nhunter2 half a ")
    heard.voice.heard({"level": "info", "data": "between"})
    heard.voice.stderr(b"line\nrest")
    heard.voice.close()
    stderr = [["stderr", "one"], ["stderr", "hunter2 half a line"], ["stderr", "rest"]]
    assert heard.lines == [stderr[0], ["message", "info", "", "between"], *stderr[1:]]
    records = [(record.levelname, record.getMessage()) for record in told.records]
    assert records == [("INFO", "one"), ("INFO", "[info] between"), ("INFO", "*** half a line"), ("INFO", "rest")]


async def test_line_without_an_end_is_written_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that waits behind `Password: ` is found by who looks into its log."""
    monkeypatch.setattr(voices, "UNFINISHED_S", 0.01)
    monkeypatch.setattr(voices, "LONGEST_BYTES", 100)
    heard = Heard(tmp_path)
    heard.voice.stderr(b"Password: ")
    await until(lambda: heard.lines == [["stderr", "Password: "]])
    heard.voice.stderr(b"x" * 100)
    assert heard.lines[1] == ["stderr", "x" * 100]
    heard.voice.close()
    assert len(heard.lines) == 2


def test_flood_is_counted_and_the_callback_still_hears_all(tmp_path: Path, told: pytest.LogCaptureFixture) -> None:
    """A bounded rate of messages for the disk, and of lines for the logger; the callback has a queue of its own."""
    seen: list[LogMessage] = []
    heard = Heard(tmp_path, seen.append)
    for number in range(10 * RATE):
        heard.voice.heard({"level": "debug", "data": {"number": number}})
    assert len(heard.lines) < 5 * RATE
    assert len(seen) == 10 * RATE
    told.clear()
    heard.voice.stderr(b"spam\n" * 10 * RATE)
    assert len(told.records) < 5 * RATE
    assert heard.lines.count(["stderr", "spam"]) == 10 * RATE


def test_logger_that_nobody_listens_to_costs_no_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What is taken apart line by line is taken apart for the logger alone."""
    caplog.set_level(logging.WARNING, "dragoman.server.files")

    def redact(text: str) -> str:
        raise AssertionError("nobody wants it")

    Voice("files", LogFile(tmp_path / "files.log"), redact, None).stderr(b"one\ntwo\n")
    assert caplog.records == []


def test_log_that_cannot_be_written_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """And costs no connection; the logger and the callback go on."""
    seen: list[LogMessage] = []
    heard = Heard(tmp_path, seen.append)
    os.mkfifo(heard.path)
    heard.voice.heard({"level": "debug", "data": "a"})
    heard.voice.stderr(b"b\n")
    (record,) = caplog.records
    assert record.getMessage().startswith("what files says is no longer written to its log: ")
    assert len(seen) == 1


async def test_host_says_which_server_spoke(tmp_path: Path) -> None:
    """One callback for all servers, and one of its own for one that was added; it may be async."""
    seen: dict[str, list[LogMessage]] = {"host": [], "own": []}

    async def of_the_host(message: LogMessage) -> None:
        seen["host"].append(message)

    path = configured(tmp_path, server("one", demo("legacy")), server("two", demo("legacy")))
    async with Host.from_config(path, on_log=of_the_host) as host:
        own: Any = {"command": demo("legacy"), "tools": {"*": "L0"}}
        await host.add("three", **own)
        await host.add("four", **own, on_log=seen["own"].append)
        names = ("one", "two", "three", "four")
        for slot in (host.slots[name] for name in names):
            assert slot.client is not None
            await slot.client.set_log_level("debug")
        await asyncio.gather(*(host.call(f"{name}.count", {"to": 1}) for name in names))
        await until(lambda: len(seen["host"]) >= 3 and len(seen["own"]) >= 1)
    assert sorted({message.server for message in seen["host"]}) == ["one", "three", "two"]
    assert {message.server for message in seen["own"]} == {"four"}
