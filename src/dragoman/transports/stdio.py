"""A server on the pipes of a child process: one message a line on stdin and stdout. It does not look into messages."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dragoman.errors import LocalProtocolError
from dragoman.transports.base import Closed, Sink
from dragoman.transports.pipe import FRAME_LIMIT, READ, LinePipe
from dragoman.transports.process import Child, spawn

log = logging.getLogger("dragoman.stdio")

_TAIL: Final = 4096
_FLOOD: Final = 1 << 20  # of stderr taken in a quarter of a second; who writes more waits for the next, as for a slow terminal
_PAUSE_S: Final = 0.25
_LAUNCHER_WORDS: Final = frozenset({"-y", "--yes", "-q", "--quiet", "-u", "-m", "run", "exec", "x", "tool"})


class StdioTransport(LinePipe):
    """A child process as a channel.

    Args:
        command: Program and arguments; no shell sees them.
        env: The whole environment of the child; ``None`` is a copy of ours, with every secret in it.
        cwd: Its working folder; ours if ``None``.
        frame_limit: The longest message in bytes; a longer one is thrown away while it is read and reported.
        stop_s: How long ``close`` may take: see ``Child.stop``.
        stderr_sink: Gets what the child writes on stderr, e.g. ``LogFile(...).write``. Dropped when it raises.
        label: What to call the server in messages; by default the program and, after a launcher, what it launches.
        guarded: The guardian ends it if this process is killed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None,
        cwd: str | os.PathLike[str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        stop_s: float = 5.0,
        stderr_sink: Callable[[bytes], None] | None = None,
        label: str | None = None,
        guarded: bool = True,
    ) -> None:
        super().__init__(label if label is not None else name_of(command), frame_limit)
        self._command, self._env, self._cwd = command, env, cwd
        self._stop_s, self._stderr_sink, self._guarded = stop_s, stderr_sink, guarded
        self._child: Child | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._stderr_tail = b""
        self._stderr_room, self._stderr_since = _FLOOD, 0.0

    @property
    def pid(self) -> int | None:
        """Of the child, once opened."""
        return self._child.pid if self._child is not None else None

    @property
    def stderr_tail(self) -> str:
        """The end of what the child has written on stderr so far, at most 4 KB."""
        return self._stderr_tail.decode("utf-8", "replace")

    # --- the contract -----------------------------------------------------------------------------------------------

    async def open(self, report: Sink) -> None:
        """Start the process. Raises ``SpawnFailed``; a process that starts and ends at once is a ``Closed`` report."""
        if self._child is not None or self._closing:
            raise LocalProtocolError(f"the connection to {self.label} was opened before; make a new one")
        child = self._child = spawn(self._command, env=self._env, cwd=self._cwd, guarded=self._guarded)
        self._loop = asyncio.get_running_loop()
        self._report, self._opened = report, True
        self._in, self._out = child.stdin, child.stdout
        self._loop.add_reader(child.stdout, self._readable)
        self._loop.add_reader(child.stderr, self._stderr_readable)
        child.watch(self._finish)

    async def close(self) -> None:
        """Close stdin, wait, SIGTERM, wait, SIGKILL, all to the whole process group; ``stop_s`` in all."""
        self._closing = True
        child = self._child
        if child is None:
            return
        if self._stopping is None:
            if not self._backlog:  # else it is closed when the backlog is written, or at SIGTERM
                self._in = -1
                child.close_stdin()
            if child.exited:
                self._finish()
        await asyncio.shield(self._begin_stop(child))

    # --- the pipes --------------------------------------------------------------------------------------------------

    def _input(self) -> int:
        return self._child.stdin if self._child is not None else -1

    def _close_input(self) -> None:
        if self._child is not None:
            self._child.close_stdin()

    def _end_of_output(self) -> None:
        if self._child is None or self._out < 0:
            return
        self._out = -1
        self._child.close_stdout()
        self._take(self._splitter.end())
        if self._child.exited:
            self._finish()
        else:
            self._within_grace()

    def _stderr_readable(self) -> None:
        child = self._child
        if child is None or child.stderr < 0:
            return
        try:
            chunk = os.read(child.stderr, READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            child.close_stderr()
            return
        now = self._loop.time()
        if now - self._stderr_since >= _PAUSE_S:
            self._stderr_since, self._stderr_room = now, _FLOOD
        self._stderr_room -= len(chunk)
        if self._stderr_room <= 0:
            self._loop.remove_reader(child.stderr)
            self._loop.call_at(self._stderr_since + _PAUSE_S, self._read_stderr_on)
        self._stderr_tail = chunk[-_TAIL:] if len(chunk) >= _TAIL else (self._stderr_tail + chunk)[-_TAIL:]
        if self._stderr_sink is not None:
            try:
                self._stderr_sink(chunk)
            except Exception as exc:  # a full disk must not stop the server
                log.warning("stderr of %s is no longer written to its log: %s", self.label, exc)
                self._stderr_sink = None

    def _read_stderr_on(self) -> None:
        if self._child is not None and self._child.stderr >= 0:
            self._loop.add_reader(self._child.stderr, self._stderr_readable)

    # --- the end ----------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        """Report the end, once, after what the pipes still hold, and see to it that the process group is gone.

        Does not wait for the end of the output: a grandchild may keep it open for ever.
        """
        child, report = self._child, self._report
        if child is None or report is None:
            return
        self._out = child.stdout
        if self._closing:
            self._take_some()  # nothing of it is told; the pipe is read on
        elif not self._read_last():
            return
        self._stderr_readable()
        if self._report is None:  # reading the rest may have got here first
            return
        self._report = None
        if self._timer is not None:
            self._timer.cancel()
        self._backlog.clear()
        self._wake()
        self._in = -1
        child.close_stdin()
        self._begin_stop(child)
        report(Closed(self._reason(child), self.stderr_tail, child.exit_code))

    def _reason(self, child: Child) -> str:
        code = child.exit_code
        if not child.exited:
            return "closed by us" if self._closing else "closed its input" if self._input_broken and self._out >= 0 else "closed its output"
        if code is None:
            return "exited"
        if code >= 0:
            return f"exited with status {code}"
        try:
            return f"killed by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def _begin_stop(self, child: Child) -> asyncio.Task[None]:
        if self._stopping is None:
            self._stopping = child.begin_stop(self._stop_s)
            self._stopping.add_done_callback(lambda _: self._finish())
        return self._stopping


def name_of(command: Sequence[str]) -> str:
    """Program and subject of a command (``npx server-everything``), leaving out what may be a secret: options, URLs, assignments."""
    if isinstance(command, str) or not command:
        return "server"
    name = os.path.basename(command[0])
    for argument in command[1:]:
        if argument not in _LAUNCHER_WORDS:
            return f"{name} {argument}" if re.fullmatch(r"[@\w./][@\w./+-]{0,79}", argument) else name
    return name
