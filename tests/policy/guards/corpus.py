"""Reads the lists of inputs: one case a line, a word for the trick first, columns apart by tabs, ``\\x1b`` for odd characters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.base import Guard

CALL: Final = Call(id="c", name="t")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|([ntr\\]))")
_NAMED: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\"}


def cases(name: str) -> list[list[str]]:
    """The rows of a list, the trick first."""
    lines = Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1]
    return [[_plain(column) for column in line.split("\t")] for line in lines]


async def refused(guard: Guard, value: object) -> bool:
    """Whether a guard refuses a value."""
    return isinstance(await guard.check(value, CALL), Problem)


def _plain(text: str) -> str:
    def read(match: re.Match[str]) -> str:
        code = match[1] or match[2]
        return chr(int(code, 16)) if code else _NAMED[match[3]]

    return _ESCAPE.sub(read, text)
