"""Repairs what models get wrong about types, where the schema leaves one reading: ``"5"`` for 5, ``"[1,2]"`` for a list.

Only texts are read anew, only where the schema does not take a text, and only if the result is valid as a whole.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import msgspec

from dragoman.policy.problems import pointer
from dragoman.policy.schemas import Checker, measure

#: JSON numbers, and nothing that only looks like one to a lenient reader.
_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
#: A list within a list within a text; more than that was no slip.
_ROUNDS: Final = 3


def coerce(arguments: dict[str, Any], checker: Checker) -> tuple[dict[str, Any], list[str]] | None:
    """Arguments that are valid, with one note per change; ``None`` where that cannot be had without guessing."""
    repaired = msgspec.json.decode(msgspec.json.encode(arguments))
    notes: list[str] = []
    for _ in range(_ROUNDS):
        changed = False
        for path, types in _mistyped(checker, repaired):
            changed |= _repair(repaired, path, types, notes)
        # What was read out of a text can be deeper and larger than anything that was measured before.
        if not changed or not checker.can_check(*measure(repaired)):
            return None
        if checker.is_valid(repaired):
            return repaired, notes
    return None


def _mistyped(checker: Checker, value: Any) -> list[tuple[list[str | int], set[str]]]:
    found: list[tuple[list[str | int], set[str]]] = []
    for error in checker.errors(value):
        if not isinstance(error.instance, str):
            continue
        path = list(error.instance_path)
        if error.kind.name == "type":
            found.append((path, set(error.kind.value)))
        elif error.kind.name in ("anyOf", "oneOf"):
            branches = getattr(error.kind, "context", None) or []
            if branches and all(branch and branch[0].kind.name == "type" and list(branch[0].instance_path) == path for branch in branches):
                found.append((path, {kind for branch in branches for kind in branch[0].kind.value}))
    return found


def _repair(root: Any, path: list[str | int], types: set[str], notes: list[str]) -> bool:
    if not path or "string" in types:
        return False
    parent = root
    for part in path[:-1]:
        parent = parent[part]
    text = parent[path[-1]]
    if not isinstance(text, str) or (read := _read(text.strip(), types)) is None:
        return False
    value, word = read
    parent[path[-1]] = value
    notes.append(f"{pointer(path)}: read the text as {word}")
    return True


def _read(text: str, types: set[str]) -> tuple[Any, str] | None:
    """The one reading of ``text`` as one of ``types``; ``None`` if there is none."""
    if "boolean" in types and text.lower() in ("true", "false"):
        return text.lower() == "true", text.lower()
    if "null" in types and text == "null":
        return None, "null"
    if types & {"integer", "number"} and len(text) <= 40 and _NUMBER.fullmatch(text):
        try:
            number = msgspec.json.decode(text)
        except msgspec.DecodeError:  # beyond what a float holds
            return None
        if isinstance(number, int):
            return number, f"the number {number}"
        if isinstance(number, float) and math.isfinite(number) and "number" in types:
            return number, f"the number {number}"
        return None
    if text[:1] + text[-1:] in ("[]", "{}"):
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return None
        if isinstance(value, list) and "array" in types:
            return value, f"a list of {len(value)}"
        if isinstance(value, dict) and "object" in types:
            return value, f"an object of {len(value)}"
    return None
