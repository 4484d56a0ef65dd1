"""What a client is pointed at: a command, a URL or a transport, and what follows from it."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from dragoman.errors import LocalProtocolError
from dragoman.transports.base import Transport

FRAME_LIMIT: Final = 128 * 2**20
_SOCKET: Final = "unix://"
_LINES: Final = (_SOCKET, "tcp://", "tcp+unencrypted://")  # channels with the framing of stdio
_SOCKETS: Final = ("ws://", "wss://")


class Place(NamedTuple):
    """Where a command starts: the variables set for it, the names of more to pass on, where those come from, and the folder.

    ``guarded``: the guardian ends it if this process is killed.
    """

    env: Mapping[str, str] | None = None
    inherit: Sequence[str] = ()
    base_env: Mapping[str, str] | None = None
    cwd: str | os.PathLike[str] | None = None
    guarded: bool = True


class Web(NamedTuple):
    """What is for URLs only: headers of every request, and seconds for connecting and of silence."""

    headers: Mapping[str, str] | None
    connect_s: float
    idle_s: float


Target = Sequence[str] | str | Transport


def transport_for(
    target: Target,
    place: Place,
    *,
    web: Web,
    frame_limit: int,
    stop_s: float,
    stderr: Callable[[bytes], None] | None,
) -> tuple[Callable[[], Transport], str, str | None]:
    """A maker of transports, what to call the server, and the key its era is remembered under."""
    if isinstance(target, str):
        if "://" not in target:
            raise LocalProtocolError(
                f"{target!r} is neither a URL nor a list",
                hint=f"pass a command as a list: {shlex.split(target) if target else ['python3', 'server.py']}",
            )
        if target.startswith(_LINES):
            return _lines(target, web, frame_limit)
        from urllib.parse import urlsplit

        parts = urlsplit(target)
        kind: Callable[..., Transport]
        if target.startswith(_SOCKETS):
            from dragoman.transports.websocket import WebSocketTransport as kind
        else:
            from dragoman.transports.http import HttpTransport as kind
        make = partial(kind, target, frame_limit=frame_limit, **web._asdict())
        first = make()
        return (
            _fresh(first, make),
            first.label,
            f"{parts.scheme}://{parts.hostname}:{parts.port}",
        )
    if isinstance(target, Sequence):
        from dragoman.transports.environment import child_environment
        from dragoman.transports.stdio import StdioTransport

        command = [str(part) for part in target]
        if not command:
            raise LocalProtocolError("the command is empty", hint="pass at least the program: ['python3', 'server.py']")
        environment = child_environment(place.env, place.inherit, place.base_env)

        def spawn() -> Transport:
            return StdioTransport(
                command,
                env=environment,
                cwd=place.cwd,
                frame_limit=frame_limit,
                stop_s=stop_s,
                stderr_sink=stderr,
                guarded=place.guarded,
            )

        return spawn, shlex.join(command), "\0".join([*command, str(place.cwd or "")])
    used: list[Transport] = []

    def once() -> Transport:
        if used:
            raise LocalProtocolError("a transport object is opened once; pass a command or URL to connect again")
        used.append(target)
        return target

    return once, target.label, None


def _lines(url: str, web: Web, frame_limit: int) -> tuple[Callable[[], Transport], str, str]:
    """A server at a socket or a port, which speaks as on stdio."""
    if web.headers:
        raise LocalProtocolError(f"headers cannot be sent to {url}: they belong to HTTP", hint="leave headers out")
    if url.startswith(_SOCKET):
        from dragoman.transports.unix import UnixTransport, socket_path

        path = socket_path(url)
        return (lambda: UnixTransport(path, frame_limit=frame_limit, connect_s=web.connect_s)), f"{_SOCKET}{path}", f"{_SOCKET}{path}"
    from dragoman.transports.tcp import TcpTransport, tcp_address

    address = tcp_address(url)
    return (lambda: TcpTransport(address, frame_limit=frame_limit, connect_s=web.connect_s)), address.url, address.url


def fallback_for(target: Target, *, web: Web, frame_limit: int) -> Callable[[], Transport] | None:
    """A maker of transports to try on a URL whose server speaks nothing newer than 2024-11-05."""
    if not isinstance(target, str) or target.startswith(_LINES + _SOCKETS):
        return None

    def make() -> Transport:
        from dragoman.transports.sse_legacy import SseTransport

        return SseTransport(target, frame_limit=frame_limit, **web._asdict())

    return make


def positive(name: str, seconds: float) -> float:
    """``seconds``, if that is a finite number above 0.

    Raises:
        LocalProtocolError: It is none.
    """
    if not (isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < math.inf):
        raise LocalProtocolError(f"{name} must be a number of seconds above 0, got {seconds!r}", hint="leave it out for the default")
    return seconds


def _fresh(first: Transport, make: Callable[[], Transport]) -> Callable[[], Transport]:
    spare = [first]
    return lambda: spare.pop() if spare else make()
