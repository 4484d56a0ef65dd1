"""The use case of ``replay``: a transcript as a server, on stdin and stdout or at a URL."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from dragoman.transports.transcript import read


def replay_on_stdio(path: Path, *, cut: int | None, delay: bool) -> int:
    """Play until the input ends; returns the exit status.

    Raises:
        ConfigError: The file is no transcript.
    """
    from dragoman.transports.replay_stdio import serve_stdio

    return serve_stdio(read(path), cut=cut, delay=delay)


def replay_on_http(path: Path, port: int, *, cut: int | None, delay: bool, announce: Callable[[str], None]) -> Coroutine[Any, Any, int]:
    """Play on 127.0.0.1 until cancelled or cut; ``announce`` gets the URL.

    Raises:
        ConfigError: The file is no transcript; later, the port is taken.
    """
    from dragoman.transports.replay_program import serve_http

    return serve_http(read(path), port, cut=cut, delay=delay, announce=announce)
