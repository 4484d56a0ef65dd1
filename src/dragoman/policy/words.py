"""A call in words, for the person who is to approve it: one sentence, then the arguments one by one, lists item by item.

The sentence comes from the configuration, or from the tool's name: never from a title or a description that its server wrote.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dragoman.policy.chain import Call
from dragoman.wire.escape import escape_inline


class Room(NamedTuple):
    """How much of the arguments is put into words: characters of a value, items of a list, lines, depth."""

    chars: int
    items: int
    lines: int
    depth: int


#: What fits into a question.
SHORT: Final = Room(chars=300, items=50, lines=200, depth=6)
#: What nobody sends: the depth is what Python's own JSON bears.
WHOLE: Final = Room(chars=sys.maxsize, items=sys.maxsize, lines=sys.maxsize, depth=500)
_IN_SENTENCE_CHARS: Final = 80
_IN_SENTENCE_ITEMS: Final = 10
_PLACE: Final = re.compile(r"\{([^{}]+)\}")


def title(call: Call, say: str | None = None) -> str:
    """The call as one sentence.

    Args:
        say: A template such as ``Move {source} to {destination}``; names that were not given are said to be so.
    """
    where = f"(server {escape_inline(call.server)}, tool {escape_inline(call.name)})"
    if say is not None:
        return f"{_PLACE.sub(lambda match: _in_sentence(call.arguments, match.group(1)), escape_inline(say))} {where}"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", escape_inline(call.name)).replace("_", " ").replace("-", " ").strip()
    sentence = words[:1].upper() + words[1:] if words else "Call a tool"
    if not call.arguments:
        return f"{sentence}, with no arguments {where}"
    if len(call.arguments) == 1:
        return f"{sentence}: {_in_sentence(call.arguments, next(iter(call.arguments)))} {where}"
    return f"{sentence} {where}"


def lines(arguments: Mapping[str, Any], room: Room = SHORT) -> tuple[str, ...]:
    """The arguments, a line each and a line per item, nested ones by their path; nothing in them can break a line.

    Args:
        room: What is longer is cut, and says how long it is; in ``WHOLE`` nothing is, and a text stands line by line.
    """
    found: list[str] = []
    for name, value in arguments.items():
        _lines(escape_inline(str(name)), value, found, 0, room)
        if len(found) > room.lines:
            break
    if len(found) > room.lines:
        found[room.lines :] = ["… and more, too long to show here"]
    return tuple(found)


def _lines(label: str, value: Any, found: list[str], depth: int, room: Room) -> None:
    if len(found) > room.lines:
        return
    if isinstance(value, dict) and value and depth < room.depth:
        for name, item in itertools.islice(value.items(), room.items):
            _lines(f"{label}.{escape_inline(str(name))}", item, found, depth + 1, room)
        _more(label, len(value), "members", found, room)
    elif isinstance(value, list | tuple) and value and depth < room.depth:
        found.append(f"{label}: {len(value)} item{'' if len(value) == 1 else 's'}")
        for index, item in enumerate(itertools.islice(value, room.items)):
            if isinstance(item, dict | list | tuple) and item:
                _lines(f"{label}[{index}]", item, found, depth + 1, room)
            else:
                found.append(f"  - {_value(item, room.chars)}")
        _more(label, len(value), "items", found, room)
    elif room is WHOLE and isinstance(value, str) and "\n" in value:
        parts = value.split("\n")
        found.append(f"{label}: {len(parts)} lines")
        found += [f"  | {escape_inline(part)}" for part in parts]
    else:
        found.append(f"{label}: {_value(value, room.chars)}")


def _more(label: str, count: int, what: str, found: list[str], room: Room) -> None:
    if count > room.items:
        found.append(f"{label}: … and {count - room.items} more {what}")


def _value(value: Any, limit: int) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            if not value:
                return '""'
            shown = escape_inline(value[:limit])
            return shown if len(value) <= limit else f"{shown}… ({len(value):,} characters in all)"
        case int() | float():
            text = str(value) if not isinstance(value, int) or value.bit_length() < 1000 else hex(value)
            return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} digits in all)"
        case dict():
            return f"an object with {len(value)} members" if value else "{}"
        case list() | tuple():
            return f"{len(value)} items" if value else "[]"
    return escape_inline(str(value)[:limit])


def _in_sentence(arguments: Mapping[str, Any], name: str) -> str:
    if name not in arguments:
        return f"({name} not given)"
    value = arguments[name]
    if isinstance(value, list | tuple) and value:
        shown = ", ".join(_value(item, _IN_SENTENCE_CHARS) for item in value[:_IN_SENTENCE_ITEMS])
        return shown + (f" and {len(value) - _IN_SENTENCE_ITEMS} more" if len(value) > _IN_SENTENCE_ITEMS else "")
    return _value(value, _IN_SENTENCE_CHARS)
