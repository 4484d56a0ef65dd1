"""A server that listens on a Unix domain socket: one message a line, as on stdio. It starts no server."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
from typing import Final
from urllib.parse import unquote, urlsplit

from dragoman.errors import ConfigError, ConnectFailed
from dragoman.transports.pipe import FRAME_LIMIT
from dragoman.transports.stream import CONNECT_S, FLUSH_S, StreamTransport

_RETRY_S: Final = 0.02


class UnixTransport(StreamTransport):
    """A socket in the file system as a channel.

    Args:
        path: Of the socket.
        frame_limit: The longest message in bytes; a longer one is thrown away while it is read and reported.
        connect_s: How long to wait for a server whose queue of connections is full.
        flush_s: How long ``close`` waits for what is queued to be taken.
        label: What to call the server; ``unix://`` and the path by default.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        frame_limit: int = FRAME_LIMIT,
        connect_s: float = CONNECT_S,
        flush_s: float = FLUSH_S,
        label: str | None = None,
    ) -> None:
        self._path = os.fspath(path)
        super().__init__(label or f"unix://{self._path}", frame_limit=frame_limit, connect_s=connect_s, flush_s=flush_s)

    async def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            async with asyncio.timeout(self._connect_s):
                while True:
                    try:
                        connection.connect(self._path)
                        return connection
                    except BlockingIOError:  # its queue is full; nothing tells when it no longer is
                        await asyncio.sleep(_RETRY_S)
        except TimeoutError:
            connection.close()
            raise ConnectFailed(
                f"{self.label} did not accept a connection within {self._connect_s:g} s",
                hint="the server hangs or is overrun: connections wait in its queue, and it takes none",
            ) from None
        except (OSError, ValueError) as exc:
            connection.close()
            raise self._refused(exc) from exc
        except BaseException:
            connection.close()
            raise

    def _refused(self, exc: OSError | ValueError) -> ConnectFailed:
        number = exc.errno if isinstance(exc, OSError) else None
        if number == errno.ENOENT:
            return ConnectFailed(f"cannot connect to {self.label}: there is no such socket", hint="start the server, or check the path")
        if number in (errno.EACCES, errno.EPERM):
            return ConnectFailed(
                f"cannot connect to {self.label}: permission denied",
                hint="connecting needs the right to write to the socket and to enter its folders; ask the one who runs the server",
            )
        if number == errno.ECONNREFUSED:
            if not self._is_socket():
                return ConnectFailed(f"cannot connect to {self.label}: it is no socket", hint="check the path")
            return ConnectFailed(f"cannot connect to {self.label}: nobody listens on it", hint="the server has ended; start it again")
        if number is None:
            length = len(os.fsencode(self._path))
            return ConnectFailed(
                f"cannot connect to {self.label}: {exc} (it has {length} bytes)", hint="most systems allow 107; use a shorter path"
            )
        return ConnectFailed(f"cannot connect to {self.label}: {exc.strerror if isinstance(exc, OSError) else exc}")

    def _is_socket(self) -> bool:
        try:
            return stat.S_ISSOCK(os.stat(self._path).st_mode)
        except OSError:
            return True  # gone meanwhile: it was refused by something


def socket_path(url: str) -> str:
    """The path in a ``unix:///path`` URL, with ``%20`` and the like decoded.

    Raises:
        ConfigError: It has a host, a query or a fragment, or no absolute path.
    """
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc or not path.startswith("/") or "\0" in path:
        raise ConfigError(f"{url!r} names no socket by an absolute path", hint="write three slashes, as in unix:///run/server.sock")
    if parts.query or parts.fragment:
        raise ConfigError(f"{url!r} has a query or a fragment, which a socket has not", hint="write %3F for a ? and %23 for a #")
    return path
