"""Streams that are not there: whoever starts the program may have closed any of the three."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.program import LEGACY, PATIENCE_S, Finished

_CONFIG = """\
[servers.demo]
command = {command}
default_tier = "L0"
"""


def shell(words: str, tmp_path: Path) -> Finished:
    """Run ``dragoman`` by a shell, which knows how to close what it hands on."""
    config = tmp_path / "dragoman.toml"
    config.write_text(_CONFIG.format(command=json.dumps(LEGACY)))
    program = shlex.join([sys.executable, "-W", "error", "-m", "dragoman"])
    done = subprocess.run(
        ["sh", "-c", f"{program} --config {shlex.quote(str(config))} {words}"],
        cwd=tmp_path,
        capture_output=True,
        timeout=PATIENCE_S,
        start_new_session=True,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("closed", ["2>&-", "<&- 2>&-"])
def test_without_stderr_the_call_is_made_and_its_result_is_there(closed: str, tmp_path: Path) -> None:
    """A fault of ours after the call would tell a script that it failed."""
    done = shell(f"call demo.echo text=hello {closed}", tmp_path)
    assert (done.code, done.out.strip()) == (0, "hello")
    done = shell(f"call demo.no_such_tool {closed}", tmp_path)
    assert (done.code, done.out) == (3, "")


def test_without_stdout_the_call_is_made_and_there_is_no_traceback(tmp_path: Path) -> None:
    """Nobody wants the result, which is no failure."""
    done = shell("call demo.echo text=hello >&-", tmp_path)
    assert (done.code, done.err) == (0, "")
    done = shell("--json no-such-command >&-", tmp_path)
    assert (done.code, "Traceback" in done.err) == (2, False)


def test_without_any_stream_the_audit_is_not_written_over(tmp_path: Path) -> None:
    """The number of a closed stream goes to the next file that is opened: what is printed then would end up in it."""
    assert shell("call demo.echo text=hello <&- >&- 2>&-", tmp_path).code == 0
    assert shell("status --check <&- >&- 2>&-", tmp_path).code == 0
    done = shell("audit verify", tmp_path)
    assert (done.code, done.out.startswith("verified ")) == (0, True)
