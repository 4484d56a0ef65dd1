"""Conditions on the arguments of a call, as people write them in a rule: ``amount > 100 and currency != 'EUR'``. Nothing is ever executed.

    condition  =  test { "and" test }
    test       =  subject operator value  |  subject "is" ( "present" | "missing" )
    subject    =  place  |  "count(" place ")"
    place      =  name  |  JSON pointer, where "*" stands for every item: /items/*/price
    operator   =  "=" "!=" ">" ">=" "<" "<=" "in" "contains" "matches"
    value      =  number, 'text', "text", true, false, null, or for "in" a list of them: ['a', 'b']

A condition only ever makes a call harder, so whatever cannot be decided holds: a text where a number is compared, a value that a later
layer may read out of a text. Texts are compared without regard to case, save by ``!=``. ``matches`` knows ``*`` and ``?``, for the whole
text.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>'[^']*'|"(?:[^"\\]|\\.)*")|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"""
    r"""|(?P<pointer>/[^\s()'"]*)|(?P<sign>==|!=|>=|<=|[=<>()\[\],])|(?P<word>[^\W\d][\w.-]*))"""
)
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_OPERATORS: Final = (*_ORDER, "=", "==", "!=", "in", "contains", "matches")
_WORDS: Final[dict[str, bool | None]] = {"true": True, "false": False, "null": None}
_LONGEST: Final = 1_000
_DEEPEST: Final = 40


class Unclear:
    """Stands for a value that only a later layer may read out of a text."""


_UNCLEAR: Final = Unclear()


class _Test(NamedTuple):
    path: tuple[str, ...]
    counts: bool
    operator: str
    value: Any

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        found = list(_values(arguments, self.path))
        unclear = any(value is _UNCLEAR for value in found)
        if self.operator == "missing":
            return not found or unclear
        if self.operator == "present":
            return bool(found)
        return unclear or any(self._of(value) for value in found)

    def _of(self, value: Any) -> bool:
        if self.counts:
            if not isinstance(value, (list, tuple, Mapping)):
                return isinstance(value, str) or _compared(self.operator, 0 if value is None else 1, self.value)
            return _compared(self.operator, len(value), self.value)
        return _compared(self.operator, value, self.value)


class Condition(NamedTuple):
    """A condition that was understood; made by :func:`parse_condition`."""

    text: str
    tests: tuple[_Test, ...]

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        """Whether it holds for these arguments, or may."""
        return all(test.holds(arguments) for test in self.tests)


