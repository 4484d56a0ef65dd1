"""The command line on real servers, as people type it: probe, ad hoc calls, a governed call."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.interop import envs

SEVEN = {"era", "revision", "server", "capabilities", "instructions", "tools", "timings_ms"}
COMMANDS: dict[str, Callable[[], list[str]]] = {  # made when used: to collect this file nothing has to be installed
    "everything": lambda: envs.npm_server("server-everything"),
    "time": lambda: envs.python_server("mcp-server-time"),
    "sdk-1": lambda: envs.sdk_server("fastmcp_1"),
    "sdk-2": lambda: envs.sdk_server("low_level_2"),
}


def dragoman(*words: str, cwd: Path | None = None, code: int = 0, timeout_s: float = 45) -> subprocess.CompletedProcess[str]:
    """Run the command without a terminal; it must end with this code and show no traceback."""
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", *words],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == code, done.stderr
    return done


def probe_json(command: Sequence[str], *options: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(dragoman("probe", "--json", *options, "--", *command).stdout)
    return report


@pytest.mark.parametrize(
    ("server", "era", "name", "tools"),
    [
        ("everything", "legacy", "mcp-servers/everything", 13),
        ("time", "modern", "mcp-time", 2),
        ("sdk-1", "legacy", "sdk-1-fastmcp", 11),
        ("sdk-2", "modern", "sdk-2-low-level", 5),
    ],
)
def test_probe_json_has_its_seven_keys(server: str, era: str, name: str, tools: int) -> None:
    """Scripts rely on these keys being there always."""
    report = probe_json(COMMANDS[server]())
    assert report.keys() >= SEVEN
    assert (report["era"], report["server"]["name"]) == (era, name)
    assert report["revision"] == {"legacy": "2025-11-25", "modern": "2026-07-28"}[era]
    assert len(report["tools"]) == tools
    assert all(tool["inputSchema"]["type"] == "object" for tool in report["tools"])
    assert {"connect", "list_tools", "total"} <= report["timings_ms"].keys()


@pytest.mark.timeout(120)
def test_probe_through_npx_prints_what_the_server_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Era, revision, name and version, capabilities, instructions, tools with parameters, names of variables, timing."""
    monkeypatch.setenv("PATH", envs.node_env()["PATH"])
    words = ["npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"]
    cache = f"npm_config_cache={tmp_path / 'npm'}"
    out = dragoman("probe", "--timeout", "90", "--env", cache, "--", *words, cwd=envs.NODE_MODULES.parent, timeout_s=100).stdout
    for expected in (
        "mcp-servers/everything 2.0.0",
        "legacy",
        "2025-11-25",
        "completions",
        "Everything Server",
        "get-sum",
        "PATH",
        "connect",
    ):
        assert expected in out
    assert "message: string, required" in out


@pytest.fixture
def safe(tmp_path: Path) -> Path:
    """A folder for the filesystem server, with one file, and a secret beside it."""
    folder = tmp_path / "safe"
    folder.mkdir()
    (folder / "a.txt").write_text("Lentils, 豆腐")
    (tmp_path / "secret.txt").write_text("top secret")
    return folder


def on_files(safe: Path) -> list[str]:
    return ["call", "--on", shlex.join(envs.npm_server("server-filesystem", str(safe)))]


def test_ad_hoc_call_prints_the_result_and_nothing_else(safe: Path) -> None:
    """No configuration, no approval: the person at the keyboard decides."""
    assert dragoman(*on_files(safe), "list_directory", f"path={safe}").stdout == "[FILE] a.txt\n"
    assert dragoman(*on_files(safe), "read_text_file", f"path={safe}/a.txt").stdout == "Lentils, 豆腐\n"
    dragoman(*on_files(safe), "write_file", f"path={safe}/b.txt", "content=42")
    assert (safe / "b.txt").read_text() == "42"  # the schema says string


def test_refusal_of_the_server_has_exit_code_one(safe: Path) -> None:
    """A tool result with `isError` is an outcome of its own."""
    done = dragoman(*on_files(safe), "read_text_file", f"path={safe.parent}/secret.txt", code=1)
    assert "Access denied" in done.stdout + done.stderr
    assert "top secret" not in done.stdout + done.stderr


def test_wrong_arguments_and_names_are_refused_before_anything_is_sent(safe: Path) -> None:
    """Exit code 3; the nearest name is offered."""
    assert "path" in dragoman(*on_files(safe), "read_text_file", f"pth={safe}", code=3).stderr
    assert "list_directory" in dragoman(*on_files(safe), "list_directry", f"path={safe}", code=3).stderr


def test_image_is_saved_to_a_file_and_named(tmp_path: Path) -> None:
    """Blocks that are no text go to files; stdout says where."""
    done = dragoman("call", "--on", shlex.join(COMMANDS["everything"]()), "--output-dir", str(tmp_path / "out"), "get-tiny-image")
    (saved,) = (tmp_path / "out").iterdir()
    assert saved.read_bytes().startswith(b"\x89PNG")
    assert saved.name in done.stdout
    assert "iVBOR" not in done.stdout


def test_trace_shows_both_directions_on_stderr(safe: Path, tmp_path: Path) -> None:
    """Cut on the screen, whole in the file, readable in any script."""
    trace = tmp_path / "trace.jsonl"
    done = dragoman(*on_files(safe), "--trace", "--trace-file", str(trace), "read_text_file", f"path={safe}/a.txt")
    assert done.stdout == "Lentils, 豆腐\n"
    assert "→" in done.stderr
    assert "←" in done.stderr
    assert "豆腐" in done.stderr
    lines = [json.loads(line) for line in trace.read_text().splitlines()]
    assert any("tools/call" in json.dumps(line) for line in lines)


def test_governed_call_uses_the_tiers_of_the_configuration(safe: Path, tmp_path: Path) -> None:
    """L0 runs, L2 without a terminal is denied (exit 3), with `--yes` it runs; the audit holds together."""
    config = tmp_path / "named.toml"
    command = json.dumps(envs.npm_server("server-filesystem", str(safe)))
    config.write_text(f'[servers.files]\ncommand = {command}\n[servers.files.tools]\n"read_*" = "L0"\n')
    named = ["--config", str(config)]
    assert dragoman("call", *named, "files.read_text_file", f"path={safe}/a.txt").stdout == "Lentils, 豆腐\n"
    write = ["call", *named, "files.write_file", f"path={safe}/b.txt", "content=x"]
    dragoman(*write, code=3)
    assert not (safe / "b.txt").exists()
    dragoman(*write, "--yes")
    assert (safe / "b.txt").read_text() == "x"
    dragoman("audit", "verify", *named)
