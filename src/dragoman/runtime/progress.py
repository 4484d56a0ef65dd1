"""How far a call is, as callers of ours see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.protocol.events import ProgressReceived


class Progress(msgspec.Struct, frozen=True):
    """How far a call is. ``total`` and ``message`` are ``None`` where the server does not say."""

    progress: float
    total: float | None = None
    message: str | None = None


def progress_sink(callback: Callable[[Progress], Any] | None) -> Callable[[ProgressReceived], Any] | None:
    """What the driver calls, for what a caller of ours wants called."""
    if callback is None:
        return None
    return lambda event: callback(Progress(event.progress, event.total, event.message))
