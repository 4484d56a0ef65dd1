"""The wire made visible: one line a message, and the whole of it in a file.

Screen lines are cut at 200 characters and keep text of any script readable; files hold JSON lines with whole messages.
Both go through the redactor they are given.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import IO, Final

CUT: Final = 200

Redact = Callable[[str], str]
Tap = Callable[[str, "bytes | bytearray"], None]

wire_log = logging.getLogger("dragoman.wire")


def _unredacted(text: str) -> str:
    return text


def render(direction: str, message: bytes | bytearray, elapsed_s: float, redact: Redact = _unredacted, escape: Redact = _unredacted) -> str:
    """One line: direction, seconds since the start, size, the message cut at 200 characters."""
    # Redact first and cut afterwards: a secret must not survive by being cut in half.  Far beyond the cut nothing is shown.
    text = escape(redact(bytes(message[: 20 * CUT]).decode("utf-8", "replace")))
    shown = text if len(text) <= CUT and len(message) <= 20 * CUT else f"{text[:CUT]}…"
    return f"{direction} {elapsed_s:8.3f}s {len(message):>7} B  {shown}"


def screen_tap(stream: IO[str], redact: Redact = _unredacted, escape: Redact = _unredacted) -> Tap:
    """A tap that prints each message on ``stream``."""
    began = time.monotonic()

    def tap(direction: str, message: bytes | bytearray) -> None:
        print(render(direction, message, time.monotonic() - began, redact, escape), file=stream, flush=True)

    return tap


def file_tap(stream: IO[str], redact: Redact = _unredacted, server: str = "") -> Tap:
    """A tap that writes JSON lines: ``{"at", "dir", "server", "size", "message"}``; ``message`` is the text as sent."""

    def tap(direction: str, message: bytes | bytearray) -> None:
        line = {
            "at": round(time.time(), 6),
            "dir": "out" if direction == "→" else "in",
            "server": server,
            "size": len(message),
            "message": redact(bytes(message).decode("utf-8", "replace")),
        }
        stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        stream.flush()

    return tap


def logging_tap(server: str, redact: Redact = _unredacted) -> Tap:
    """A tap for the standard logger ``dragoman.wire``, at DEBUG."""
    began = time.monotonic()

    def tap(direction: str, message: bytes | bytearray) -> None:
        if wire_log.isEnabledFor(logging.DEBUG):
            wire_log.debug("%s %s", server, render(direction, message, time.monotonic() - began, redact))

    return tap


def all_of(taps: list[Tap]) -> Tap | None:
    """One tap out of several; ``None`` for none, so that the untraced path costs nothing."""
    if len(taps) < 2:
        return taps[0] if taps else None

    def tap(direction: str, message: bytes | bytearray) -> None:
        for one in taps:
            one(direction, message)

    return tap
