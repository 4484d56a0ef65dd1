"""The log of a server's stderr: private, bounded, shared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.transports.logfile import LogFile


def test_file_and_folder_are_private(tmp_path: Path) -> None:
    """Servers print tokens. An existing file is made private too, whatever the umask was."""
    (tmp_path / "open.log").touch(mode=0o666)
    for name in ("open.log", "logs/new.log"):
        log = LogFile(tmp_path / name)
        log.write(b"x")
        log.close()
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logs").stat().st_mode & 0o777 == 0o700


def test_full_file_is_rotated_and_the_oldest_is_dropped(tmp_path: Path) -> None:
    """At most ``backups`` old files are kept."""
    log = LogFile(tmp_path / "a", max_bytes=10, backups=2)
    for letter in b"abcdefg":
        log.write(bytes([letter]) * 6)
    log.close()
    assert {path.name: path.read_bytes()[:1] for path in tmp_path.iterdir()} == {"a": b"g", "a.1": b"f", "a.2": b"e"}


def test_no_backups_starts_over_in_place(tmp_path: Path) -> None:
    """0 keeps one file."""
    log = LogFile(tmp_path / "a", max_bytes=10, backups=0)
    log.write(b"a" * 8)
    log.write(b"b" * 8)
    log.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"b" * 8}


def test_two_processes_rotate_once(tmp_path: Path) -> None:
    """The second writer notices that the file was rotated under it and goes on in the new one."""
    one, other = LogFile(tmp_path / "a", max_bytes=10), LogFile(tmp_path / "a", max_bytes=10)
    other.write(b"o" * 4)
    one.write(b"1" * 6)
    one.write(b"2" * 6)
    other.write(b"p" * 4)
    assert (tmp_path / "a").read_bytes() == b"2" * 6 + b"p" * 4
    assert (tmp_path / "a.1").read_bytes() == b"o" * 4 + b"1" * 6
    one.close()
    other.close()


def test_link_in_the_place_of_the_log_is_not_followed(tmp_path: Path) -> None:
    """What a server prints must not end in a file of somebody else's choosing."""
    (tmp_path / "a").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic"):
        LogFile(tmp_path / "a").write(b"x")
    assert os.listdir(tmp_path) == ["a"]


def test_closed_log_opens_again(tmp_path: Path) -> None:
    """A restarted server writes on in the same file."""
    log = LogFile(tmp_path / "a")
    for part in (b"a", b"b"):
        log.write(part)
        log.close()
        log.close()
    assert (tmp_path / "a").read_bytes() == b"ab"


def test_fifo_in_the_place_of_the_log_is_refused_without_waiting_for_a_reader(tmp_path: Path) -> None:
    """The server's stderr would wait for ever, and the event loop with it."""
    os.mkfifo(tmp_path / "a")
    log = LogFile(tmp_path / "a")
    with pytest.raises(OSError, match="No such device"):
        log.write(b"x")
    reader = os.open(tmp_path / "a", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="no plain file"):
        log.write(b"x")
    os.close(reader)
