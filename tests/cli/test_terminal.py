"""Questions on a real (pseudo) terminal: shown in words, answered there, whatever stdin and stdout are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .calling import configured, endings, nobody_left_in, records
from .program import LEGACY, Terminal, run

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


def test_end_of_file_is_a_no(config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: and the call ends in order."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.press("\x04")
        assert terminal.end() == 3
    assert "h.delete_notes was not approved" in terminal.seen
    assert endings(dragoman_home) == [("delete_notes", "denied")]
    assert nobody_left_in(tmp_path)


def test_ctrl_c_at_the_question_ends_the_command_and_nothing_was_sent(config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: exit code 130 means Ctrl-C everywhere; nobody said no, so the audit says cancelled."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "no answer: not approved" in terminal.seen
    assert endings(dragoman_home) == [("delete_notes", "cancelled")]
    assert not [record for record in records(dragoman_home) if record.event == "sending"]
    assert nobody_left_in(tmp_path)


def test_a_long_argument_can_be_seen_whole_before_it_is_approved(config: str, tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: what is cut says how long it is and how to see it; looking is no answer, and the rest of what was typed is none."""
    long = "word " * 200 + "\n\x1b[2Jthe end"
    with Terminal("--config", config, "call", "h.add_note", f"text={long}", cwd=tmp_path, columns=60) as terminal:
        terminal.expect("Approve? [y/N/v]")
        assert "characters in all)" in " ".join(terminal.seen.split())
        assert "v shows all of it" in terminal.seen
        assert "the end" not in terminal.seen
        question, terminal.seen = terminal.seen.partition("Approve?")[0], ""
        terminal.type("v")
        terminal.expect("Approve? [y/N/v]")
        assert "  | \\x1b[2Jthe end\n" in terminal.seen
        assert "\x1b[2J" not in terminal.seen
        terminal.type("y")
        assert terminal.end() == 0
    assert all(len(line) <= 60 for line in question.splitlines())
    assert "wor\n" not in question
    assert endings(dragoman_home) == [("add_note", "ok")]


def test_a_short_question_offers_no_more_to_see(config: str, tmp_path: Path) -> None:
    """Our choice: no key that does nothing."""
    with Terminal("--config", config, "call", *DELETE, cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N] (")
        assert "v shows" not in terminal.seen
        terminal.type("n")
        assert terminal.end() == 3


def test_no_value_can_look_like_the_next_argument(config: str, tmp_path: Path) -> None:
    """An attack: filling up a line so that what follows stands at the beginning of the next one."""
    with Terminal("--config", config, "call", "h.add_note", f"text={'x' * 32}\u00a0ids:\u00a0none", cwd=tmp_path, columns=40) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.type("n")
        assert terminal.end() == 3
    assert [line for line in terminal.seen.splitlines() if "ids:" in line and not line.startswith("      ")] == [], terminal.seen


def test_errors_and_hints_are_folded_at_spaces_on_a_terminal_alone(config: str, tmp_path: Path) -> None:
    """Our contract: never inside a word; in a pipe a message stays on its line."""
    words = ("--config", config, "call", "h.add_note", "texxt=1")
    with Terminal(*words, "--yes", cwd=tmp_path, columns=40) as terminal:
        assert terminal.end() == 3
    assert max(map(len, terminal.seen.splitlines())) <= 40
    assert " ".join(run(*words, "--yes", cwd=tmp_path).err.split()) == " ".join(terminal.seen.split())


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
