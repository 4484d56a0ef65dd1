"""Ctrl-C on a terminal: once is graceful, twice is now; no server is left either way."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from dragoman.cli.running import SAME_WISH_S
from tests.cli.calling import endings, nobody_left_in
from tests.cli.program import Terminal, server


def test_once_ends_in_good_order(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: 130, the call is written down as cancelled, the server gets the end of its input."""
    with Terminal("call", "--trace", "--on", " ".join(server("hangs_in_call")), "echo", "text=x", cwd=tmp_path) as terminal:
        terminal.expect('"method":"tools/call"')
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
    assert endings(dragoman_home) == [("echo", "cancelled")]
    assert nobody_left_in(tmp_path)


def test_while_servers_are_checked_it_says_no_more_than_that(tmp_path: Path) -> None:
    """What a start that was cut short ends with is nobody's news."""
    config = tmp_path / "servers.toml"
    config.write_text(f"[servers.mute]\ncommand = {json.dumps(server('hangs'))}\n")
    with Terminal("status", "--check", "--trace", "--config", str(config), cwd=tmp_path) as terminal:
        terminal.expect('"method":')
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "interrupted" in terminal.seen
    assert "never retrieved" not in terminal.seen


def test_while_the_program_is_loaded_it_ends_without_a_traceback(tmp_path: Path) -> None:
    """Python's own answer is a page about the module that was being read."""
    (tmp_path / "click.py").write_text("print('loading', flush=True)\nimport time\ntime.sleep(60)\n")  # the first that takes long
    with Terminal("status", cwd=tmp_path, PYTHONPATH=str(tmp_path)) as terminal:
        terminal.expect("loading")
        terminal.press("\x03")
        assert terminal.end() == -signal.SIGINT
    assert "Traceback" not in terminal.seen


@pytest.mark.slow
def test_twice_is_now(tmp_path: Path) -> None:
    """The first waits for a server that ignores the end of its input; the second has it killed, without the steps between."""
    signalled = tmp_path / "signalled"
    words = [*server("hangs_in_call"), str(signalled)]
    with Terminal("call", "--trace", "--on", " ".join(words), "echo", "text=x", cwd=tmp_path) as terminal:
        terminal.expect('"method":"tools/call"')
        terminal.press("\x03")
        time.sleep(SAME_WISH_S + 0.1)  # what comes sooner is the same wish: keys bounce
        assert terminal.running, "it did not wait for its server, so there is nothing to cut short"
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
    assert nobody_left_in(tmp_path)
    assert not signalled.exists(), "SIGTERM comes after two seconds of waiting"
