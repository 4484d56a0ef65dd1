"""``dragoman record`` and ``replay`` as a stranger uses them: in the place of a command, and in the place of a URL."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.program import _DRAGOMAN, LEGACY, PATIENCE_S, run
from tests.transcripts.talks import FOLDER

COUNT = ("count", "to=2")


@contextmanager
def listening(*words: str, cwd: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """``dragoman`` as a server at a URL: the URL, which is its first line, and the process."""
    process = subprocess.Popen([*_DRAGOMAN, *words], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def test_recorded_in_the_place_of_a_command_and_replayed_in_its_place(tmp_path: Path) -> None:
    """The two commands of docs/record-replay.md."""
    recorded = run("probe", "--json", "--", *_DRAGOMAN, "record", "-o", "t.jsonl", "--", *LEGACY, cwd=tmp_path)
    assert recorded.code == 0
    replayed = run("probe", "--json", "--", *_DRAGOMAN, "replay", "t.jsonl", cwd=tmp_path)
    assert replayed.code == 0
    assert [{**done.json, "timings_ms": 0} for done in (recorded, replayed)] == [{**recorded.json, "timings_ms": 0}] * 2


def test_recorded_in_the_place_of_a_url(tmp_path: Path) -> None:
    """SIGTERM ends it, and that is no failure."""
    with (
        listening("replay", "--http", "0", str(FOLDER / "modern-http-events.jsonl"), cwd=tmp_path) as (real, _),
        listening("record", "-o", "t.jsonl", real, cwd=tmp_path) as (proxied, recorder),
    ):
        done = run("call", "--on", proxied, *COUNT, cwd=tmp_path)
        recorder.send_signal(signal.SIGTERM)
        _, stderr = recorder.communicate(timeout=PATIENCE_S)
    assert (done.code, recorder.returncode) == (4, 0)  # the call lists the tools first, and this conversation has no list
    assert "Method not found: tools/list is not in this transcript" in done.err
    assert "entries in" in stderr
    assert "server/discover" in (tmp_path / "t.jsonl").read_text()


def test_configured_server_is_recorded_by_its_name_without_its_secrets(tmp_path: Path) -> None:
    """The variables of its configuration are in place and not in the file."""
    program = "import os, sys; print(os.environ['SHOP_TOKEN'], len(sys.argv), flush=True)"
    config = tmp_path / "d.toml"
    config.write_text(
        f"[servers.shop]\ncommand = {json.dumps([sys.executable, '-c', program, '--api-key', 'k-12345678'])}\n"
        'env = { SHOP_TOKEN = "${env:SHOP}" }\n'
    )
    done = run("record", "-o", "t.jsonl", "shop", "--config", str(config), cwd=tmp_path, SHOP="hunter2-hunter2")
    assert done.code == 0, done.err
    assert done.out == "hunter2-hunter2 3\n"
    text = (tmp_path / "t.jsonl").read_text()
    assert "hunter2" not in text
    assert "k-12345678" not in text


def test_server_of_a_project_file_that_nobody_approved_is_not_started(tmp_path: Path) -> None:
    """As everywhere: exit 3, and the command to run."""
    (tmp_path / "dragoman.toml").write_text('[servers.shop]\ncommand = ["touch", "started"]\n')
    done = run("record", "shop", cwd=tmp_path)
    assert done.code == 3
    assert "dragoman enable shop" in done.err
    assert os.listdir(tmp_path) == ["dragoman.toml"]


def test_status_is_that_of_the_command(tmp_path: Path) -> None:
    """A launcher in the middle is not seen."""
    done = run("record", "-o", "t.jsonl", "--", sys.executable, "-c", "import sys; print('x'); sys.exit(7)", cwd=tmp_path)
    assert (done.code in (0, 7), done.out in ("", "x\n")) == (True, True)  # no input at all: whichever is seen first
    held = [*_DRAGOMAN, "record", "-o", "u.jsonl", "--", sys.executable, "-c", "import sys; print('x'); sys.exit(7)"]
    process = subprocess.Popen(held, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.wait(PATIENCE_S) == 7
    assert process.stdout is not None
    assert process.stdout.read() == b"x\n"
    process.communicate()


@pytest.mark.parametrize(
    ("words", "code", "words_of_error"),
    [
        (["record", "-o", "there.jsonl", "--", "true"], 2, "is there already"),
        (["record", "--", "there-is-no-such-program"], 4, "there-is-no-such-program"),
        (["record", "--env", "A=1", "shop"], 2, "are in its configuration"),
        (["record", "--header", "nothing", "--", "http://127.0.0.1/"], 2, "is no header"),
        (["replay", "nothing.jsonl"], 2, "cannot be read"),
        (["replay", "there.jsonl"], 2, "is no transcript"),
        (["replay", "--stdio", "--http", "0", "there.jsonl"], 2, "exclude each other"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, words: list[str], code: int, words_of_error: str) -> None:
    """Exit codes of docs/command-line.md."""
    (tmp_path / "there.jsonl").write_text("precious")
    (tmp_path / "dragoman.toml").write_text('[servers.shop]\ncommand = ["true"]\n')
    done = run(*words, cwd=tmp_path)
    assert (done.code, words_of_error in done.err, done.out) == (code, True, ""), done.err
    assert (tmp_path / "there.jsonl").read_text() == "precious"


def test_cut_is_seen_by_the_client(tmp_path: Path) -> None:
    """``--cut``: exit 4 of the client, at the same byte each time."""
    server = shlex.join([*_DRAGOMAN, "replay", "--cut", "100", str(FOLDER / "legacy-stdio.jsonl")])
    done = run("call", "--on", server, *COUNT, cwd=tmp_path)
    assert done.code == 4
