"""``demo``: as JSON, on a narrow terminal, and never mixed with the user's own servers."""

from __future__ import annotations

from pathlib import Path

from .calling import records
from .program import LEGACY, Terminal, run


def test_as_json_it_is_one_object_with_eras_tools_and_outcomes(tmp_path: Path) -> None:
    """Our contract: ``--json`` everywhere; nothing else is on stdout, and nothing on stderr."""
    done = run("demo", "--yes", "--json", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert (found["ok"], found["unexpected"]) == (True, [])
    assert {one["name"]: one["era"] for one in found["servers"]} == {"harbour": "legacy", "bazaar": "modern"}
    assert {"name": "harbour.search", "model_name": "harbour__search", "tier": "L0"} in found["tools"]
    errors = [call["error"] for call in found["calls"]]
    assert errors == [None, "InvalidArguments", None, None, "ConnectionLost", None, None]
    assert found["audit"]["verified"] is True
    assert found["audit"]["records"] > 10


def test_it_leaves_no_trace_among_the_servers_of_the_user(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: its audit is in the state folder, marked; a server of the user's with the same name was never started."""
    file = tmp_path / "mine.toml"
    file.write_text(f"[servers.harbour]\ncommand = {LEGACY}\n")
    done = run("demo", "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    assert f"written to      {dragoman_home / 'dragoman.db'}" in done.out
    assert {record.principal for record in records(dragoman_home)} == {"demo"}
    (status,) = run("--config", str(file), "status", "--json", cwd=tmp_path).json["servers"]
    assert (status["state"], status["tools"], status["last_check"]) == ("never started", [], None)
    assert sorted(path.name for path in (dragoman_home / "logs").iterdir()) == ["demo.bazaar.log", "demo.harbour.log"]
    (turn,) = {record.turn for record in records(dragoman_home)}
    assert f"dragoman audit tail --turn {turn}" in done.out


def test_it_fits_a_narrow_terminal(tmp_path: Path) -> None:
    """Our choice: folded at spaces; what is longer than a line is a single word."""
    with Terminal("demo", "--yes", cwd=tmp_path, columns=60) as terminal:
        assert terminal.end() == 0
    long = [line for line in terminal.seen.splitlines() if len(line) > 60]
    assert all(len(line.split()) == 1 for line in long), long


def test_ctrl_c_at_its_question_ends_it(tmp_path: Path) -> None:
    """Our contract: 130, as everywhere."""
    with Terminal("demo", cwd=tmp_path) as terminal:
        terminal.expect("Approve? [y/N]")
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen
