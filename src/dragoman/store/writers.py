"""Who writes: this process as a ``Writer``, and whether the process behind another one still lives."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from pathlib import Path

from dragoman.store.records import Alive, Writer

_PROC = Path("/proc")


def this_writer(now: float) -> Writer:
    """A new writer in this process; every opened store is one."""
    pid = os.getpid()
    argv0 = (sys.argv[0] if getattr(sys, "argv", None) else "").encode("utf-8", "replace").decode()
    return Writer(writer=secrets.token_hex(16), pid=pid, started=_started(pid), host=_host(), argv0=argv0, opened_at=now)


def liveness(writer: Writer) -> Alive:
    """``elsewhere`` if it ran on another host, or on a system that does not let us look."""
    if writer.closed_at is not None:
        return "gone"
    if writer.host != _host() or os.name != "posix":  # elsewhere os.kill(pid, 0) is no harmless question
        return "elsewhere"
    if not process_exists(writer.pid):
        return "gone"
    now_running = _started(writer.pid)
    return "gone" if writer.started and now_running != writer.started else "alive"


def process_exists(pid: int) -> bool:
    """Whether some process of this machine has that number; true where the system does not say."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _host() -> str:
    return socket.gethostname()


def _started(pid: int) -> str:
    """Boot and start time of a process; empty where there is no ``/proc``, or the process is a zombie or gone."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        # The command, in parentheses, may hold anything; state is the first field after it, starttime the 20th (proc(5)).
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else f"{boot}:{fields[19]}"
    except (OSError, IndexError):
        return ""
