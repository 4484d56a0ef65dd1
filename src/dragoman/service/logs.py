"""What servers said on the side: the last lines of their log files, and more as it comes, through rotation.

What a line looks like says :mod:`dragoman.service.voices`; a line of another form is one of stderr, of an unknown time.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import msgspec

from dragoman.config import checks
from dragoman.config.secrets import resolve_server
from dragoman.errors import ConfigError
from dragoman.service.context import Context
from dragoman.service.servers import find_server

LONGEST: Final = 65_536
"""Bytes of a line without an end that are handed on all the same."""


_LINE: Final = re.compile(r"(\d{4}-[-0-9T:.]{10,30}Z)\t(?:(stderr)|message\t([^\t]*)\t([^\t]*))\t(.*)", re.DOTALL)


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of stderr, or a log message: secrets redacted, everything else as the server wrote it; escape it before it is shown.

    Attributes:
        at: When it was written (UTC); ``None`` where that is not known.
        level, logger: Of a message.
        line: The text; of a message with everything escaped that does not belong into a line.
    """

    at: str | None = None
    source: Literal["stderr", "message"] = "stderr"
    level: str | None = None
    logger: str | None = None
    line: str

    def for_json(self) -> dict[str, Any]:
        """As ``logs --json`` shows it."""
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]


def _parsed(text: str) -> LogLine:
    match = _LINE.fullmatch(text)
    if match is None:
        return LogLine(line=text)
    at, stderr, level, logger, line = match.groups()
    if stderr is not None:
        return LogLine(at=at, line=line)
    return LogLine(at=at, source="message", level=level, logger=logger or None, line=line)


class ServerLog:
    """The log of one server.

    Args:
        name: A configured server, or one whose log is still there.

    Raises:
        ConfigError: There is neither a server nor a log of that name, or the server has no stderr.
    """

    def __init__(self, name: str, context: Context) -> None:
        # Only names of servers get near a path.
        log = _left_behind(name, context)
        if log is None or name in context.config.servers:
            server = find_server(name, context.config)
            if server.command is None and log is None:
                raise ConfigError(f"the server {name} is reached by URL and has sent no messages so far", hint="see its operator's logs")
            with contextlib.suppress(ConfigError):  # the redactor learns what the server was given
                resolve_server(server, context.env, context.redactor)
            log = context.log_path(name)
        self.path = log
        self._redact = context.redactor.redact_text

    def last(self, n: int) -> list[LogLine]:
        """The last ``n`` lines, oldest first; of a file that was just rotated, from the older one too."""
        lines, partial, file = self._read()
        if file is not None:
            file.close()
        return self._last([*lines, partial] if partial else lines, n)

    def follow(self, n: int, wait: Callable[[], object]) -> Iterator[LogLine]:
        """The last ``n`` lines, and then each line as it is written, for ever.

        Args:
            wait: Called while there is nothing new; ends the following by raising.
        """
        lines, partial, file = self._read()
        try:
            yield from self._last(lines, n)
            while True:
                chunk = file.read(LONGEST) if file is not None else b""
                if chunk:
                    *whole, partial = (partial + chunk).split(b"\n")
                    yield from map(self._line, whole)
                    if len(partial) >= LONGEST:
                        yield self._line(partial)
                        partial = b""
                    continue
                newer = self._newer(file)
                if newer is None:
                    wait()
                    continue
                if partial:
                    yield self._line(partial)
                    partial = b""
                if file is not None and newer is not file:
                    file.close()
                file = newer
        finally:
            if file is not None:
                file.close()

    def _newer(self, file: BinaryIO | None) -> BinaryIO | None:
        """The file to read from now, where that is another one, or the same begun anew."""
        try:
            there = os.stat(self.path)
        except OSError:
            return None
        if file is None or not os.path.samestat(there, os.fstat(file.fileno())):
            with contextlib.suppress(OSError):
                return _regular(self.path)
            return None
        if there.st_size < file.tell():
            file.seek(0)
            return file
        return None

    def _read(self) -> tuple[list[bytes], bytes, BinaryIO | None]:
        """The lines of the current file, what was begun after the last of them, and the file, read to its end."""
        try:
            file = _regular(self.path)
        except FileNotFoundError:
            return [], b"", None
        except OSError as exc:
            raise ConfigError(f"cannot be read: {exc.strerror or exc}", file=str(self.path)) from exc
        *lines, partial = file.read().split(b"\n")
        return lines, partial, file

    def _last(self, lines: list[bytes], n: int) -> list[LogLine]:
        if len(lines) < n:
            lines = _older_lines(self.path) + lines
        return [self._line(line) for line in lines[-n:]] if n > 0 else []

    def _line(self, line: bytes) -> LogLine:
        return _parsed(self._redact(line.decode("utf-8", "replace").removesuffix("\r")))


def _older_lines(path: Path) -> list[bytes]:
    try:
        with _regular(path.with_name(f"{path.name}.1")) as file:
            return file.read().removesuffix(b"\n").split(b"\n")
    except OSError:
        return []


def _regular(path: Path) -> BinaryIO:
    """The file, opened without waiting: a FIFO would never open, and a device never end.

    Raises:
        OSError: It cannot be opened, or is no plain file.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no plain file")
    return os.fdopen(fd, "rb")


def _left_behind(name: str, context: Context) -> Path | None:
    """The log of a server that may not be configured any more: of this configuration, else of the first one that had the name."""
    if checks.server_name(name) is not None:
        return None
    own = context.log_path(name)
    found = (path for path in (own, own.with_name(f"{name}.log")) if path.exists())
    return next(found, None)
