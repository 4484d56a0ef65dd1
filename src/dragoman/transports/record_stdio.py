"""In the middle between a client on our stdin and stdout and a server's process: bytes pass as they are, and are written down."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.transports.process import Child, spawn
from dragoman.transports.transcript import Side, TranscriptWriter

_READ: Final = 65536
_LINE_LIMIT: Final = 128 << 20
_HIGH: Final = 1 << 20  # so much may wait for a slow reader before the other side is read no further
_LOW: Final = _HIGH // 4
_FLUSH_S: Final = 2.0
_LAST_READS: Final = 64


async def record_stdio(
    command: Sequence[str],
    writer: TranscriptWriter,
    *,
    env: Mapping[str, str] | None,
    cwd: str | None = None,
    stop_s: float = 5.0,
    stdin: int = 0,
    stdout: int = 1,
    stderr: int = 2,
) -> int:
    """Run a command between our own descriptors until it ends, our input ends, or we are cancelled.

    Args:
        env: The whole environment of the command.
        stop_s: How long it may take to end, once it is asked to.

    Returns:
        Its exit status as a shell would say it; 0 where it was we who ended it.

    Raises:
        SpawnFailed: The command cannot be run.
    """
    relay = _Relay(spawn(command, env=env, cwd=cwd), writer, stdin, stdout, stderr)
    try:
        relay.start()
        await relay.over
    finally:
        await relay.stop(stop_s)
    return relay.status


class _Relay:
    def __init__(self, child: Child, writer: TranscriptWriter, stdin: int, stdout: int, stderr: int) -> None:
        self._child, self._writer = child, writer
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self.status = 0
        self._ours = False
        self._lines: dict[Side, LineSplitter] = {"client": LineSplitter(_LINE_LIMIT), "server": LineSplitter(_LINE_LIMIT)}
        self._input = _Inlet(stdin, self._loop, self._heard)
        self._output = _Outlet(stdout, self._loop, self._resume, self._deaf)
        self._errors = _Outlet(stderr, self._loop, self._resume, lambda: None)
        self._unsent = bytearray()

    def start(self) -> None:
        self._loop.add_reader(self._child.stdout, self._said)
        self._loop.add_reader(self._child.stderr, self._complained)
        self._child.watch(self._exited)
        self._input.start()
        self._output.start()
        self._errors.start()

    async def stop(self, stop_s: float) -> None:
        self._ours = self._ours or not self._child.exited
        self._child.close_stdin()
        await self._child.stop(stop_s)
        self._note("server", self._lines["server"].end())
        self._note("client", self._lines["client"].end())
        code = self._child.exit_code
        if self._ours:
            self._writer.add("client", end="the input ended")
        else:
            self._writer.add(
                "server", end="exited" if code is None else f"exited with status {code}" if code >= 0 else f"killed by signal {-code}"
            )
            self.status = 0 if code is None else code if code >= 0 else 128 - code
        await asyncio.gather(self._output.drained(), self._errors.drained())

    # --- the client, from its thread on the loop --------------------------------------------------------------------

    def _heard(self, chunk: bytes) -> None:
        if not chunk:
            self._deaf()
            return
        self._note("client", self._lines["client"].feed(chunk))
        self._unsent += chunk
        self._send()

    def _send(self) -> None:
        descriptor = self._child.stdin
        if descriptor < 0:
            self._unsent.clear()
        while self._unsent:
            try:
                del self._unsent[: os.write(descriptor, self._unsent)]
            except (BlockingIOError, InterruptedError):
                self._loop.add_writer(descriptor, self._send)
                return
            except OSError:  # it reads no more; whether it still speaks is seen on its output
                self._unsent.clear()
        if descriptor >= 0:
            self._loop.remove_writer(descriptor)
        self._input.go_on()

    def _deaf(self) -> None:
        """The client sends no more, or reads no more: for the server that is the end."""
        self._ours = self._ours or not self._child.exited
        if not self.over.done():
            self.over.set_result(None)

    # --- the server ---------------------------------------------------------------------------------------------

    def _said(self) -> bool:
        chunk = _read(self._child.stdout)
        if chunk == b"":
            self._child.close_stdout()
        if not chunk:
            return False
        self._note("server", self._lines["server"].feed(chunk))
        if self._output.put(chunk):
            self._loop.remove_reader(self._child.stdout)
        return True

    def _complained(self) -> bool:
        chunk = _read(self._child.stderr)
        if chunk == b"":
            self._child.close_stderr()
        if not chunk:
            return False
        if self._errors.put(chunk):
            self._loop.remove_reader(self._child.stderr)
        return True

    def _resume(self) -> None:
        if self._child.stdout >= 0:
            self._loop.add_reader(self._child.stdout, self._said)
        if self._child.stderr >= 0:
            self._loop.add_reader(self._child.stderr, self._complained)

    def _exited(self) -> None:
        for read in (self._said, self._complained):
            for _ in range(_LAST_READS):  # what its pipes still hold; a grandchild may go on for ever
                if not read():
                    break
        if not self.over.done():
            self.over.set_result(None)

    def _note(self, side: Side, lines: Sequence[bytes | bytearray | Discarded]) -> None:
        for line in lines:
            if isinstance(line, Discarded):
                self._writer.add(side, line.head, end=f"{line.size} bytes, of which the first are kept")
            else:
                self._writer.add(side, line)


def _read(descriptor: int) -> bytes | None:
    """What there is; ``b""`` at the end; ``None``: nothing now, or closed already."""
    if descriptor < 0:
        return None
    try:
        return os.read(descriptor, _READ)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


class _Inlet:
    """Reads one of our descriptors in a thread: it may be a terminal or a file, and is not ours alone, so it stays blocking."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop, got: Callable[[bytes], None]) -> None:
        self._descriptor, self._loop, self._got = descriptor, loop, got
        self._may = threading.Semaphore(1)

    def start(self) -> None:
        threading.Thread(target=self._run, name="record stdin", daemon=True).start()

    def go_on(self) -> None:
        """What was read has been passed on."""
        self._may.release()

    def _run(self) -> None:
        chunk = b"x"
        while chunk:
            self._may.acquire()
            try:
                chunk = os.read(self._descriptor, _READ)
            except OSError:
                chunk = b""
            try:
                self._loop.call_soon_threadsafe(self._got, chunk)
            except RuntimeError:  # the loop is over
                return


