"""The guards of tests/conftest.py and the scripts that only maintainers run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.changelog import gather
from tests import conftest


def test_child_is_seen_while_it_runs_and_until_it_is_waited_for() -> None:
    """What `no_process_left_behind` looks at; an exited child that nobody waited for counts as left behind."""
    before = conftest.children()
    child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()  # from here on it is Python, no longer a copy of ourselves about to become it
        assert conftest.children() - before == {child.pid}
        assert "input()" in conftest.describe(child.pid)
    finally:
        child.communicate(b"\n", timeout=30)
    assert conftest.children() == before


def test_test_that_leaves_a_process_fails(tmp_path: Path) -> None:
    """The guard itself, in a pytest of its own; the process is told to end by the closing of its standard input."""
    conftest_text = Path(conftest.__file__).read_text().replace("CHILD_GRACE_S = 5.0", "CHILD_GRACE_S = 0.1")
    (tmp_path / "conftest.py").write_text(conftest_text)
    (tmp_path / "test_it.py").write_text(
        "import subprocess, sys\n"
        "def test_it():\n"
        "    global kept\n"
        "    kept = subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE)\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), str(tmp_path)]
    root = str(Path(conftest.__file__).parents[1])
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, env={**os.environ, "PYTHONPATH": root})
    assert done.returncode == 1
    assert "left behind:" in done.stdout


def test_every_test_has_a_state_folder_of_its_own(dragoman_home: Path, tmp_path: Path) -> None:
    """No test reads or writes what the person who runs it uses."""
    assert os.environ["DRAGOMAN_HOME"] == str(dragoman_home)
    assert not dragoman_home.exists()
    assert dragoman_home.is_relative_to(tmp_path.parent)


def test_release_gathers_fragments_above_older_versions(tmp_path: Path) -> None:
    """changelog.d/README.md."""
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "a.fixed.md").write_text("One.\nTwo.\n")
    (tmp_path / "changelog.d" / "b.added.md").write_text("Three.\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nWords.\n\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- Old.\n")
    gather(tmp_path, "0.2.0", "2026-02-02")
    new = "## 0.2.0 (2026-02-02)\n\n### Added\n\n- Three.\n\n### Fixed\n\n- One.\n  Two.\n\n"
    assert (tmp_path / "CHANGELOG.md").read_text() == f"# Changelog\n\nWords.\n\n{new}## 0.1.0 (2026-01-01)\n\n### Added\n\n- Old.\n"
    assert list((tmp_path / "changelog.d").iterdir()) == []
    with pytest.raises(SystemExit):
        gather(tmp_path, "0.3.0", "2026-03-03")


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 matches possessive groups wrongly (python/cpython#106052), and Debian 12 ships 3.11.2."""
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+(?!,)")  # with a comma it is the list of reserved characters of URLs
    source = Path(__file__).parent.parent / "src"
    assert [str(path) for path in source.rglob("*.py") if possessive.search(path.read_text(encoding="utf-8"))] == []
    assert possessive.search(r"(?:a|b)*+")
