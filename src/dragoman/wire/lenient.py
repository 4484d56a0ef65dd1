"""JSON that is well formed and cannot be held: a number out of range costs that number, not what stands around it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.wire.envelope import decode_any
from dragoman.wire.flaw import Flaw


def decode_leniently(raw: Raw | bytes) -> tuple[Any, str | None]:
    """The value, with ``None`` for each number that is out of range, and what was wrong; ``None`` where nothing was.

    What is no JSON, or nested too deeply, is ``None`` as a whole.
    """
    try:
        return decode_any(raw), None
    except (msgspec.DecodeError, RecursionError) as exc:
        why = str(exc)
    try:
        return json.loads(bytes(raw), parse_float=_float, parse_int=_int, parse_constant=lambda _: None), why
    except (ValueError, RecursionError):
        return None, why


def member_of(members: Mapping[str, Raw], name: str, problems: list[Flaw]) -> Any:
    """One member, ``None`` where it is absent; what of it could not be read becomes a problem."""
    if name not in members:
        return None
    value, why = decode_leniently(members[name])
    if why is not None:
        problems.append(Flaw(f"/{name}", why))
    return value


def _float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _int(text: str) -> int | None:
    return int(text) if len(text) <= 400 else None  # Python's own limit is 4,300 digits, of msgspec a tenth of that
