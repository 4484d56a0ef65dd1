"""Whether a writer's process still lives."""

from __future__ import annotations

import os
import subprocess
import sys

import msgspec
import pytest

from dragoman.store import writers
from dragoman.store.records import Writer
from dragoman.store.writers import liveness, this_writer

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="start times of processes are read from /proc")


def test_every_writer_has_a_name_of_its_own() -> None:
    assert len({this_writer(1.0).writer for _ in range(100)}) == 100


def test_this_process_is_alive_until_it_says_goodbye() -> None:
    me = this_writer(1.0)
    assert liveness(me) == "alive"
    assert liveness(msgspec.structs.replace(me, closed_at=2.0)) == "gone"


def test_writer_of_another_host_is_elsewhere() -> None:
    assert liveness(msgspec.structs.replace(this_writer(1.0), host="another.example")) == "elsewhere"


def _of_process(pid: int) -> Writer:
    return msgspec.structs.replace(this_writer(1.0), pid=pid, started=writers._started(pid))


@LINUX
def test_ended_process_is_gone_even_before_its_parent_looks() -> None:
    """A zombie still has a number; it writes no more."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    writer = _of_process(child.pid)
    assert liveness(writer) == "alive"
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and not yet reaped
    assert liveness(writer) == "gone"
    child.wait(timeout=30)
    assert liveness(writer) == "gone"


@LINUX
def test_reused_process_number_is_not_taken_for_the_writer() -> None:
    assert liveness(msgspec.structs.replace(this_writer(1.0), started="another boot:1")) == "gone"
