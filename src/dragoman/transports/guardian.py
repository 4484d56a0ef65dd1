"""The host's end of the guardian: one small process that ends our servers when we are killed, ``kill -9`` included.

It is started with the first server of this process, shared by all its clients and hosts, told of each process group as it is
spawned and when it is gone, and ended with the last. What it does when our end of its pipe closes is in ``guardian_main.py``.
Not for servers that are alive and we are too: those are stopped by :mod:`dragoman.transports.process`.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Final

log = logging.getLogger("dragoman.stdio")

_PROGRAM: Final = Path(__file__).with_name("guardian_main.py")
_REAP_S: Final = 0.5


class Guardian:
    """Knows the process groups of this process; safe to use from any thread. After a fork the child has one of its own.

    Attributes:
        pid: Of the process, ``None`` while none is needed.
    """

    def __init__(self) -> None:
        self.pid: int | None = None
        self._pipe = -1
        self._groups: dict[int, tuple[int, str]] = {}
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def watch(self, group: int, mark: str) -> None:
        """A process group was spawned, its leader not reaped yet. Never raises: without a guardian the server runs all the same."""
        started = start_time(group)
        with self._lock:
            self._groups[group] = started, mark
            if self.pid is not None and not self._tell(f"+ {group} {started} {mark}\n"):
                self._let_go()  # somebody killed it: a new one is told of all
            if self.pid is None:
                self._start()

    def forget(self, group: int) -> None:
        """A process group is gone; unknown ones are ignored. With the last one the guardian goes."""
        with self._lock:
            if self._groups.pop(group, None) is None or self.pid is None:
                return
            if not self._groups or not self._tell(f"- {group}\n"):
                self._let_go()

    def look(self) -> None:
        """Where somebody ended the process, start another one, which is told of all. Costs one system call; do it now and then."""
        with self._lock:
            if self.pid is not None and _reaped(self.pid, os.WNOHANG):
                log.warning("the guardian was ended by somebody; there is a new one")
                os.close(self._pipe)
                self.pid, self._pipe = None, -1
                self._start()

    def _start(self) -> None:
        if not _is_interpreter(sys.executable) or not _PROGRAM.is_file():
            log.debug("no guardian: there is no interpreter to run it with")
            return
        try:
            theirs, ours = os.pipe()  # neither is inherited by servers, which would keep the guardian from ever seeing the end
        except OSError as exc:
            log.debug("no guardian: %s", exc)
            return
        try:
            os.set_blocking(ours, False)
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_PROGRAM)],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={},
                cwd="/",
                start_new_session=True,  # the terminal's Ctrl-C is for the host
            )
        except OSError as exc:
            log.debug("no guardian: %s", exc)
            os.close(ours)
            return
        finally:
            os.close(theirs)
        process.returncode = 0  # reaped by us; this keeps Popen from it, and from complaining
        self.pid, self._pipe = process.pid, ours
        self._tell("".join(f"+ {group} {started} {mark}\n" for group, (started, mark) in self._groups.items()))

    def _tell(self, text: str) -> bool:
        try:
            os.write(self._pipe, text.encode())
        except BlockingIOError:  # it was stopped by somebody; a server must not wait for that
            log.debug("the guardian does not read")
        except OSError:
            return False
        return True

    def _let_go(self) -> None:
        pid, self.pid = self.pid, None
        os.close(self._pipe)
        self._pipe = -1
        assert pid is not None
        try:
            threading.Thread(target=_wait_for, args=(pid,), name="dragoman-guardian", daemon=True).start()
        except RuntimeError:  # the interpreter is ending, where no thread can be started
            limit = time.monotonic() + _REAP_S
            while not _reaped(pid, os.WNOHANG) and time.monotonic() < limit:
                time.sleep(0.001)

    def _forked(self) -> None:
        """A copy of our end would keep the parent's guardian from seeing the parent's end."""
        if self._pipe >= 0:
            os.close(self._pipe)
        self.pid, self._pipe = None, -1
        self._groups.clear()
        self._lock = threading.Lock()


def _is_interpreter(program: str) -> bool:
    """Whether a program can be run with a file of Python: inside a frozen or embedding program it is that program once more."""
    name = os.path.basename(program or "").lower()
    return ("python" in name or "pypy" in name) and not getattr(sys, "frozen", False)


def start_time(pid: int) -> int:
    """When a process started, in clock ticks since the boot; 0 where nobody can say."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def _wait_for(pid: int) -> None:
    _reaped(pid, 0)


def _reaped(pid: int, options: int) -> bool:
    try:
        return os.waitpid(pid, options)[0] == pid
    except ChildProcessError:
        return True


GUARDIAN: Final = Guardian()
