"""``status`` and ``restart``: what the store remembers, and what a connection finds."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.cli.status import age, breaker, compact, vitals
from dragoman.service.status import Latency, ServerStatus, StatusReport
from dragoman.store.records import BreakerRow

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
    never: dict[str, object] = {"name": "h", "state": "never started", "era": None, "tools": [], "last_check": None}
    assert never.items() <= first.json["servers"][0].items()
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
    file = config(tmp_path, h=LEGACY, gone=["no-such-program-anywhere"], dies=[sys.executable, "-c", "raise SystemExit('no key')"])
    fine = run("--config", str(file), "restart", "h", cwd=tmp_path)
    assert fine.code == 0
    assert "h answers" in fine.out
    assert "no server is kept running" in fine.err
    assert run("--config", str(file), "restart", "gone", cwd=tmp_path).code == 4
    died = run("--config", str(file), "restart", "dies", cwd=tmp_path)
    assert died.code == 4
    assert "error: dies exited with status 1 before it answered\n" in died.err, "no announcement of last words that do not follow"
    unknown = run("--config", str(file), "restart", "gon", cwd=tmp_path)
    assert unknown.code == 2
    assert "did you mean gone?" in unknown.err


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "just now"), (5, "5 s ago"), (150, "2 min ago"), (10_800, "3 h ago"), (260_000, "3 days ago")]
)
def test_ages_are_told_in_one_unit(seconds: float, words: str) -> None:
    """A person wants the order of magnitude."""
    assert age(seconds) == words


def test_watch_as_json_is_one_object_a_line_until_ctrl_c(tmp_path: Path) -> None:
    """Our contract: streaming commands print an object a line; Ctrl-C ends them with 130."""
    file = config(tmp_path, h=LEGACY)
    with Terminal("--config", str(file), "status", "--watch", "--json", cwd=tmp_path, columns=200) as terminal:
        terminal.expect("never started")
        terminal.expect("}\n")
        terminal.interrupt()
        assert terminal.end() == 130
    first = json.loads(terminal.seen.splitlines()[0])
    assert first["servers"][0]["state"] == "never started"


def test_watch_redraws_within_a_narrow_terminal(tmp_path: Path) -> None:
    """A line per server, cut and not wrapped, so that the next drawing hits the same lines."""
    file = config(tmp_path, "", **{f"server-number-{n}": LEGACY for n in range(12)})
    with Terminal("--config", str(file), "status", "--watch", cwd=tmp_path, columns=40) as terminal:
        terminal.expect("\x1b[J")
        terminal.interrupt()
        assert terminal.end() == 130
    drawn = terminal.seen.split("\x1b[H")[1].split("\x1b[J")[0].replace("\x1b[K", "").splitlines()
    assert len(drawn) == 14
    assert drawn[0].endswith("12 servers, 0 down")
    assert drawn[1].split()[:2] == ["SERVER", "STATE"]
    assert max(len(line) for line in drawn) <= 40


@pytest.mark.parametrize("columns", [40, 80])
def test_thirty_servers_fit_the_terminal(tmp_path: Path, columns: int) -> None:
    """Nothing is wider than the window, and every server is there."""
    file = config(tmp_path, "enabled = false\n", **{f"s{n}": ["no-such-program-anywhere"] for n in range(30)})
    assert run("--config", str(file), "status", "--check", cwd=tmp_path).code == 1
    with Terminal("--config", str(file), "status", cwd=tmp_path, columns=columns) as terminal:
        assert terminal.end() == 0
    lines = terminal.seen.splitlines()
    assert max(len(line) for line in lines) <= columns
    assert [line.split()[0] for line in lines if line and not line.startswith(" ")] == [f"s{n}" for n in range(30)]


def test_head_of_a_server_folds_on_a_narrow_terminal(tmp_path: Path) -> None:
    """The longest name that is allowed beside the longest state."""
    file = config(tmp_path, "", **{name: ["no-such-program-anywhere"] for name in ("n" * 32, "short")})
    with Terminal("--config", str(file), "status", cwd=tmp_path, columns=40) as terminal:
        assert terminal.end() == 0
    lines = terminal.seen.splitlines()
    assert lines[:3] == ["n" * 32, "  never started", "  never checked"]
    assert "short  never started" in lines
    assert max(map(len, lines)) <= 40


def test_counts_are_told_in_words() -> None:
    """What is nought is left out."""
    full = ServerStatus(
        name="files",
        state="ready",
        era="legacy",
        tools=[],
        last_check=None,
        calls=12,
        failures=1,
        latency_ms=Latency(p50=3.14, p99=40.2),
        restarts=1,
        pid=4711,
        memory_bytes=45_000_000,
        breaker=BreakerRow(state="open", failures=10, retry_at=time.time() + 200),
    )
    assert vitals(full) == "12 calls, 1 failed; p50 3.1 ms, p99 40 ms; 1 restart; pid 4711, 45 MB"
    assert breaker(full) == "breaker open after 10 failures in a row, a trial in 3 min"
    assert vitals(ServerStatus(name="files", state="never started", era=None, tools=[], last_check=None)) == ""
    (heading, line) = compact(StatusReport(file=None, servers=[full]), None)
    assert heading.split() == ["SERVER", "STATE", "CHECKED", "CALLS", "FAILED", "P50", "P99", "BREAKER", "RESTARTS", "PID", "MEMORY"]
    assert line.split()[-1] == "MB"
    assert compact(StatusReport(file=None, servers=[full]), 24)[0].split() == ["SERVER", "STATE", "CHECKED"]


async def test_host_that_is_killed_leaves_a_server_that_is_not_running(tmp_path: Path) -> None:
    """A row of a dead process says so, and when it was seen for the last time."""
    file = config(tmp_path, h=LEGACY)
    program = f"""
import asyncio, dragoman
async def main():
    async with dragoman.Host.from_config({str(file)!r}):
        print("up", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=tmp_path) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"up\n"
        until_running = time.monotonic() + 20
        while not (found := run("--config", str(file), "status", "--json", cwd=tmp_path).json["servers"][0])["running"]:
            assert time.monotonic() < until_running, found
        assert (found["state"], found["pid"] is not None, found["last_check"]["ok"]) == ("ready", True, True)
        host.kill()
        host.wait(20)
    shown = run("--config", str(file), "status", cwd=tmp_path).out
    assert "not running" in shown
    assert "last seen" in shown
