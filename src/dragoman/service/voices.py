"""What a server says on the side, line by line: stderr and log messages go into its log, and to the logger ``dragoman.server.NAME``.

A line of the log is ``TIME<TAB>stderr<TAB>TEXT`` or ``TIME<TAB>message<TAB>LEVEL<TAB>LOGGER<TAB>TEXT``, see
:mod:`dragoman.service.logs`.
A text of stderr is as the server wrote it, everything of a message is escaped, so that no server can write a line that is not its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec

from dragoman.store.records import iso
from dragoman.transports.logfile import LogFile
from dragoman.wire.escape import escape_inline

log = logging.getLogger("dragoman")

#: Messages per second that are written, and lines per second that reach the logger; a flood is counted instead.
RATE: Final = 100
#: A line of stderr without an end is written after this long, or at this many bytes; what goes on is another line.
UNFINISHED_S: Final = 1.0
LONGEST_BYTES: Final = 65_536
_LONGEST: Final = 8192
_LONGEST_NAME: Final = 200
_LEVELS: Final = {
    **{"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR},
    **{"critical": logging.CRITICAL, "alert": logging.CRITICAL, "emergency": logging.CRITICAL},
}


class LogMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A log message of a server (``notifications/message``), as it sent it: untrusted, neither escaped nor redacted.

    Attributes:
        server: The configured name of the server that spoke.
        level: ``debug``, ``info``, ``notice``, ``warning``, ``error``, ``critical``, ``alert``, ``emergency``, or what it sent instead.
        logger: As the server calls the part of it that spoke, if it does.
        data: A text, or any other JSON value.

    Source: MCP 2025-11-25 server/utilities/logging, 2026-07-28 the same.
    """

    server: str
    level: str
    logger: str | None
    data: Any


OnLog = Callable[[LogMessage], Any]
"""Gets each log message of each server; may be ``async``."""


class Voice:
    """The side channel of one server, over all of its starts. Lives on the event loop.

    Args:
        file: The server's log. What cannot be written is said once for each start.
        redact: Takes secrets out of what the logger gets.
        on_log: The program's own.
    """

    def __init__(self, name: str, file: LogFile, redact: Callable[[str], str], on_log: OnLog | None) -> None:
        self._logger = logging.getLogger(f"dragoman.server.{name}")
        self._name, self._file, self._redact, self._on_log = name, file, redact, on_log
        self._is_written = True
        self._begun = b""
        self._timer: asyncio.TimerHandle | None = None
        self._messages, self._lines = _Quota(), _Quota()

    def heard(self, params: dict[str, Any]) -> Any:
        """Take one message, its params: pass this to a client as ``on_log``."""
        level, source, data = str(params.get("level")), params.get("logger"), params.get("data")
        if (left_out := self._messages.left_out()) > 0:
            self._message("warning", "dragoman", f"{left_out} messages left out")
        if self._messages.take():
            shown, name = escape_inline(level[:_LONGEST_NAME]), escape_inline(str(source or "")[:_LONGEST_NAME])
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            text = escape_inline(text[:_LONGEST])
            self._message(shown, name, text)
            if self._logger.isEnabledFor(_LEVELS.get(level, logging.INFO)):
                self._logger.log(_LEVELS.get(level, logging.INFO), "%s", self._redact(spoken(shown, name, text)))
        if self._on_log is None:
            return None
        return self._on_log(LogMessage(server=self._name, level=level, logger=None if source is None else str(source), data=data))

    def stderr(self, data: bytes) -> None:
        """Take what it wrote on stderr: pass this to a client as ``stderr``. A line is written when it is whole."""
        whole, newline, rest = (self._begun + data).rpartition(b"\n")
        self._begun = rest
        if newline:
            self._stderr_lines(whole)
        if len(rest) >= LONGEST_BYTES:
            self._flush()
        elif rest and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(UNFINISHED_S, self._flush)

    def close(self) -> None:
        """The server was stopped, or ended: write what it began, and close the file until it speaks again."""
        self._flush()
        self._file.close()
        self._is_written = True

    def _flush(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        begun, self._begun = self._begun, b""
        if begun:
            self._stderr_lines(begun)

    def _stderr_lines(self, lines: bytes) -> None:
        beginning = f"{iso(time.time())}\tstderr\t".encode()
        self._write(beginning + lines.replace(b"\n", b"\n" + beginning) + b"\n")
        if not self._logger.isEnabledFor(logging.INFO):
            return
        for line in lines.split(b"\n"):
            if (left_out := self._lines.left_out()) > 0:
                self._logger.warning("%d lines of stderr left out", left_out)
            if self._lines.take():
                text = line[:_LONGEST].decode("utf-8", "replace").removesuffix("\r")
                self._logger.info("%s", escape_inline(self._redact(text)))

    def _message(self, level: str, logger: str, text: str) -> None:
        self._write(f"{iso(time.time())}\tmessage\t{level}\t{logger}\t{text}\n".encode("utf-8", "backslashreplace"))

    def _write(self, lines: bytes) -> None:
        if not self._is_written:
            return
        try:
            self._file.write(lines)
        except OSError as exc:
            self._is_written = False
            log.warning("what %s says is no longer written to its log: %s", self._name, exc)


def spoken(level: str, logger: str | None, text: str) -> str:
    """A log message as a person reads it."""
    return f"[{level}] {f'{logger}: ' if logger else ''}{text}"


class _Quota:
    """So many a second; what is above it is counted."""

    def __init__(self) -> None:
        self._second = self._count = 0

    def left_out(self) -> int:
        """Once a second: how many found no room in the one before."""
        now = int(time.monotonic())
        if now == self._second:
            return 0
        over, self._second, self._count = self._count - RATE, now, 0
        return over

    def take(self) -> bool:
        """Whether there is room for one more."""
        self._count += 1
        return self._count <= RATE
