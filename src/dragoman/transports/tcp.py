"""A server that listens on a TCP port: one message a line, as on stdio. Which hosts it may be on is said in ``wire/tcp.py``."""

from __future__ import annotations

import asyncio
import errno
import os
import socket

from dragoman.errors import ConfigError, ConnectFailed
from dragoman.transports.pipe import FRAME_LIMIT
from dragoman.transports.stream import CONNECT_S, FLUSH_S, StreamTransport
from dragoman.wire.tcp import BadAddress, TcpAddress, is_loopback
from dragoman.wire.tcp import tcp_address as read_address


class TcpTransport(StreamTransport):
    """A port as a channel.

    Args:
        address: Of the server, as :func:`tcp_address` reads it.
        frame_limit: The longest message in bytes; a longer one is thrown away while it is read and reported.
        connect_s: How long finding the host and connecting may take in all.
        flush_s: How long ``close`` waits for what is queued to be taken.
        label: What to call the server; its URL by default.
    """

    def __init__(
        self,
        address: TcpAddress,
        *,
        frame_limit: int = FRAME_LIMIT,
        connect_s: float = CONNECT_S,
        flush_s: float = FLUSH_S,
        label: str | None = None,
    ) -> None:
        self._address = address
        super().__init__(label or address.url, frame_limit=frame_limit, connect_s=connect_s, flush_s=flush_s)

    async def _connect(self) -> socket.socket:
        try:
            async with asyncio.timeout(self._connect_s):
                return await self._first_that_answers(await self._found())
        except TimeoutError:
            raise ConnectFailed(
                f"cannot connect to {self.label}: no connection within {self._connect_s:g} s", hint="check host and port, or the firewall"
            ) from None

    async def _found(self) -> list[tuple[socket.AddressFamily, tuple[str, int]]]:
        host, port, elsewhere = self._address
        try:
            found = await self._loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:
            words = exc.strerror if isinstance(exc, OSError) else str(exc)
            raise ConnectFailed(f"cannot find the host of {self.label}: {words}", hint="check the host's name, and the network") from exc
        places = [(socket.AddressFamily(family), (str(place[0]), port)) for family, _, _, _, place in found]
        ours = [one for one in places if elsewhere or is_loopback(one[1][0])]
        if not ours:  # a name that says localhost, where the name server says otherwise
            raise ConnectFailed(
                f"{self.label} is at {places[0][1][0]}, not on this machine, and plain TCP is neither encrypted nor authenticated",
                hint=self._address.ways_out,
            )
        return ours

    async def _first_that_answers(self, places: list[tuple[socket.AddressFamily, tuple[str, int]]]) -> socket.socket:
        last: OSError | None = None
        for family, place in places:
            try:
                connection = socket.socket(family, socket.SOCK_STREAM)
            except OSError as exc:  # no descriptor is left, or no such family here
                last = exc
                continue
            connection.setblocking(False)
            try:
                await self._loop.sock_connect(connection, place)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a call is one small write that waits for its answer
                return connection
            except OSError as exc:
                connection.close()
                last = exc
            except BaseException:
                connection.close()
                raise
        number = last.errno if last is not None else None
        words = "nobody listens there" if number == errno.ECONNREFUSED else os.strerror(number) if number else str(last)
        raise ConnectFailed(f"cannot connect to {self.label}: {words}", hint="is the server running, and is the port right?") from last


def tcp_address(url: str) -> TcpAddress:
    """The address in a ``tcp://host:port`` URL.

    Raises:
        ConfigError: It is none, or leads off this machine without saying so.
    """
    try:
        return read_address(url)
    except BadAddress as exc:
        raise ConfigError(exc.message, hint=exc.hint) from None
