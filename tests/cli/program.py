"""Runs the real command line as a process: with no terminal at all, or on a pseudo-terminal that a test types on."""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from .warm import Warm

LEGACY = [sys.executable, "-m", "dragoman.demo.legacy"]
MODERN = [sys.executable, "-m", "dragoman.demo.modern"]
SERVERS = Path(__file__).parent.parent / "servers"
PATIENCE_S = 30.0

_DRAGOMAN = [sys.executable, "-W", "error", "-m", "dragoman"]
# What an interpreter looks at when it starts.
_READ_AT_START = ("PYTHON", "LANG", "LC_")
# A new session whose controlling terminal is stdin; then the program takes this one's place.
_ON_TERMINAL = "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"


def server(name: str) -> list[str]:
    """The command line of one of the misbehaving servers."""
    return [sys.executable, str(SERVERS / f"{name}.py")]


class Finished(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout held, as the one JSON value it must be."""
        return json.loads(self.out)


def run(*words: str, cwd: Path, stdin: bytes | None = None, **env: str) -> Finished:
    """Run ``dragoman`` without a terminal (a session of its own has none), as a fork of a program that has imported it."""
    if any(name.startswith(_READ_AT_START) for name in env):
        assert stdin is None
        return run_anew(*words, cwd=cwd, **env)
    code, out, err = warm().run(words, cwd, {**os.environ, **env}, stdin, PATIENCE_S)
    return Finished(code, out.decode(), err.decode())


def run_anew(*words: str, cwd: Path, **env: str) -> Finished:
    """The same with an interpreter of its own, which costs five times as much."""
    done = subprocess.run(
        [*_DRAGOMAN, *words],
        cwd=cwd,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        start_new_session=True,
        check=False,
    )
    return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())


@functools.cache
def warm() -> Warm:
    """The program that forks, one for all tests of a worker; `tests/cli/conftest.py` starts and ends it."""
    return Warm()


class Terminal:
    """A run of ``dragoman``, or of another ``program``, on a pseudo-terminal."""

    def __init__(self, *words: str, cwd: Path, columns: int = 100, program: Sequence[str] = _DRAGOMAN, **env: str) -> None:
        self.seen = ""
        self._master, slave = os.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "NO_COLOR": "1", **env}
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ON_TERMINAL, *program, *words], cwd=cwd, env=environment, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(PATIENCE_S)
        os.close(self._master)

    def expect(self, text: str) -> None:
        """Wait until ``text`` was shown."""
        limit = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert self._read(limit), f"{text!r} was not shown; this was:\n{self.seen}"

    def type(self, text: str) -> None:
        """Type, with the return key."""
        os.write(self._master, f"{text}\n".encode())

    def press(self, keys: str) -> None:
        """Send keys as they are: Ctrl-C is ``\x03``."""
        os.write(self._master, keys.encode())

    def interrupt(self) -> None:
        """Send what Ctrl-C sends."""
        self._process.send_signal(signal.SIGINT)

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def end(self) -> int:
        """The exit code, once it has ended."""
        limit = time.monotonic() + PATIENCE_S
        while self._read(limit):
            pass
        return self._process.wait(PATIENCE_S)

    def _read(self, limit: float) -> bool:
        """More output; false at its end."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, limit - time.monotonic()))
        if not ready:
            raise AssertionError(f"no more output; this was:\n{self.seen}")
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: all who had the other end open are gone
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
