"""Log messages of a server: in its log, at the logger of its name, at the program's own callback."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dragoman.service.voices import RATE, Voice


def test_message_is_written_logged_and_handed_on(caplog: pytest.LogCaptureFixture) -> None:
    """What it says is escaped; secrets do not reach the logger."""
    written: list[bytes] = []
    seen: list[Any] = []
    params = {"level": "warning", "logger": "db", "data": "hunter2 \x1b[2J\nlost"}
    Voice("files", written.append, lambda text: text.replace("hunter2", "***"), seen.append).heard(params)
    assert b"".join(written) == b"[warning] db: hunter2 \\x1b[2J\\nlost\n"
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("dragoman.server.files", logging.WARNING)
    assert record.getMessage() == "[warning] db: *** \\x1b[2J\\nlost"
    assert seen == [params]


def test_flood_is_counted_and_the_callback_still_hears_all() -> None:
    """A bounded rate for the disk; the callback has a queue of its own."""
    written: list[bytes] = []
    seen: list[Any] = []
    voice = Voice("files", written.append, str, seen.append)
    for number in range(10 * RATE):
        voice.heard({"level": "debug", "data": {"number": number}})
    assert len(written) < 5 * RATE
    assert len(seen) == 10 * RATE


def test_full_disk_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """And costs no connection."""

    def full(data: bytes) -> None:
        raise OSError("no space left")

    voice = Voice("files", full, str, None)
    voice.heard({"level": "debug", "data": "a"})
    voice.heard({"level": "debug", "data": "b"})
    assert [record.getMessage() for record in caplog.records] == ["messages of files are no longer written to its log: no space left"]
