"""
The transcript of the demo in README.md: `python scripts/readme_demo.py` prints a fresh one, `--write` puts it into README.md.

It is a real run of `dragoman demo --yes` without a terminal, in an empty folder; only what differs from run to run and from machine to
machine is replaced: times of day, the turn, the state folder, who typed it and from which program.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
COMMAND = "$ dragoman demo --yes"
LIMIT_S = 25
WIDTH = 140

_BLOCK = re.compile(r"(?<=^<!-- demo -->\n)```text\n.*?^```$", re.MULTILINE | re.DOTALL)


def run_demo() -> str:
    """The output of one run, as it is."""
    with tempfile.TemporaryDirectory() as folder:
        state, work = Path(folder, "state"), Path(folder, "work")
        work.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "dragoman", "demo", "--yes"],
            cwd=work,
            env={**os.environ, "DRAGOMAN_HOME": str(state), "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            start_new_session=True,  # no terminal to ask on
            check=True,
        )
    return normal(done.stdout, state)


def normal(text: str, state: Path) -> str:
    """The text without what differs from run to run; long lines cut, since a page has no room for them."""
    text = text.replace(str(state), "~/.local/state/dragoman")
    text = re.sub(r"(?m)^(   )\d\d:\d\d:\d\d(?=  )", r"\g<1>12:00:00", text)
    text = re.sub(r"\bdemo-[0-9a-f]{8}\b", "demo-1a2b3c4d", text)
    text = re.sub(r"approved by [^,\n]*?(?: \(from [^)\n]*\))?(?=,| \(--yes\))", "approved by ada (from bash)", text)
    return "\n".join(line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in text.strip("\n").splitlines())


def block(transcript: str) -> str:
    """The fenced block as it stands in README.md."""
    return f"```text\n{COMMAND}\n\n{transcript}\n```"


def in_readme(text: str) -> str:
    """The fenced block that a README has; empty where it has none."""
    found = _BLOCK.search(text)
    return found[0] if found else ""


def main(words: list[str]) -> None:
    """Print or write."""
    fresh = block(run_demo())
    if words != ["--write"]:
        print(fresh)
        return
    text = README.read_text(encoding="utf-8")
    if not in_readme(text):
        sys.exit("README.md has no block behind <!-- demo -->")
    README.write_text(_BLOCK.sub(lambda _: fresh, text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