def parse_condition(text: str) -> Condition:
    """Understand a condition.

    Raises:
        ValueError: It is none; the message says where it goes wrong.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"longer than {_LONGEST} characters")
    reader = _Reader(text)
    tests = [_test(reader)]
    while reader.kind != "end":
        reader.take_word("and")
        tests.append(_test(reader))
    return Condition(text, tuple(tests))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._end = text, 0
        self.kind = self.token = ""
        self.next()

    def next(self) -> str:
        """The token that stood there; goes on to the next."""
        was = self.token
        if not self._text[self._end :].strip():
            self.kind, self.token = "end", "the end"
            return was
        found = _TOKEN.match(self._text, self._end)
        if found is None:
            raise ValueError(f"cannot be read from {self._text[self._end :].strip()[:20]!r} on")
        self.kind, self.token, self._end = found.lastgroup or "", found[found.lastgroup or 0], found.end()
        return was

    def expected(self, what: str) -> ValueError:
        return ValueError(f"expected {what}, got {self.token if self.kind == 'end' else repr(self.token)}")

    def take_word(self, word: str) -> None:
        if self.token != word or self.kind not in ("word", "sign"):
            raise self.expected(f'"{word}"')
        self.next()


def _test(reader: _Reader) -> _Test:
    counts = False
    if reader.kind not in ("word", "pointer"):
        raise reader.expected("the name of an argument or a JSON pointer")
    path = _path(reader)
    if path == ("count",) and reader.token == "(":
        reader.next()
        if reader.kind not in ("word", "pointer"):
            raise reader.expected("the name of an argument or a JSON pointer")
        counts, path = True, _path(reader)
        reader.take_word(")")
    if reader.token == "is" and reader.kind == "word":
        reader.next()
        if reader.token not in ("present", "missing"):
            raise reader.expected('"present" or "missing"')
        return _Test(path, counts, reader.next(), None)
    if reader.token not in _OPERATORS or reader.kind not in ("word", "sign"):
        raise reader.expected("one of = != > >= < <= in contains matches, or is present, is missing")
    sign = "=" if reader.token == "==" else reader.token
    reader.next()
    value = _list(reader) if sign == "in" else _value(reader)
    if counts and sign in ("contains", "matches"):
        raise ValueError(f'a count is a number, and "{sign}" is for texts')
    if (sign in _ORDER or counts) and (isinstance(value, bool) or not isinstance(value, (int, float, list))):
        raise ValueError(f'"{sign}" compares numbers here, got {json.dumps(value, ensure_ascii=False)}')
    if sign == "matches" and not isinstance(value, str):
        raise ValueError('"matches" is followed by a text with * and ?')
    return _Test(path, counts, sign, value)


def _path(reader: _Reader) -> tuple[str, ...]:
    kind, token = reader.kind, reader.next()
    if kind == "word":
        return (token,)
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in token[1:].split("/"))


def _value(reader: _Reader) -> Any:
    kind, token = reader.kind, reader.token
    if kind == "text":
        reader.next()
        return token[1:-1] if token.startswith("'") else json.loads(token)
    if kind == "number":
        reader.next()
        number = json.loads(token) if not re.match(r"-?0\d", token) else float(token)
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError(f"{token} is too large")
        return number
    if kind == "word" and token in _WORDS:
        reader.next()
        return _WORDS[token]
    raise reader.expected("a number, a text in quotes, true, false or null")


def _list(reader: _Reader) -> list[Any]:
    reader.take_word("[")
    values = [_value(reader)]
    while reader.token == "," and reader.kind == "sign":
        reader.next()
        values.append(_value(reader))
    reader.take_word("]")
    return values


def _values(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    """What stands at a place: nothing, one value, or several where ``*`` is on the way."""
    if not path:
        yield value
        return
    part, rest = path[0], path[1:]
    if isinstance(value, Mapping):
        if part == "*":
            for item in value.values():
                yield from _values(item, rest)
        elif part in value:
            yield from _values(value[part], rest)
    elif isinstance(value, (list, tuple)):
        if part == "*":
            for item in value:
                yield from _values(item, rest)
        elif part.isdecimal() and int(part) < len(value):
            yield from _values(value[int(part)], rest)
    elif isinstance(value, str):
        yield _UNCLEAR


def _compared(sign: str, value: Any, wanted: Any, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return True
    if isinstance(value, (list, tuple)) and sign != "!=":
        return any(_compared(sign, item, wanted, depth + 1) for item in value)
    if sign in _ORDER:
        number = _number(value)
        return number is None or _ORDER[sign](number, wanted)
    if sign == "!=":
        return not (type(value) is type(wanted) and value == wanted) and not _same(value, wanted, exactly=True)
    if sign == "in":
        return any(_same(value, one) for one in wanted)
    if sign == "=":
        return _same(value, wanted)
    if isinstance(value, Mapping):
        return sign == "contains" and wanted in value if isinstance(wanted, str) else False
    text = _text(value).casefold()
    if sign == "contains":
        return _text(wanted).casefold() in text
    return _matches(text, wanted.casefold())


def _same(value: Any, wanted: Any, *, exactly: bool = False) -> bool:
    if isinstance(value, (Mapping, list, tuple)):
        return False
    if not isinstance(wanted, bool) and isinstance(wanted, (int, float)):
        number = _number(value)
        return number is not None and number == wanted
    one, other = _text(value), _text(wanted)
    if isinstance(wanted, str) and exactly:
        return isinstance(value, str) and one == other
    return one.strip().casefold() == other.strip().casefold()


def _number(value: Any) -> int | float | None:
    """A number, also one that stands in a text; ``None`` where it is none, so that nobody can tell."""
    if isinstance(value, str) and len(value) <= 100:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or (isinstance(value, float) and math.isnan(value)):
        return None
    return value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _matches(text: str, pattern: str) -> bool:
    """Whether all of a text is like a pattern; each piece between stars is sought once, so no text makes this slow."""
    first, *others = pattern.split("*")
    if not others:
        return len(text) == len(first) and _at(text, 0, first)
    if not _at(text, 0, first):
        return False
    place, last = len(first), others.pop()
    for piece in others:
        found = next((start for start in range(place, len(text) - len(piece) + 1) if _at(text, start, piece)), None)
        if found is None:
            return False
        place = found + len(piece)
    return len(text) - len(last) >= place and _at(text, len(text) - len(last), last)


def _at(text: str, start: int, piece: str) -> bool:
    part = text[start : start + len(piece)]
    return len(part) == len(piece) and (part == piece or all(want in ("?", char) for char, want in zip(part, piece, strict=True)))
