"""Questions on a real (pseudo) terminal: shown in words, answered there, whatever stdin and stdout are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .calling import configured, endings, nobody_left_in, records
from .program import LEGACY, Terminal

DELETE = ("h.delete_notes", 'ids=["n1", "n3"]')


@pytest.fixture
def config(tmp_path: Path) -> str:
    return str(configured(tmp_path, LEGACY))


def test_a_yes_runs_the_call_and_is_written_down(config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: L2 is approved by a person who sees it in words, item by item."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        assert "L2: Delete notes: n1, n3 (server h, tool delete_notes)" in terminal.seen
        assert "  ids: 2 items\n    - n1\n    - n3\n" in terminal.seen
        terminal.type("y")
        assert terminal.end() == 0
    assert "deleted: buy rope, pay the pilot" in terminal.seen
    (sent,) = [record for record in records(dragoman_home) if record.event == "sending"]
    assert sent.detail["how"] == "terminal"


@pytest.mark.parametrize("answer", ["", "n", "yesss", "yes please"])
def test_anything_but_yes_is_a_no(answer: str, config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: default deny."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.type(answer)
        assert terminal.end() == 3
    assert endings(dragoman_home) == [("delete_notes", "denied")]


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "end of file"])
def test_ctrl_c_and_end_of_file_are_a_no(key: str, config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: and the call ends in order."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.press(key)
        assert terminal.end() == 3
    assert "h.delete_notes was not approved" in terminal.seen
    assert endings(dragoman_home) == [("delete_notes", "denied")]
    assert nobody_left_in(tmp_path)


def test_a_question_that_nobody_answers_expires(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: own deadline; the call is not sent."""
    config = configured(tmp_path, LEGACY, policy="[policy]\napproval_timeout_s = 0.5")
    with Terminal("--config", str(config), "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        assert terminal.end() == 3
    assert "nobody approved h.delete_notes within 0.5 s" in terminal.seen
    assert endings(dragoman_home) == [("delete_notes", "expired")]


def test_the_question_is_asked_with_stdin_and_stdout_in_a_pipe(config: str, tmp_path: Path) -> None:
    """Our contract: it is read from /dev/tty."""
    inner = f'echo \'{{"ids": ["n1"]}}\' | {LEGACY[0]} -m dragoman --config {config} call h.delete_notes --args - | cat > out.txt'
    with Terminal("-c", inner, cwd=tmp_path, program=["/bin/sh"]) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.type("yes")
        assert terminal.end() == 0
    assert (tmp_path / "out.txt").read_text() == "deleted: buy rope\n"


def test_ctrl_c_in_a_call_stops_the_server_and_is_130(config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: after the question has been answered Ctrl-C means the command again."""
    with Terminal("--config", config, "call", "--trace", "h.slow", "seconds=60", cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.type("y")
        terminal.expect('"method":"tools/call"')
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "interrupted" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert nobody_left_in(tmp_path)
    assert endings(dragoman_home) == [("slow", "cancelled")]


def test_what_a_server_wrote_cannot_steer_the_question(tmp_path: Path) -> None:
    """Our contract: arguments are escaped in the question too."""
    config = str(configured(tmp_path, LEGACY))
    with Terminal("--config", config, "call", "h.add_note", "text=\x1b[2Ja\u202eb", cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        assert "\\x1b[2Ja\\u202eb" in terminal.seen
        assert "\x1b[2J" not in terminal.seen
        terminal.type("n")
        assert terminal.end() == 3


def test_progress_is_one_line_that_goes_away(config: str, tmp_path: Path) -> None:
    """Our contract: progress on stderr when it is a terminal."""
    with Terminal("--config", config, "call", "--yes", "h.count", "to=5", cwd=tmp_path) as terminal:
        assert terminal.end() == 0
    assert "\r\x1b[K3/5 3 of 5" in terminal.seen
    assert "\r\x1b[K1 2 3 4 5\n" in terminal.seen
