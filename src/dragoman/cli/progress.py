"""How far a call is: one line on stderr that is written over; nothing where nobody looks, or while a person is asked something."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dragoman.cli import output

if TYPE_CHECKING:
    from dragoman.cli.options import Settings

_COLUMNS = 70


class ProgressLine:
    """The line of one command."""

    def __init__(self, settings: Settings) -> None:
        self._shows = output.is_tty(sys.stderr) and not settings.json and not settings.trace
        self._is_shown = False
        self._away = 0

    def show(self, progress: Any) -> None:
        """Show one step, a :class:`dragoman.Progress`."""
        if not self._shows or self._away:
            return
        from dragoman.cli.fit import cut
        from dragoman.wire.escape import escape_inline

        words = escape_inline(progress.message or "")
        of = f"/{progress.total:g}" if progress.total is not None else ""
        sys.stderr.write("\r\x1b[K" + cut(f"{progress.progress:g}{of} {words}", _COLUMNS))
        sys.stderr.flush()
        self._is_shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_shown = False

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Keep the line away from what else is on the terminal meanwhile: steps are left out."""
        self.clear()
        self._away += 1
        try:
            yield
        finally:
            self._away -= 1
