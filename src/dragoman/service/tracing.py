"""The wire made visible for one run: on a stream, in a file, or both; secrets taken out either way."""

from __future__ import annotations

import os
from typing import IO

from dragoman.errors import ConfigError
from dragoman.runtime.trace import Tap, all_of, file_tap, screen_tap
from dragoman.service.context import Context
from dragoman.wire.escape import escape_inline


class Tracing:
    """Makes taps.

    Args:
        screen: Gets a line a message, cut and escaped.
        file: Gets JSON lines with whole messages; begun anew, for the owner only.

    Raises:
        ConfigError: The file cannot be written.
    """

    def __init__(self, context: Context, screen: IO[str] | None = None, file: str | None = None) -> None:
        self._redact = context.redactor.redact_text
        self._screen = screen_tap(screen, self._redact, escape_inline) if screen is not None else None
        self._file: IO[str] | None = None
        if file is not None:
            try:
                fd = os.open(context.cwd / file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.fchmod(fd, 0o600)  # a file from elsewhere, or an odd umask
            except OSError as exc:
                raise ConfigError(f"--trace-file {file} cannot be written: {exc.strerror or exc}") from exc
            self._file = os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace")

    def tap(self, server: str) -> Tap | None:
        """A tap for a server, by name; ``None`` where nobody looks."""
        taps = [self._screen] if self._screen is not None else []
        if self._file is not None:
            taps.append(file_tap(self._file, self._redact, server))
        return all_of(taps)

    def close(self) -> None:
        """Close the file; what comes later goes nowhere."""
        if self._file is not None:
            self._file.close()
            self._file = None
