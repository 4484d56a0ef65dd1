"""Rows of the table of processes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dragoman.transports import proctable

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="the system has no /proc")


def test_this_process_and_a_zombie_have_their_rows() -> None:
    """A process that ended and was not waited for is in the table, and does not live."""
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE, start_new_session=True) as child:
        assert child.stdout is not None
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        found = {row.pid: row for row in proctable.rows()}
        us, zombie = found[os.getpid()], found[child.pid]
        assert (us.group, us.session, us.lives) == (os.getpgid(0), os.getsid(0), True)
        assert us.pages > 0
        assert (zombie.group, zombie.session, zombie.lives) == (child.pid, child.pid, False)


def test_system_without_the_table_has_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Callers then do with what else they know."""

    def no_such_folder(path: str) -> list[str]:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "listdir", no_such_folder)
    assert list(proctable.rows()) == []
