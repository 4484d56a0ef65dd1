"""Moments as people write them: ``2026-11-30``, ``2026-11-30T14:05``, ``2h`` (ago), ``yesterday``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

from dragoman.errors import ConfigError

_AGO: Final = re.compile(r"(\d{1,6}) ?(s|m|h|d|w)(?: ago)?", re.ASCII)
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def moment(text: str, now: float, what: str) -> float:
    """Seconds since the epoch; without a zone it is local time, a day is its beginning.

    Args:
        what: Whose value it is, for the error.

    Raises:
        ConfigError: It is no moment.
    """
    plain = text.strip()
    if (ago := _AGO.fullmatch(plain.lower())) is not None:
        return now - int(ago[1]) * _UNITS[ago[2]]
    today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": 0, "yesterday": 1}.get(plain.lower())
    if plain.lower() == "now":
        return now
    try:
        # By the calendar and not by hours: a day in which clocks are changed has no 24.
        found = today - timedelta(days=days) if days is not None else datetime.fromisoformat(plain)
        return found.timestamp()
    except (ValueError, OverflowError, OSError):
        raise ConfigError(
            f"{what}: {text!r} is no time", hint="as in 2026-11-30, 2026-11-30T14:05, 2026-11-30T14:05Z, 2h, 7d, today or yesterday"
        ) from None
