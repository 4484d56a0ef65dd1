"""``logs``: the last lines, escaped and redacted, and following through rotation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.transports.logfile import LogFile

from .program import LEGACY, Terminal, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose configuration has a server ``h`` and one that is reached by URL."""
    text = f'[servers.h]\ncommand = ["{LEGACY[0]}"]\n[servers.far]\nurl = "http://127.0.0.1:9/mcp"\n'
    (tmp_path / "dragoman.toml").write_text(text)
    return tmp_path


def test_the_last_lines_come_escaped_and_without_secrets(folder: Path, dragoman_home: Path) -> None:
    """What a server writes on stderr is as hostile as its results, and may hold what it was given."""
    log = LogFile(dragoman_home / "logs" / "h.log")
    log.write(b"one\r\ntwo \x1b[2J\nGITHUB_TOKEN=ghp_abcdefghijklmnopqrstuvwx\nbad \xff byte\nunfinished")
    log.close()
    done = run("logs", "h", "-n", "4", cwd=folder)
    assert done.code == 0
    assert done.out.splitlines()[0] == "two \\x1b[2J"
    assert "ghp_" not in done.out
    assert done.out.splitlines()[-1] == "unfinished"
    assert run("logs", "h", "--json", cwd=folder).json["lines"][0] == "one"


def test_a_log_that_was_just_rotated_is_completed_from_the_older_file(folder: Path, dragoman_home: Path) -> None:
    """The last N lines are the last N lines, wherever they lie."""
    log = LogFile(dragoman_home / "logs" / "h.log", max_bytes=20)
    for n in range(6):
        log.write(f"line {n}\n".encode())
    log.close()
    assert run("logs", "h", "-n", "3", cwd=folder).out.splitlines() == ["line 3", "line 4", "line 5"]


@pytest.mark.slow
def test_following_goes_on_through_a_rotation(folder: Path, dragoman_home: Path) -> None:
    """Every line once, in order; Ctrl-C ends it."""
    log = LogFile(dragoman_home / "logs" / "h.log", max_bytes=40)
    log.write(b"before\n")
    with Terminal("logs", "h", "-f", cwd=folder) as terminal:
        terminal.expect("before\n")
        for n in range(12):
            log.write(f"line number {n}\n".encode())
            terminal.expect(f"line number {n}\n")
        terminal.interrupt()
        assert terminal.end() == 130
    log.close()
    assert [line for line in terminal.seen.splitlines() if line.startswith("line")] == [f"line number {n}" for n in range(12)]


@pytest.mark.parametrize(
    ("name", "says"), [("far", "reached by URL"), ("hh", "did you mean h?"), ("../h", "there is no server ../h"), ("h", "written nothing")]
)
def test_where_there_is_no_log_it_says_why(name: str, says: str, folder: Path) -> None:
    """Exit 2 for a wrong name, 0 for a server that was silent so far."""
    done = run("logs", name, cwd=folder)
    assert done.code == (0 if name == "h" else 2)
    assert says in done.err
    assert done.out == ""


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_is_no_plain_file_is_named_and_does_not_hang(kind: str, folder: Path, dragoman_home: Path) -> None:
    """A FIFO would never open, and a device never end."""
    for name in ("h.log", "h.log.1"):
        path = dragoman_home / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
    done = run("logs", "h", cwd=folder)
    assert done.code == 2
    assert "h.log: cannot be read: it is no plain file" in done.err
    (dragoman_home / "logs" / "h.log").unlink()
    assert run("logs", "h", cwd=folder).out == ""
