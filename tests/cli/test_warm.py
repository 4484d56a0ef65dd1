"""The runs that most tests of the command line look at are what a run with an interpreter of its own is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from .calling import alive_in, on
from .program import LEGACY, PATIENCE_S, run, run_anew
from .warm import Warm

ON_LEGACY = ("--on", " ".join(LEGACY))


@pytest.mark.parametrize(
    "words",
    [
        ("call", *ON_LEGACY, "echo", "text=örüg"),
        ("call", *ON_LEGACY, "ehco"),
        ("cal",),
        ("call", "--help"),
        ("call", *ON_LEGACY, "echo", "text=@-"),
    ],
    ids=["done", "failed", "usage", "help", "empty stdin"],
)
def test_run_in_a_fork_ends_and_says_what_a_fresh_interpreter_does(words: tuple[str, ...], tmp_path: Path) -> None:
    """Ours: exit code, stdout and stderr are the same to the byte."""
    assert run(*words, cwd=tmp_path) == run_anew(*words, cwd=tmp_path)


def test_what_a_run_is_given_is_its_own(tmp_path: Path) -> None:
    """Ours: folder and environment are those of the run, and gone after it."""
    shown = run("call", "--env", "OURS", "--on", on("env_dump"), "echo", "text=x", cwd=tmp_path, OURS="yes").out
    assert "OURS" in shown
    assert "OURS" not in run("call", "--on", on("env_dump"), "echo", "text=x", cwd=tmp_path).out
    assert alive_in(tmp_path) == []


def test_run_that_does_not_end_is_killed_and_told(tmp_path: Path) -> None:
    """Ours: every wait is bounded, and what was shown by then is named."""
    program = Warm()
    try:
        assert program.run(("--version",), tmp_path, os.environ, None, PATIENCE_S)[0] == 0
        with pytest.raises(AssertionError, match="did not end in time"):
            program.run(("call", "--on", f"{sys.executable} -c 'import time; time.sleep(60)'", "x"), tmp_path, os.environ, None, 0.3)
    finally:
        program.close()
