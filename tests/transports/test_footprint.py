"""Memory of process groups."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.transports.footprint import resident_bytes

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no /proc")

_PARENT = """
import subprocess, sys
child = subprocess.Popen(["cat"], stdin=-1, stdout=-1)
child.stdin.write(b"up\\n")
child.stdin.flush()
print(child.stdout.readline().decode().strip(), flush=True)  # it is loaded by now, and has a size
sys.stdin.read()
child.communicate()
"""


def test_whole_group_is_counted_and_nothing_else() -> None:
    """A launcher is small, what it launched is not."""
    with subprocess.Popen([sys.executable, "-c", _PARENT], stdin=-1, stdout=-1, start_new_session=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"up\n"
        found = resident_bytes({parent.pid})
        alone = int(Path(f"/proc/{parent.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        parent.stdin.close()
        parent.wait(20)
    assert list(found) == [parent.pid]
    assert alone < found[parent.pid] < alone + 50_000_000


def test_nobody_asked_about_costs_nothing_and_the_gone_are_left_out() -> None:
    """No row for a process that has ended."""
    assert resident_bytes(()) == {}
    assert resident_bytes({2**31 - 1}) == {}
