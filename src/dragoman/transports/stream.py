"""A connected stream socket as a channel of lines: opening, closing and every end. How one is connected is said by a subclass."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from dragoman.errors import ConnectFailed, LocalProtocolError
from dragoman.transports.base import Closed, Sink
from dragoman.transports.pipe import LinePipe

CONNECT_S: Final = 5.0
FLUSH_S: Final = 1.0


class StreamTransport(LinePipe):
    """One message a line over a stream socket.

    Args:
        label: What to call the server.
        frame_limit: The longest message in bytes; a longer one is thrown away while it is read and reported.
        connect_s: How long connecting may take.
        flush_s: How long ``close`` waits for what is queued to be taken.
    """

    def __init__(self, label: str, *, frame_limit: int, connect_s: float, flush_s: float) -> None:
        super().__init__(label, frame_limit)
        self._connect_s, self._flush_s = connect_s, flush_s
        self._socket: socket.socket | None = None
        self._over = asyncio.Event()

    async def open(self, report: Sink) -> None:
        """Connect.

        Raises:
            ConnectFailed: Nobody listens there, or we may not connect.
        """
        if self._opened or self._closing:
            raise LocalProtocolError(f"the connection to {self.label} was opened before; make a new one")
        self._opened = True
        self._loop = asyncio.get_running_loop()
        connection = await self._connect()
        if self._over.is_set():  # closed meanwhile
            connection.close()
            raise ConnectFailed(f"{self.label} was closed while it was opened")
        self._socket, self._report = connection, report
        self._in = self._out = connection.fileno()
        self._loop.add_reader(self._in, self._readable)

    async def _connect(self) -> socket.socket:
        """A connected socket that does not block.

        Raises:
            ConnectFailed: With the reason in words.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Hand over what is queued, for at most ``flush_s``, hang up, and report ``Closed``."""
        self._closing = True
        if self._socket is None:
            self._over.set()
        else:
            if self._backlog and not self._over.is_set():
                try:
                    await asyncio.wait_for(self._over.wait(), self._flush_s)
                except TimeoutError:
                    pass  # it does not read
            self._end("closed by us")

    # --- the end ----------------------------------------------------------------------------------------------------

    def _close_input(self) -> None:
        """After ``close`` all is handed over, and this is the end; after a broken write what the peer said last may still arrive."""
        if self._socket is not None and self._pipe_full:
            self._pipe_full = False
            self._loop.remove_writer(self._socket.fileno())
        if self._closing:
            self._end("closed by us")

    def _end_of_output(self) -> None:
        self._take(self._splitter.end())
        self._end("hung up")

    def _finish(self) -> None:
        if self._read_last():
            self._end("closed its input" if self._input_broken else "hung up")

    def _end(self, reason: str) -> None:
        connection, self._socket = self._socket, None
        if connection is None:
            return
        report, self._report = self._report, None
        self._loop.remove_reader(connection.fileno())
        self._loop.remove_writer(connection.fileno())
        connection.close()
        self._in = self._out = -1
        self._rest = None
        if self._timer is not None:
            self._timer.cancel()
        self._backlog.clear()
        self._wake()
        self._over.set()
        if report is not None:
            report(Closed("closed by us" if self._closing else reason))
