"""What channels of lines share: writing lines to a descriptor without blocking, and reading them off one. It opens and ends nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import STDIO, Close, Performable, Send, Traits
from dragoman.protocol.lines import Discarded, Line, LineSplitter
from dragoman.transports.base import Oversized, Received, Sink, Weigh

FRAME_LIMIT: Final = 128 << 20
READ: Final = 256 << 10  # more in one read costs malloc a trip to the kernel
GRACE_S: Final = 0.5  # between the end of one direction and the end that explains it
_HIGH: Final = 256 << 10
_LOW: Final = 64 << 10
_AT_ONCE: Final = 128  # lines in one callback of the loop: a read can hold 131,072 of them, and other servers wait meanwhile
_LAST_READS: Final = 8  # what a pipe holds at the exit, and the end after it; a grandchild may go on writing for ever


class LinePipe:
    """One message a line, both ways, on descriptors that do not block.

    A subclass sets ``_loop``, ``_report``, ``_in`` and ``_out`` when it opens, registers ``_readable``, and says in the methods at
    the end of this class what an end means.
    """

    traits: Traits = STDIO

    def __init__(self, label: str, frame_limit: int) -> None:
        self.label = label
        self._frame_limit = frame_limit
        self.weigh: Weigh | None = None
        self._splitter = LineSplitter(frame_limit, self._weigh)
        self._loop: asyncio.AbstractEventLoop
        self._report: Sink | None = None  # gone after Closed
        self._opened = self._closing = False
        self._timer: asyncio.TimerHandle | None = None
        self._out = self._in = -1
        self._input_broken = False
        self._backlog = bytearray()  # what the peer has not taken yet
        self._wrote = False  # since something last arrived
        self._scheduled = False  # a flush comes with the next turn of the loop
        self._pipe_full = False  # a flush comes when the pipe has room
        self._below_low: asyncio.Future[None] | None = None
        self._rest: Iterator[Line | Discarded] | None = None  # of a read with many lines; nothing is read until they are taken
        self._after_rest: Callable[[], None] | None = None
        self._last_reads = _LAST_READS

    async def perform(self, action: Performable) -> None:
        """Write a message at once when it is alone, with the others of this turn of the loop otherwise.

        Waits only while more than 256 KB are queued, before and after: a peer that does not read has one long message waiting for it at
        most. Cancelling tears nothing: a message is written whole or not at all.
        """
        if type(action) is Send:
            while len(self._backlog) > _HIGH:
                await self._until_low()
            self._write(action.message)
            if len(self._backlog) > _HIGH:
                await self._until_low()
        elif type(action) is Close:
            await self.close()

    def try_send(self, action: Send) -> bool:
        """Take a message as :meth:`perform` does, without a coroutine; false, and nothing done, where that might have to wait."""
        message = action.message
        if len(self._backlog) + len(message) > _HIGH:
            return False
        self._write(message)
        return True

    async def close(self) -> None:
        """End the channel."""
        raise NotImplementedError

    # --- writing ----------------------------------------------------------------------------------------------------

    def _write(self, message: bytes) -> None:
        # Alone means: something has arrived since the last write. Otherwise others are under way, and this message waits
        # one turn of the loop for more to come along: 64 calls in flight then cost two system calls instead of 64.
        if self._wrote or self._backlog:
            self._queue(message)
            return
        if self._in < 0 or self._closing:
            self._refuse()
            return
        self._wrote = True
        data = message + b"\n"
        try:
            sent = os.write(self._in, data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._break_input()
            return
        if sent != len(data):
            self._backlog += memoryview(data)[sent:]
            self._pipe_full = True
            self._loop.add_writer(self._in, self._flush)

    def _queue(self, message: bytes) -> None:
        if self._in < 0 or self._closing:
            self._refuse()
            return
        self._backlog += message
        self._backlog += b"\n"
        if not (self._scheduled or self._pipe_full):
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _refuse(self) -> None:
        """Not an error after the end, which has been reported; before the beginning it is a bug of the caller."""
        if not self._opened and not self._closing:
            raise LocalProtocolError(f"the connection to {self.label} is not open yet; await open() first")

    def _flush(self) -> None:
        self._scheduled = False
        fd = self._input()
        if fd < 0:
            return
        try:
            sent = os.write(fd, self._backlog) if self._backlog else 0
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._break_input()
            return
        del self._backlog[:sent]
        if self._below_low is not None and len(self._backlog) <= _LOW:
            self._wake()
        if self._backlog:
            if not self._pipe_full:
                self._pipe_full = True
                self._loop.add_writer(fd, self._flush)
            return
        if self._pipe_full:
            self._pipe_full = False
            self._loop.remove_writer(fd)
        if self._closing:
            self._in = -1
            self._close_input()

    def _break_input(self) -> None:
        """The peer closed its input, usually by ending, which is reported when it is seen; if it is not, it ends here."""
        if not self._opened:
            return
        self._in, self._input_broken = -1, True
        self._close_input()
        self._backlog.clear()
        self._wake()
        self._within_grace()

    def _wake(self) -> None:
        waiter, self._below_low = self._below_low, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def _until_low(self) -> None:
        if self._below_low is None:
            self._below_low = self._loop.create_future()
        await asyncio.shield(self._below_low)  # shared: one cancelled caller must not wake or cancel the others

    def _weigh(self, head: bytes) -> int | None:
        return self.weigh(head, None) if self.weigh is not None else None

    # --- reading ----------------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        try:
            chunk = os.read(self._out, READ)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if chunk:
            self._wrote = False
            self._take(self._splitter.feed(chunk))
        else:
            self._end_of_output()

    def _take(self, lines: Sequence[Line | Discarded]) -> None:
        if len(lines) <= _AT_ONCE:
            self._tell(lines)
            return
        if self._out >= 0:
            self._loop.remove_reader(self._out)
        self._rest = iter(lines)
        self._take_some()

    def _take_some(self) -> None:
        """The next of many lines; then others have their turn, and after the last line reading goes on."""
        if self._rest is None:
            return
        lines = list(islice(self._rest, _AT_ONCE))
        if self._report is not None and not self._closing:
            self._tell(lines)
            if len(lines) == _AT_ONCE:
                self._loop.call_soon(self._take_some)
                return
        self._rest = None
        if self._out >= 0:
            self._loop.add_reader(self._out, self._readable)
        after, self._after_rest = self._after_rest, None
        if after is not None:
            after()

    def _tell(self, lines: Sequence[Line | Discarded]) -> None:
        report = self._report
        if report is None or self._closing:  # still read, so that a server that writes without end can be asked to leave
            return
        for line in lines:
            if type(line) is Discarded:
                report(Oversized(line.head, line.tail, line.size, self._frame_limit))
            else:
                report(Received(line))  # type: ignore[arg-type]  # `type() is` is cheaper than isinstance, but does not narrow

    def _read_last(self) -> bool:
        """Take what is left in the pipe; ``False`` where there is so much that ``_finish`` is called again after it."""
        while self._rest is None and self._out >= 0 and self._last_reads > 0:
            self._last_reads -= 1
            self._readable()
        if self._rest is None:
            return True
        self._after_rest = self._finish
        return False

    def _within_grace(self) -> None:
        if self._timer is None and self._report is not None:
            self._timer = self._loop.call_later(GRACE_S, self._finish)

    # --- what a subclass says ---------------------------------------------------------------------------------------

    def _input(self) -> int:
        """The descriptor that the peer reads from, -1 once it is closed."""
        return self._in

    def _close_input(self) -> None:
        """No more will be written."""
        raise NotImplementedError

    def _end_of_output(self) -> None:
        """The peer writes no more."""
        raise NotImplementedError

    def _finish(self) -> None:
        """Report the end, once, and let go of everything."""
        raise NotImplementedError
