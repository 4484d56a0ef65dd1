"""How large the arguments of a call may be, looked at before anything writes them out: one pass, no recursion, no copy.

A value that holds another one twice, which holds another one twice, is small in memory and endless as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 500_000
#: Of all texts and member names, each counted as often as it stands there.
MAX_CHARS: Final = 32_000_000
#: Python itself stops at 4300, and that limit is counted in digits too.
MAX_DIGITS: Final = 4_000
_MAX_BITS: Final = (10**MAX_DIGITS).bit_length()


class Look(NamedTuple):
    """What was found.

    Attributes:
        flaw: Why the arguments cannot be used, naming the limit; ``None`` if they are within all of them.
        foreign: The first type that is none of JSON's, which ends the look; where it stands is *validate*'s to say.
    """

    flaw: str | None = None
    foreign: str | None = None


def look(arguments: object) -> Look:
    """Whether ``arguments`` may be written out, hashed and checked. No value of theirs gets into the answer."""
    if type(arguments) is not dict and not isinstance(arguments, Mapping):
        return Look(f"expected an object with the arguments by name, got {_kind(arguments)}")
    values = chars = depth = 0
    foreign: str | None = None
    level: list[Any] = [arguments if type(arguments) is dict else dict(arguments)]
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return Look(f"nested deeper than {MAX_DEPTH} levels")
        following: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str:
                chars += len(value)
            elif kind is dict:
                values += len(value)
                if values > MAX_VALUES:
                    return Look(f"more than {MAX_VALUES:,} values")
                for name in value:
                    if type(name) is str:
                        chars += len(name)
                    else:
                        foreign = foreign or type(name).__name__
                following.extend(value.values())
            elif kind is list or kind is tuple:
                values += len(value)
                if values > MAX_VALUES:
                    return Look(f"more than {MAX_VALUES:,} values")
                following.extend(value)
            elif kind is int:
                if value.bit_length() > _MAX_BITS:
                    return Look(f"a whole number of more than {MAX_DIGITS:,} digits")
            elif kind is not float and kind is not bool and value is not None:
                foreign = foreign or kind.__name__
        if chars > MAX_CHARS:
            return Look(f"more than {MAX_CHARS:,} characters of text")
        level = following
    return Look(None, foreign)


def _kind(value: object) -> str:
    return "an array" if isinstance(value, list | tuple) else "a text" if isinstance(value, str) else f"a {type(value).__name__}"
