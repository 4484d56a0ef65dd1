"""A program that has imported Dragoman already and forks for every run: a run is a process of its own, without the start of an interpreter.

What it forks is what ``python -W error -m dragoman`` is once it has imported everything: session, streams, folder, environment and end are
its own. How an interpreter starts, and what it reads from its environment then (``PYTHON*``, the locale), is no part of such a run.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parent.parent.parent
_LEFT_OUT = ("__main__", "_program", "_main")


class Warm:
    """The side of the tests: starts the program, and has it run command lines."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        command = [sys.executable, "-W", "error", "-m", "tests.cli.warm", str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.PIPE,  # pipes: what its streams can do is found out once, and theirs are pipes
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def close(self) -> None:
        """End the program."""
        self._socket.close()
        with self._process:
            pass

    def run(self, words: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: bytes | None, limit_s: float) -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of one run. Like ``subprocess.run`` it waits for all who hold the streams."""
        limit = time.monotonic() + limit_s
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        ends = [_holding(stdin), to_out, to_err]
        answer, theirs = socket.socketpair()
        with answer, open(out, "rb"), open(err, "rb"):
            with theirs:
                socket.send_fds(self._socket, [b"r"], [*ends, theirs.fileno()])
            for end in ends:
                os.close(end)
            answer.sendall(json.dumps({"words": list(words), "cwd": str(cwd), "env": dict(env)}).encode())
            answer.shutdown(socket.SHUT_WR)
            said, shown, told = _read_all([answer.fileno(), out, err], limit)
        numbers = said.split()
        assert len(numbers) == 2, f"the warm program has gone: {self._process.communicate(timeout=limit_s)[1].decode()}"
        return int(numbers[1]), shown, told


def _holding(stdin: bytes | None) -> int:
    """Something to read these bytes from; what tests give is less than a pipe holds."""
    if stdin is None:
        return os.open(os.devnull, os.O_RDONLY)
    end, to_stdin = os.pipe()
    os.set_blocking(to_stdin, False)
    with open(to_stdin, "wb", buffering=0) as pipe:
        assert pipe.write(stdin) == len(stdin)
    return end


def _read_all(fds: list[int], limit: float) -> list[bytes]:
    """Everything from these, the first of which says whom to kill when time is up."""
    seen = dict.fromkeys(fds, b"")
    with selectors.DefaultSelector() as waiting:
        for fd in fds:
            waiting.register(fd, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, limit - time.monotonic()))
            if not ready:
                if said := seen[fds[0]].split():
                    os.kill(int(said[0]), signal.SIGKILL)
                raise AssertionError(f"the run did not end in time; this was shown: {list(seen.values())[1:]}")
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                seen[key.fd] += data
                if not data:
                    waiting.unregister(key.fd)
    return list(seen.values())


def _import_everything() -> None:
    """All of Dragoman but its programs; then what is there is kept out of every later collection of garbage."""
    import dragoman

    for module in pkgutil.walk_packages(dragoman.__path__, "dragoman."):
        if not module.name.endswith(_LEFT_OUT):
            import_module(module.name)
    gc.collect()
    gc.freeze()


def _become(request: dict[str, Any], streams: list[int]) -> None:
    """Take over what a new process would have been given."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
        os.close(fd)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0] = request["cwd"]
    sys.argv = [str(ROOT / "src" / "dragoman" / "__main__.py"), *request["words"]]


def _serve(requests: socket.socket) -> bool:
    """Fork for every request and say how each ended; true in a fork, false when the tests have gone."""
    waiting = selectors.DefaultSelector()
    waiting.register(requests, selectors.EVENT_READ)
    running: dict[int, tuple[int, socket.socket]] = {}
    while True:
        for key, _ in waiting.select():
            if key.fd in running:
                pid, answer = running.pop(key.fd)
                waiting.unregister(key.fd)
                os.close(key.fd)
                _say(answer, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                answer.close()
                continue
            message, fds, _, _ = socket.recv_fds(requests, 1, 4)
            if not message:
                return False
            answer = socket.socket(fileno=fds.pop())
            with answer.makefile("rb") as lines:
                request = json.load(lines)
            pid = os.fork()
            if not pid:
                for fd, (_, other) in running.items():
                    os.close(fd)
                    other.close()
                for ours in (waiting, answer, requests):
                    ours.close()
                _become(request, fds)
                return True
            for fd in fds:
                os.close(fd)
            _say(answer, pid)
            watched = os.pidfd_open(pid)
            running[watched] = pid, answer
            waiting.register(watched, selectors.EVENT_READ)


def _say(answer: socket.socket, number: int) -> None:
    with contextlib.suppress(ConnectionError):  # a test that gave up waiting
        answer.sendall(b"%d\n" % number)


def _main() -> NoReturn:
    from dragoman.cli.main import main

    _import_everything()
    sys.exit(main() if _serve(socket.socket(fileno=int(sys.argv[1]))) else 0)


if __name__ == "__main__":
    _main()
