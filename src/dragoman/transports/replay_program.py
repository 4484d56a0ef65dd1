"""``python -m dragoman.transports.replay_program FILE``: a transcript as a server of its own, on the standard library alone."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from dragoman.errors import ConfigError
from dragoman.transports.replay_stdio import CUT_STATUS, serve_stdio
from dragoman.transports.transcript import Transcript, read


async def serve_http(transcript: Transcript, port: int, *, cut: int | None, delay: bool, announce: Callable[[str], None]) -> int:
    """Play on HTTP until SIGTERM, Ctrl-C or the cut; ``announce`` gets the URL. Returns the exit status.

    Raises:
        ConfigError: The port is taken.
    """
    from dragoman.transports.replay_http import HttpReplay

    server = HttpReplay(transcript, cut=cut, delay=delay)
    try:
        await server.start(port)
    except OSError as exc:
        raise ConfigError(f"port {port} cannot be used: {exc.strerror or exc}", hint="--http 0 takes any free one") from exc
    try:
        announce(server.url)
        await server.ended.wait()
        await asyncio.sleep(0.05)  # for what was written to leave this process
        return CUT_STATUS
    finally:
        server.stop()


def main(words: list[str]) -> int:
    """Run; returns the exit status."""
    parser = argparse.ArgumentParser(prog="replay_program", description="A transcript as a server on stdio, or on HTTP.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--cut", type=int, metavar="BYTE")
    parser.add_argument("--delay", action="store_true")
    found = parser.parse_args(words)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        transcript = read(found.file)
        if found.http is None:
            return serve_stdio(transcript, cut=found.cut, delay=found.delay)
        with contextlib.suppress(KeyboardInterrupt):
            return asyncio.run(serve_http(transcript, found.http, cut=found.cut, delay=found.delay, announce=_announce))
    except ConfigError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 2
    return 0


def _announce(url: str) -> None:
    print(url, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
