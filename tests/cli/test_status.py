"""``status`` and ``restart``: what the store remembers, and what a connection finds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dragoman.cli.status import age

from .program import LEGACY, MODERN, Terminal, run, server


def config(folder: Path, more: str = "", **commands: list[str]) -> Path:
    """A file that is named, so that nothing in it needs approval."""
    file = folder / "servers.toml"
    file.write_text("".join(f"[servers.{name}]\ncommand = {json.dumps(command)}\n" for name, command in commands.items()) + more)
    return file


def test_status_starts_nothing_and_check_connects_side_by_side(tmp_path: Path) -> None:
    """DESIGN: `status` reads the store at once; `--check` connects, writes health, and exits 1 if a server is down."""
    file = config(tmp_path, h=LEGACY, m=MODERN, gone=["no-such-program-anywhere"], proof=[sys.executable, "-c", "open('started', 'w')"])
    first = run("--config", str(file), "status", "--json", cwd=tmp_path)
    assert first.code == 0
    assert [entry["state"] for entry in first.json["servers"]] == ["never started"] * 4
    assert first.json["servers"][0] == {"name": "h", "state": "never started", "era": None, "tools": [], "last_check": None}
    assert not (tmp_path / "started").exists()
    checked = run("--config", str(file), "status", "--check", "--json", cwd=tmp_path)
    assert checked.code == 1
    assert (tmp_path / "started").exists()
    later = run("--config", str(file), "status", "--json", cwd=tmp_path)
    assert later.code == 0
    by_name = {entry["name"]: entry for entry in later.json["servers"]}
    assert (by_name["h"]["era"], by_name["m"]["era"]) == ("legacy", "modern")
    assert {"name": "search", "tier": "L2", "held": False} in by_name["h"]["tools"]
    assert set(by_name["h"]["last_check"]) == {"at", "ok", "ms", "error"}
    assert by_name["h"]["last_check"]["ok"] is True
    assert by_name["gone"]["state"] == "failed"
    assert "no-such-program-anywhere" in by_name["gone"]["last_check"]["error"]


def test_status_for_a_person_groups_tools_by_tier_and_says_what_to_do(tmp_path: Path) -> None:
    """One block per server; a failed one names its error and the next command."""
    more = 'enabled = false\n[servers.h.tools]\nsearch = "L0"\n"*_note" = "L1"\n'
    file = config(tmp_path, more, h=LEGACY, gone=["no-such-program-anywhere"], off=LEGACY)
    assert run("--config", str(file), "status", "--check", cwd=tmp_path).code == 1
    shown = run("--config", str(file), "status", cwd=tmp_path).out
    assert "  L0   search\n" in shown
    assert "  L1   add_note\n" in shown
    assert "no-such-program-anywhere" in shown
    assert "hint: dragoman logs gone" in shown
    assert "hint: dragoman enable off" in shown


def test_status_without_any_configuration_says_how_to_begin(tmp_path: Path) -> None:
    """Exit 0: nothing is wrong; stdout stays for data."""
    done = run("status", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert "dragoman add" in done.err
    assert run("status", "--json", cwd=tmp_path).json == {"servers": []}


def test_status_fits_the_terminal_it_is_shown_on(tmp_path: Path) -> None:
    """Wrapped at 80 columns, with other scripts and names of 200 characters."""
    file = config(tmp_path, names=server("tool_names"))
    assert run("--config", str(file), "status", "--check", cwd=tmp_path).code == 0
    with Terminal("--config", str(file), "status", cwd=tmp_path, columns=80) as terminal:
        assert terminal.end() == 0
    assert "读取" in terminal.seen
    assert max(len(line) for line in terminal.seen.splitlines()) <= 80


def test_restart_says_honestly_what_it_did(tmp_path: Path) -> None:
    """No process is kept between commands: exit 0 if it answers, 4 if it does not, 2 if there is no such server."""
    file = config(tmp_path, h=LEGACY, gone=["no-such-program-anywhere"])
    fine = run("--config", str(file), "restart", "h", cwd=tmp_path)
    assert fine.code == 0
    assert "h answers" in fine.out
    assert "no server is kept running" in fine.err
    assert run("--config", str(file), "restart", "gone", cwd=tmp_path).code == 4
    unknown = run("--config", str(file), "restart", "gon", cwd=tmp_path)
    assert unknown.code == 2
    assert "did you mean gone?" in unknown.err


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "just now"), (5, "5 s ago"), (150, "2 min ago"), (10_800, "3 h ago"), (260_000, "3 days ago")]
)
def test_ages_are_told_in_one_unit(seconds: float, words: str) -> None:
    """A person wants the order of magnitude."""
    assert age(seconds) == words
