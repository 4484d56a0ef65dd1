"""A call in words, for the person who is to approve it: one sentence, then the arguments one by one, lists item by item.

The sentence comes from the configuration, or from the tool's name: never from a title or a description that its server wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dragoman.policy.chain import Call
from dragoman.wire.escape import escape_inline

MAX_VALUE_CHARS: Final = 300
MAX_ITEMS: Final = 50
MAX_LINES: Final = 200
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


def lines(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments, a line each and a line per item, nested ones by their path; nothing in them can break a line."""
    found: list[str] = []
    for name, value in arguments.items():
        _lines(escape_inline(str(name)), value, found, 0)
        if len(found) > MAX_LINES:
            break
    if len(found) > MAX_LINES:
        found[MAX_LINES:] = ["… and more, too long to show here"]
    return tuple(found)


def _lines(label: str, value: Any, found: list[str], depth: int) -> None:
    if len(found) > MAX_LINES:
        return
    if isinstance(value, dict) and value and depth < 6:
        for name, item in list(value.items())[:MAX_ITEMS]:
            _lines(f"{label}.{escape_inline(str(name))}", item, found, depth + 1)
        _more(label, len(value), "members", found)
    elif isinstance(value, list | tuple) and value and depth < 6:
        found.append(f"{label}: {len(value)} item{'' if len(value) == 1 else 's'}")
        for index, item in enumerate(value[:MAX_ITEMS]):
            if isinstance(item, dict | list | tuple) and item:
                _lines(f"{label}[{index}]", item, found, depth + 1)
            else:
                found.append(f"  - {_value(item, MAX_VALUE_CHARS)}")
        _more(label, len(value), "items", found)
    else:
        found.append(f"{label}: {_value(value, MAX_VALUE_CHARS)}")


def _more(label: str, count: int, what: str, found: list[str]) -> None:
    if count > MAX_ITEMS:
        found.append(f"{label}: … and {count - MAX_ITEMS} more {what}")


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
            text = str(value) if not isinstance(value, int) or value.bit_length() < 1000 else "a huge number"
            return text if len(text) <= limit else text[:limit] + "…"
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
