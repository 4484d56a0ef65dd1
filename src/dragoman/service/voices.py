"""What a server says on the side: log messages go into its log beside its stderr, and both to the logger ``dragoman.server.NAME``."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from typing import Any, Final

from dragoman.wire.escape import escape_inline

log = logging.getLogger("dragoman")

#: Messages per second that are written; a flood is counted instead.
RATE: Final = 100
_LONGEST: Final = 8192
_LEVELS: Final = {
    **{"debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR},
    **{"critical": logging.CRITICAL, "alert": logging.CRITICAL, "emergency": logging.CRITICAL},
}


class Voice:
    """The log messages of one server (``notifications/message``).

    Args:
        write: Appends to the server's log; errors of the disk are said once.
        redact: Takes secrets out of what the logger gets.
        also: The program's own ``on_log``.
    """

    def __init__(
        self, name: str, write: Callable[[bytes], None], redact: Callable[[str], str], also: Callable[[dict[str, Any]], Any] | None
    ) -> None:
        self._logger = logging.getLogger(f"dragoman.server.{name}")
        self._name, self._redact, self._also = name, redact, also
        self._write: Callable[[bytes], None] | None = write
        self._second, self._count = 0, 0

    def heard(self, params: dict[str, Any]) -> Any:
        """Take one message: its params."""
        now = int(time.monotonic())
        if now != self._second:
            if (left_out := self._count - RATE) > 0:
                self._note(f"[warning] dragoman: {left_out} messages left out\n")
            self._second, self._count = now, 0
        self._count += 1
        if self._count <= RATE:
            level, source, data = str(params.get("level")), params.get("logger"), params.get("data")
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            line = escape_inline(f"[{level}] {f'{source}: ' if source else ''}{text}"[:_LONGEST])
            self._note(f"{line}\n")
            if self._logger.isEnabledFor(_LEVELS.get(level, logging.INFO)):
                self._logger.log(_LEVELS.get(level, logging.INFO), "%s", self._redact(line))
        return self._also(params) if self._also is not None else None

    def _note(self, line: str) -> None:
        if self._write is None:
            return
        try:
            self._write(line.encode("utf-8", "backslashreplace"))
        except OSError as exc:
            self._write = None
            log.warning("messages of %s are no longer written to its log: %s", self._name, exc)
