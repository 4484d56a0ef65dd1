"""``logs``: the last lines, escaped and redacted, and following through rotation."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman import Host
from dragoman.transports.logfile import LogFile

from .calling import configured
from .program import LEGACY, PATIENCE_S, SERVERS, Terminal, run


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
    first = json.loads(run("logs", "h", "--json", cwd=folder).out.splitlines()[0])
    assert first == {"at": None, "source": "stderr", "level": None, "logger": None, "line": "one"}


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
    ("name", "says"), [("far", "reached by URL"), ("hh", "did you mean h?"), ("../h", "there is no server ../h"), ("h", "said nothing")]
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


TALKS = f"""
import sys
sys.path.insert(0, {str(SERVERS)!r})
from _base import *
def on(message):
    if is_call(message):
        for words in ("whole line\\n", "\\x1b[31mhalf a line"):
            sys.stderr.write(words)
            sys.stderr.flush()
        notify("notifications/message", {{"level": "warning", "logger": "db", "data": "lost \\x07 " + argument(message)}})
        notify("notifications/message", {{"level": "info", "data": {{"n": 1}}}})
serve(on)
"""


async def test_second_process_hears_what_a_running_server_says(tmp_path: Path, dragoman_home: Path) -> None:
    """End to end: stderr and log messages, followed while they come, and looked at later; each is a line of its own."""
    (tmp_path / "talks.py").write_text(TALKS)
    config = configured(tmp_path, [sys.executable, "talks.py"], {"echo": "L0"})
    words = (sys.executable, "-m", "dragoman", "--config", str(config), "logs", "h", "--json")
    follower = await asyncio.create_subprocess_exec(*words, "-f", cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
    assert follower.stdout is not None
    said: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(PATIENCE_S):
            async with Host.from_config(config) as host:
                assert (await host.call("h.echo", {"text": "again"})).ok
                while len(said) < 3:  # what was begun is no line yet
                    said.append(json.loads(await follower.stdout.readline()))
            said.append(json.loads(await follower.stdout.readline()))
    finally:
        follower.kill()
        await follower.wait()
    assert all(set(line) == {"at", "source", "level", "logger", "line"} and line["at"].endswith("Z") for line in said)
    stderr = [line["line"] for line in said if line["source"] == "stderr"]
    assert stderr == ["whole line", "\x1b[31mhalf a line"]
    spoken = [(line["level"], line["logger"], line["line"]) for line in said if line["source"] == "message"]
    assert spoken == [("warning", "db", "lost \\x07 again"), ("info", None, '{"n": 1}')]
    again = run("--config", str(config), "logs", "h", "--json", cwd=tmp_path)
    assert [json.loads(line) for line in again.out.splitlines()] == said
    shown = run("--config", str(config), "logs", "h", cwd=tmp_path).out.splitlines()
    assert sorted(shown) == ['[info] {"n": 1}', "[warning] db: lost \\x07 again", "\\x1b[31mhalf a line", "whole line"]
