"""URI templates, expanded: what a client fills in before it reads a resource that a server described by a template.

Source: RFC 6570, all four levels.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

Value = str | int | float | Sequence[str] | Mapping[str, str]


class _Kind(NamedTuple):
    first: str
    between: str
    named: bool
    if_empty: str
    reserved: bool


_KINDS: Final = {
    "": _Kind("", ",", False, "", False),
    "+": _Kind("", ",", False, "", True),
    "#": _Kind("#", ",", False, "", True),
    ".": _Kind(".", ".", False, "", False),
    "/": _Kind("/", "/", False, "", False),
    ";": _Kind(";", ";", True, "", False),
    "?": _Kind("?", "&", True, "=", False),
    "&": _Kind("&", "&", True, "=", False),
}
_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_VARIABLE: Final = re.compile(r"((?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*)(?::([1-9]\d{0,3})|(\*))?")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="
_ESCAPED: Final = re.compile(r"%25([0-9A-Fa-f]{2})")


def expand(template: str, values: Mapping[str, Value]) -> str:
    """The URI: each expression replaced by its values; those that are not given leave nothing.

    Raises:
        ValueError: The template is none, or a value does not fit its place.
    """
    rest = _EXPRESSION.sub("", template)
    if "{" in rest or "}" in rest:
        raise ValueError(f"no URI template: a brace is left over in {template[:80]!r}")
    return _EXPRESSION.sub(lambda match: _expression(match[1], values), template)


def _expression(inside: str, values: Mapping[str, Value]) -> str:
    operator = inside[:1] if inside[:1] in _KINDS else ""
    kind = _KINDS[operator]
    parts: list[str] = []
    for word in inside.removeprefix(operator).split(","):
        variable = _VARIABLE.fullmatch(word)
        if variable is None:
            raise ValueError(f"no URI template: {{{inside[:80]}}} has no variable that can be read")
        name, length, exploded = variable.groups()
        value = values.get(name)
        if value is not None:
            parts += _parts(kind, name, value, int(length) if length else None, bool(exploded))
    return kind.first + kind.between.join(parts) if parts else ""


def _parts(kind: _Kind, name: str, value: Value, length: int | None, exploded: bool) -> list[str]:
    if isinstance(value, str | int | float):
        text = _encoded(str(value)[:length], kind.reserved)
        return [_with_name(kind, name, text)]
    if length is not None:
        raise ValueError(f"{name} is not text, so no part of it can be taken")
    if isinstance(value, Mapping):
        pairs = [(_encoded(key, kind.reserved), _encoded(one, kind.reserved)) for key, one in value.items()]
        if exploded:
            return [f"{key}{kind.if_empty if not one and kind.named else '='}{one}" for key, one in pairs]
        items = [part for pair in pairs for part in pair]
    else:
        items = [_encoded(one, kind.reserved) for one in value]
        if exploded:
            return [_with_name(kind, name, item) for item in items]
    return [_with_name(kind, name, ",".join(items))] if items else []


def _with_name(kind: _Kind, name: str, text: str) -> str:
    if not kind.named:
        return text
    return f"{name}={text}" if text else name + kind.if_empty


def _encoded(text: str, reserved: bool) -> str:
    quoted = quote(text, safe=_RESERVED if reserved else "")
    return _ESCAPED.sub(r"%\1", quoted) if reserved else quoted
