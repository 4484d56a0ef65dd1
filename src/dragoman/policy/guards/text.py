"""What guards of text have in common: it is text, of bearable length, without characters that no honest value has."""

from __future__ import annotations

import re
from typing import Any, Final

from dragoman.errors import Problem
from dragoman.policy.problems import quoted, shown

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


def flaw(value: Any, most: int, *, what: str) -> Problem | None:
    """Why a value is not even looked at; ``None`` if it may be.

    Args:
        most: Characters.
        what: The kind of text, for the message.
    """
    if not isinstance(value, str):
        return Problem("", f"expected {what} as text, got {shown(value)}")
    if not value.strip():
        return Problem("", f"expected {what}, got an empty text")
    if len(value) > most:
        return Problem("", f"{what} may have at most {most} characters, this one has {len(value)}")
    if (found := _CONTROL.search(value)) is not None:
        return Problem(
            "", f"{what} cannot hold the character U+{ord(found.group()):04X}; write it without control and invisible characters"
        )
    return None


__all__ = ["flaw", "quoted"]
