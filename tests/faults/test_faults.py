"""Small faulty servers that somebody keeps beside this checkout, each tried by its own runner with our driver, in both modes.

They are looked for in ``faults`` of every folder next to the checkout: ``run.py``, and ``fixtures`` whose docstrings have a line
``KIND``. Those about OAuth are left out. Without such a folder there is one test, which is skipped and says why.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(__file__).resolve().parent / "driver.py"
MODES = ("auto", "legacy")
RUN_S = 110


def found() -> Path | None:
    """The folder with the runner, if there is one."""
    return next(iter(sorted(path.parent for path in ROOT.parent.glob("*/faults/run.py") if (path.parent / "fixtures").is_dir())), None)


def kind(fixture: Path) -> str:
    docstring = ast.get_docstring(ast.parse(fixture.read_text(encoding="utf-8"))) or ""
    stated = re.search(r"^KIND:?\s+(.+)$", docstring, re.MULTILINE)
    return stated.group(1) if stated else ""


FOLDER = found()
FIXTURES = [] if FOLDER is None else [one for one in sorted(FOLDER.glob("fixtures/B*.py")) if not kind(one).startswith("oauth")]


@pytest.mark.slow
@pytest.mark.timeout(RUN_S + 10)
@pytest.mark.parametrize("fixture", FIXTURES or [None], ids=[one.stem for one in FIXTURES] or ["none"])
def test_client_does_what_is_right_with_a_faulty_server(fixture: Path | None, tmp_path: Path) -> None:
    """Each fixture says in its docstring where it was seen and what is right; the verdicts are its runner's."""
    if fixture is None or FOLDER is None:
        pytest.skip(f"no folder next to {ROOT.name} has faults/run.py and faults/fixtures")
    out = tmp_path / "out.json"
    command = [sys.executable, str(FOLDER / "run.py"), "--driver", f"{sys.executable} {DRIVER}", "-j", "1", "--out", str(out)]
    command += ["--mode", *MODES, "--", fixture.stem.partition("_")[0]]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=RUN_S, stdin=subprocess.DEVNULL)
    verdicts = json.loads(out.read_text()) if out.exists() else []
    assert {one["mode"]: one["verdict"] for one in verdicts} == dict.fromkeys(MODES, "pass"), done.stdout + done.stderr
