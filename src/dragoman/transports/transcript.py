"""A conversation as a file: what was said, by whom, when. JSON lines; writing and reading alone, no channel.

The first line is the header, every further one an :class:`Entry`; docs/record-replay.md says what is in them.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple, Self

from dragoman._version import __version__
from dragoman.errors import ConfigError
from dragoman.wire.escape import escape_json

log = logging.getLogger("dragoman.record")

VERSION: Final = 1
Side = Literal["client", "server"]
Redact = Callable[[str], str]
_KEY: Final = "dragoman_transcript"
_BREAKS: Final = frozenset("\r\n\0")


class Entry(NamedTuple):
    """One line of a transcript.

    Attributes:
        ms: Milliseconds since the recording began, by a clock that never goes back.
        side: Who said it.
        message: The message, where it was JSON.
        text: What it was otherwise.
        stream: On HTTP, the number of the exchange, from 1.
        http: Of a request ``method``, ``path`` and ``headers``; of an answer's beginning ``status``, ``content_type``, ``headers``.
        event_id: On a stream of events, the id of this one.
        end: The stream ended here: how.
    """

    ms: float
    side: Side
    message: Any = None
    text: str | None = None
    stream: int | None = None
    http: dict[str, Any] | None = None
    event_id: str | None = None
    end: str | None = None


class Transcript(NamedTuple):
    """A whole conversation: what its header says, and its entries in order."""

    header: dict[str, Any]
    entries: tuple[Entry, ...]

    @property
    def kind(self) -> str:
        """Of the channel it was recorded on: ``stdio`` or ``http``."""
        target = self.header.get("target")
        return str(target.get("kind", "stdio")) if isinstance(target, dict) else "stdio"


def read(path: str | os.PathLike[str]) -> Transcript:
    """Read a transcript; lines after one that was cut off by a full disk or a kill are not there, and that is fine.

    Raises:
        ConfigError: The file cannot be read, or is no transcript of a version that this program knows.
    """
    try:
        if Path(path).is_char_device():
            raise ConfigError("is a device and no file: it may have no end", file=str(path))
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror or exc}", file=str(path)) from exc
    header = _value(lines[0])
    if not isinstance(header, dict) or _KEY not in header:
        raise ConfigError("is no transcript: its first line is no header", file=str(path), hint="make one with: dragoman record -o FILE")
    if header[_KEY] != VERSION:
        raise ConfigError(f"is a transcript of version {header[_KEY]!r}; this program reads {VERSION}", file=str(path))
    entries = []
    last = max((number for number, line in enumerate(lines) if line.strip()), default=0)
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        entry = _entry(_value(line))
        if entry is not None:
            entries.append(entry)
        elif number - 1 < last:
            raise ConfigError("is no entry of a transcript", file=str(path), line=number)
    return Transcript(header, tuple(entries))


def _value(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _entry(value: Any) -> Entry | None:
    if not isinstance(value, dict) or value.get("from") not in ("client", "server"):
        return None
    ms, stream, http = value.get("ms"), value.get("stream"), value.get("http")
    if not isinstance(ms, int | float) or not math.isfinite(ms) or not isinstance(stream, int | None):
        return None
    if http is not None and not _is_http(http):
        return None
    texts = {name: value[name] for name in ("text", "event_id", "end") if name in value}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    return Entry(ms, value["from"], value.get("message"), stream=stream, http=http, **texts)


def _is_http(value: Any) -> bool:
    """Whether it can be played as the head of a request or an answer; one from elsewhere must not write lines of its own into it."""
    if not isinstance(value, dict):
        return False
    headers, status = value.get("headers", {}), value.get("status", 200)
    if not isinstance(headers, dict) or type(status) is not int or not 100 <= status <= 599:
        return False
    texts = [value.get("method", ""), value.get("path", ""), value.get("content_type") or "", *headers, *headers.values()]
    return all(isinstance(text, str) and not _BREAKS & set(text) for text in texts)


class TranscriptWriter:
    """Writes a transcript, line by line, flushed; a file that can no longer be written ends the recording, not the conversation.

    Args:
        file: Where to; closed by :meth:`close`.
        target: What was recorded: ``{"kind": "stdio", "command": […]}`` or ``{"kind": "http", "url": …}``; secrets go through ``redact``.
        redact: Takes secrets out of text; JSON must stay JSON where it can.

    Attributes:
        count: How many entries were written.
        failure: Why it stopped, or ``None``.
    """

    def __init__(self, file: IO[str], target: Mapping[str, Any], redact: Redact) -> None:
        self._file, self._redact = file, redact
        self._began = time.monotonic()
        self.count = 0
        self.failure: str | None = None
        self._write({_KEY: VERSION, "at": _now(), "target": dict(target), "recorder": {"name": "dragoman", "version": __version__}})

    @classmethod
    def create(cls, path: str | os.PathLike[str], target: Mapping[str, Any], redact: Redact) -> Self:
        """A writer of a new file that only its owner can read.

        Raises:
            ConfigError: It cannot be written, or is there already.
        """
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise ConfigError("is there already, and is not written over", file=str(path), hint="name another file, or remove it") from None
        except OSError as exc:
            raise ConfigError(f"cannot be written: {exc.strerror or exc}", file=str(path)) from exc
        return cls(os.fdopen(descriptor, "w", encoding="utf-8"), target, redact)

    def add(
        self,
        side: Side,
        data: bytes | bytearray | None = None,
        *,
        stream: int | None = None,
        http: Mapping[str, Any] | None = None,
        event_id: str | None = None,
        end: str | None = None,
    ) -> None:
        """Write one entry; ``data`` is what was said, as bytes. Never raises."""
        line: dict[str, Any] = {"ms": round((time.monotonic() - self._began) * 1000, 1), "from": side}
        line |= {
            key: value for key, value in (("stream", stream), ("http", http), ("event_id", event_id), ("end", end)) if value is not None
        }
        if data is not None:
            line |= self._said(bytes(data).decode("utf-8", "replace"))
        self._write(line)
        self.count += 1

    def close(self) -> None:
        """No more is written. May be called twice."""
        try:
            self._file.close()
        except (OSError, ValueError) as exc:
            self._fail(exc)

    def _said(self, text: str) -> dict[str, Any]:
        clean = self._redact(text)
        try:
            message = json.loads(clean)
            plain = json.dumps(message, ensure_ascii=False)  # here a secret is seen whose letters came as escapes
            if (again := self._redact(plain)) != plain:
                message = json.loads(again)
            return {"message": message}
        except (ValueError, RecursionError):  # noise on stdout; or what a secret stood in is JSON no longer
            return {"text": clean}

    def _write(self, line: dict[str, Any]) -> None:
        if self.failure is not None or self._file.closed:
            return
        try:
            said = {key: line.pop(key) for key in ("message", "text") if key in line}
            text = self._redact(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
            if said:
                text = f"{text[:-1]},{json.dumps(said, ensure_ascii=False, separators=(',', ':'))[1:]}"
            # Who looks at the file with `cat` must not be steered by what a server said; a lone surrogate goes in as JSON writes it.
            self._file.write(escape_json(text).encode("utf-8", "backslashreplace").decode() + "\n")
            self._file.flush()
        except (OSError, ValueError) as exc:
            self._fail(exc)

    def _fail(self, exc: Exception) -> None:
        if self.failure is None:
            self.failure = str(exc)
            log.warning("the recording ended early: %s; the conversation goes on", exc)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
