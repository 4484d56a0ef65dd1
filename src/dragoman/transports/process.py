"""A server's process: started without a shell in a group of its own, watched by a pidfd, and ended with everything it started.

Not ``asyncio.subprocess``: that costs 24 KB and, in Python 3.11, a thread for each child.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dragoman.errors import SpawnFailed
from dragoman.transports import proctable
from dragoman.transports.guardian import GUARDIAN

_STDIN, _STDOUT, _STDERR, _PIDFD = range(4)
_KILL_WAIT_S: Final = 0.5
_POLL_S: Final = 0.02


def spawn(
    command: Sequence[str], *, env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None = None, guarded: bool = True
) -> Child:
    """Start a program with three pipes, as the leader of a new session and process group.

    Args:
        command: Program and arguments; the program is looked up in ``env``'s PATH. No shell sees it.
        env: The whole environment of the child; ``None`` is a copy of ours. A mark is added to it, by which what it starts is known.
        guarded: The guardian ends it and what it started if we are killed.

    Raises:
        SpawnFailed: It cannot be run; the message names the program and the reason, ``hint`` the next step.
    """
    if isinstance(command, str) or not command or not command[0]:
        raise SpawnFailed(f"the command must be a list that starts with a program, not {command!r}", hint='write ["python3", "server.py"]')
    if os.name != "posix":
        raise SpawnFailed(
            f"cannot start {command[0]!r}: stdio servers need Linux or another POSIX system", hint="connect to the server by URL"
        )
    mark = f"{os.getpid()}.{os.urandom(8).hex()}"
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for writable_by_us in (True, False, False):
            read_end, write_end = os.pipe()  # neither is inherited by other children
            ours.append(write_end if writable_by_us else read_end)
            theirs.append(read_end if writable_by_us else write_end)
        for fd in ours:
            os.set_blocking(fd, False)
        stdin, stdout, stderr = theirs
        # Popen for its vfork, its report of what exec said, and cwd (posix_spawn has none); measured, it is no slower.
        process = subprocess.Popen(
            list(command),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**(os.environ if env is None else env), proctable.MARK: mark},
            cwd=cwd,
            start_new_session=True,
        )
    except BaseException as exc:
        _close_all(ours)
        if not isinstance(exc, OSError | ValueError | RuntimeError):  # the last is of an interpreter that ends, or a subinterpreter
            raise
        raise _not_started(exc, command, env, cwd) from exc
    finally:
        _close_all(theirs)
    process.returncode = 0  # we reap it ourselves; this keeps Popen from doing it, or warning that nobody did
    if guarded:
        GUARDIAN.watch(process.pid, mark)
    return Child(process.pid, ours, mark)


def _not_started(exc: Exception, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None) -> SpawnFailed:
    try:
        from dragoman.transports.spawn_hints import explain  # it pulls in shutil, which only a failure needs

        return explain(exc, command, env, cwd)
    except OSError:  # there is not even a descriptor to read our own explanation with
        words = exc.strerror if isinstance(exc, OSError) else exc
        return SpawnFailed(
            f"cannot start {command[0]!r}: {words}", hint="raise the limit of open files (ulimit -n), or end what holds them"
        )


class Child:
    """A running process and our ends of its pipes (non-blocking). Call ``watch`` next, and ``stop`` in every case.

    What is ended is its process group, and on Linux what left the group as daemons do, found by the mark in its environment. If neither the
    loop nor anybody else ends it, all of it is killed when this object is collected or the interpreter exits.

    Attributes:
        pid: Also the number of its process group and session.
        exited: Whether the process is known to have ended.
        exit_code: Its status, negative for a signal; ``None`` while it runs, or if somebody else reaped it.
    """

    __slots__ = (
        "__weakref__",
        "_done",
        "_fds",
        "_finalizer",
        "_ladder",
        "_loop",
        "_mark",
        "_on_exit",
        "_poll",
        "_reaped",
        "exit_code",
        "exited",
        "pid",
    )

    def __init__(self, pid: int, pipes: list[int], mark: str) -> None:
        self.pid = pid
        self._mark = mark
        self.exited = False
        self.exit_code: int | None = None
        self._reaped = False
        self._fds = [*pipes, _pidfd(pid)]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._on_exit: Callable[[], None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._ladder: asyncio.Task[None] | None = None
        self._poll: asyncio.TimerHandle | None = None
        self._finalizer = weakref.finalize(self, _abandoned, pid, mark, os.getpid(), self._fds)

    @property
    def stdin(self) -> int:
        """Our end of its input, or -1 once closed; likewise ``stdout`` and ``stderr``."""
        return self._fds[_STDIN]

    @property
    def stdout(self) -> int:
        return self._fds[_STDOUT]

    @property
    def stderr(self) -> int:
        return self._fds[_STDERR]

    def watch(self, on_exit: Callable[[], None]) -> None:
        """Call ``on_exit`` once on the running loop when the process has ended; it is not reaped by that."""
        self._loop = asyncio.get_running_loop()
        self._done = self._loop.create_future()
        self._on_exit = on_exit
        if self._fds[_PIDFD] >= 0:
            self._loop.add_reader(self._fds[_PIDFD], self._check)
        else:
            self._check_again()

    def close_stdin(self) -> None:
        """Send end of file: the polite way of asking it to leave. Safe to call twice."""
        self._close(_STDIN)

    def close_stdout(self) -> None:
        """Stop listening. Safe to call twice."""
        self._close(_STDOUT)

    def close_stderr(self) -> None:
        """Stop listening. Safe to call twice."""
        self._close(_STDERR)

    async def stop(self, stop_s: float) -> None:
        """End the process and its group, as ``begin_stop`` does, and wait for it; a cancelled caller does not stop the ladder."""
        await asyncio.shield(self.begin_stop(stop_s))

    def begin_stop(self, stop_s: float) -> asyncio.Task[None]:
        """The ladder: wait, SIGTERM, wait, SIGKILL, to all of it; done when all are gone or the time is over.

        Close stdin first: that is the step before. There is one ladder, whoever asks. If it is cancelled (the loop is
        shutting down), the group is killed at once. At its end the pipes are closed.

        Args:
            stop_s: 40 % of it for leaving by itself, 40 % after SIGTERM, 20 % (at least half a second) after SIGKILL.
        """
        if self._loop is None:
            self.watch(lambda: None)
        if self._ladder is None:
            self._ladder = asyncio.get_running_loop().create_task(self._climb(stop_s))
            self._ladder.add_done_callback(self._clean_up)  # not `finally`: a task cancelled before its first step has none
        return self._ladder

    async def _climb(self, stop_s: float) -> None:
        begun = time.monotonic()
        polite, firm = begun + 0.4 * stop_s, begun + 0.8 * stop_s
        last = firm + max(0.2 * stop_s, _KILL_WAIT_S)
        if await self._exits_by(polite):
            self._signal(signal.SIGTERM)  # what it left behind; the unreaped leader keeps the group's number ours
        else:
            self.close_stdin()
            self._signal(signal.SIGTERM)
            if not await self._exits_by(firm):
                self._signal(signal.SIGKILL)
                await self._exits_by(last)
        if self._reap() and not await self._group_gone_by(min(firm, time.monotonic() + 0.4 * stop_s)):
            self._signal(signal.SIGKILL)
            await self._group_gone_by(last)
        if strays := proctable.marked(self._mark):
            await _end_strays(strays, self._mark, last)

    def _clean_up(self, _ladder: asyncio.Task[None]) -> None:
        """After the ladder, also one that was cancelled, also under a process that SIGKILL has not ended yet."""
        if not self._reaped:
            _kill_and_reap(self.pid, self._mark)
        elif group_lives(self.pid):
            _signal_group(self.pid, signal.SIGKILL)
        for which in range(4):
            self._close(which)
        if self._poll is not None:
            self._poll.cancel()
        self._on_exit = None
        self._finalizer.detach()
        GUARDIAN.forget(self.pid)

    def _check(self) -> None:
        """Look whether the process has ended, leaving it unreaped where the system can do that."""
        if self.exited:
            return
        try:
            if hasattr(os, "waitid"):
                info = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if info is None:
                    return
                self.exit_code = info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
            elif not self._reap():
                return
        except ChildProcessError:
            self._reaped = True  # by somebody else: its status is lost
        self.exited = True
        self._forget(_PIDFD)
        if self._poll is not None:
            self._poll.cancel()
        if self._done is not None and not self._done.done():
            self._done.set_result(None)
        on_exit, self._on_exit = self._on_exit, None
        if on_exit is not None:
            on_exit()

    def _check_again(self) -> None:
        """Where there is no pidfd: look every now and then."""
        self._check()
        if not self.exited and self._loop is not None:
            self._poll = self._loop.call_later(_POLL_S, self._check_again)

    async def _exits_by(self, moment: float) -> bool:
        self._check()
        if not self.exited and self._done is not None:
            await asyncio.wait((self._done,), timeout=max(0.0, moment - time.monotonic()))
        return self.exited

    async def _group_gone_by(self, moment: float) -> bool:
        pause = _POLL_S / 2
        while group_lives(self.pid):
            if time.monotonic() >= moment:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True

    def _signal(self, number: signal.Signals) -> None:
        if not self._reaped or group_lives(self.pid):
            _signal_group(self.pid, number)

    def _reap(self) -> bool:
        """Take the status of the ended leader; after this, only living members keep the number of the group ours."""
        if self._reaped:
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.exit_code, self._reaped = os.waitstatus_to_exitcode(status), True
        except ChildProcessError:
            self._reaped = True
        return self._reaped

    def _forget(self, which: int) -> None:
        fd = self._fds[which]
        if fd >= 0 and self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(fd)
            if which == _STDIN:
                self._loop.remove_writer(fd)

    def _close(self, which: int) -> None:
        fd = self._fds[which]
        if fd >= 0:
            self._forget(which)
            self._fds[which] = -1
            os.close(fd)


def group_lives(pgid: int) -> bool:
    """Whether the process group has members that are not zombies.

    Zombies count as members for ``kill``, and where process 1 does not reap orphans they stay for ever, so on Linux /proc decides.
    """
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False  # the usual case, and a cheap one
    except PermissionError:
        pass
    told = False
    for row in proctable.rows():
        if row.group == row.session == pgid and row.lives:
            return True
        told = True
    return not told


def _pidfd(pid: int) -> int:
    """A descriptor that becomes readable when ``pid`` ends, or -1 where there is no such thing."""
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:  # old kernels, seccomp
        return -1


def _signal_group(pgid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pgid, number)
    except (ProcessLookupError, PermissionError):
        pass


async def _end_strays(strays: list[int], mark: str, last: float) -> None:
    """SIGTERM, then SIGKILL, to what left the group; they are looked for again before each, so that no number has a new owner."""
    _signal_each(strays, signal.SIGTERM)
    half = time.monotonic() + max(last - time.monotonic(), _KILL_WAIT_S) / 2
    while time.monotonic() < half:
        await asyncio.sleep(2 * _POLL_S)
        if not (strays := proctable.marked(mark)):
            return
    _signal_each(strays, signal.SIGKILL)


def _signal_each(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def _kill_and_reap(pid: int, mark: str) -> None:
    """Kill a group whose leader has not been reaped, and what left it, at once and without a loop."""
    _signal_group(pid, signal.SIGKILL)
    _signal_each(proctable.marked(mark), signal.SIGKILL)
    give_up = time.monotonic() + _KILL_WAIT_S
    try:
        while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < give_up:
            time.sleep(0.001)
    except ChildProcessError:
        pass


def _abandoned(pid: int, mark: str, owner: int, fds: list[int]) -> None:
    """Nobody stopped the child: its object was collected, or the interpreter exits. A fork of us leaves the child alone."""
    if os.getpid() == owner:
        _kill_and_reap(pid, mark)
        GUARDIAN.forget(pid)
    _close_all(fds)


def _close_all(fds: list[int]) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)
