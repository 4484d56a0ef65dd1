"""A recorded conversation as a server for tests: inside the test, as a command to start, or at a URL; the wire can be cut at any byte.

async with dragoman.Client(replay("talk.jsonl")) as client: ...
async with dragoman.Client(replay_command("talk.jsonl", cut=700)) as client: ...
async with replay_http("talk.jsonl") as server, dragoman.Client(server.url) as client: ...
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.transports.base import Transport
from dragoman.transports.record import RecordingTransport
from dragoman.transports.replay_http import HttpReplay
from dragoman.transports.replay_stdio import ReplayTransport
from dragoman.transports.transcript import Redact, Transcript, TranscriptWriter, read

Source = str | os.PathLike[str] | Transcript


def replay(source: Source, *, cut: int | None = None, delay: bool = False, frame_limit: int = 128 << 20) -> ReplayTransport:
    """A transport that plays a transcript inside this process; good for one connection.

    Args:
        source: A file, or a transcript that was read.
        cut: The server ends after this many bytes of what it writes.
        delay: As slow as it was.
        frame_limit: The longest message in bytes, as of any transport.

    Raises:
        ConfigError: The file is no transcript.
    """
    return ReplayTransport(_read(source), cut=cut, delay=delay, frame_limit=frame_limit)


def replay_command(path: str | os.PathLike[str], *, cut: int | None = None, delay: bool = False, http: int | None = None) -> list[str]:
    """The command of a process that plays a transcript on stdio, or prints a URL and plays it there (``http``: its port, 0 for any)."""
    words = [sys.executable, "-m", "dragoman.transports.replay_program", os.fspath(Path(path).absolute())]
    words += ["--cut", str(cut)] if cut is not None else []
    words += ["--delay"] if delay else []
    return words + (["--http", str(http)] if http is not None else [])


def replay_http(source: Source, *, cut: int | None = None, delay: bool = False) -> HttpReplay:
    """A server at a URL of this process: ``async with replay_http(…) as server: … server.url``."""
    return HttpReplay(_read(source), cut=cut, delay=delay)


def record(
    inner: Transport, path: str | os.PathLike[str], *, redact: Redact | None = None, target: Mapping[str, Any] | None = None
) -> tuple[RecordingTransport, TranscriptWriter]:
    """``inner``, written down in a new file, and the writer to close in the end.

    Args:
        redact: Takes secrets out of text; by default what is shaped like one.
        target: What the header says of the server.

    Raises:
        ConfigError: The file cannot be made.
    """
    if redact is None:
        from dragoman.config.redactor import Redactor

        redact = Redactor().redact_text
    kind = "http" if inner.traits.request_scoped_streams else "stdio"
    writer = TranscriptWriter.create(path, target or {"kind": kind, "name": redact(inner.label)}, redact)
    return RecordingTransport(inner, writer), writer


def _read(source: Source) -> Transcript:
    return source if isinstance(source, Transcript) else read(source)