class _Outlet:
    """Writes to one of our descriptors in a thread, so that a client that does not read stops nothing but its own server."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop, low: Callable[[], None], broken: Callable[[], None]) -> None:
        self._descriptor, self._loop, self._low, self._broken = descriptor, loop, low, broken
        self._queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._waiting = 0
        self._done: asyncio.Future[None] = loop.create_future()

    def start(self) -> None:
        threading.Thread(target=self._run, name="record output", daemon=True).start()

    def put(self, chunk: bytes) -> bool:
        """Write it soon; true where enough is waiting."""
        self._waiting += len(chunk)
        self._queue.put(chunk)
        return self._waiting > _HIGH

    async def drained(self) -> None:
        """Wait until everything is written, but not for ever."""
        self._queue.put(None)
        await asyncio.wait([self._done], timeout=_FLUSH_S)

    def _run(self) -> None:
        try:
            while (chunk := self._queue.get()) is not None:
                try:
                    view = memoryview(chunk)
                    while view:
                        view = view[os.write(self._descriptor, view) :]
                except OSError:
                    self._loop.call_soon_threadsafe(self._broken)
                    break
                self._loop.call_soon_threadsafe(self._wrote, len(chunk))
            self._loop.call_soon_threadsafe(self._finished)
        except RuntimeError:  # the loop is over
            return

    def _wrote(self, size: int) -> None:
        before, self._waiting = self._waiting, self._waiting - size
        if before > _LOW >= self._waiting:
            self._low()

    def _finished(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
