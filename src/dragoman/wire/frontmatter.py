"""The YAML at the head of a Markdown file: mappings, lists and scalars, as people write them there.

It is a part of YAML 1.2, and no more on purpose: anchors, tags, merged keys, several documents and repeated keys are refused,
so that nothing is read in two ways. Whoever reads it to compare treats what is refused as different.

Source: agentskills.io specification, "SKILL.md format"; YAML 1.2.2, core schema.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

MAX_BYTES: Final = 64 * 1024
_DEPTH: Final = 16
_KEY: Final = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{}>|*&!%#`@,?:-][^:#\n]*?)\s*:(?:\s+(.*))?$""")
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BLOCK: Final = re.compile(r"([|>])([-+]?)$")
_LOOSE: Final = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'\[\]{},:&*!|>%@`#?-][^\[\]{},#]*|-?[0-9.][^\[\]{},#:]*|)\s*""")


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def frontmatter(text: str) -> dict[str, Any]:
    """The mapping between the first line, ``---``, and the next one like it.

    Raises:
        ValueError: There is none, or it is written in a way that is not read here; the message names the line.
    """
    lines = text.removeprefix("\ufeff").split("\n")
    lines = [line.removesuffix("\r") for line in lines[: MAX_BYTES // 2]]
    if lines[0].rstrip() != "---":
        raise ValueError("it does not begin with ---")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None or sum(len(line) + 1 for line in lines[:end]) > MAX_BYTES:
        raise ValueError(f"no second --- within {MAX_BYTES // 1024} KB")
    reader = _Reader(lines[1:end])
    found = reader.block(-1, 0)
    if not isinstance(found, dict):
        raise ValueError("it is no mapping")
    return found


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def _fail(self, what: str, line: int | None = None) -> ValueError:
        return ValueError(f"line {(self._at if line is None else line) + 2}: {what}")

    def _peek(self) -> _Line | None:
        """The next line that says something."""
        while self._at < len(self._lines):
            raw = self._lines[self._at]
            text = raw.strip()
            if text and not text.startswith("#"):
                body = raw.lstrip(" ")
                if body.startswith("\t"):
                    raise self._fail("a tab where blanks belong")
                return _Line(self._at, len(raw) - len(body), body.rstrip())
            self._at += 1
        return None

    def block(self, parent: int, depth: int) -> Any:
        """What stands deeper than ``parent``: a mapping or a list; ``None`` where nothing does."""
        line = self._peek()
        if line is None or line.indent <= parent:
            return None
        if depth > _DEPTH:
            raise self._fail(f"more than {_DEPTH} levels")
        if line.text == "-" or line.text.startswith("- "):
            return self._list(line.indent, depth)
        return self._mapping(line.indent, depth)

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while (line := self._peek()) is not None and line.indent == indent:
            match = _KEY.match(line.text)
            if match is None:
                raise self._fail("no key, or one that is not read here")
            key = _scalar(match[1])
            if not isinstance(key, str):
                key = match[1]
            if key in found:
                raise self._fail(f"the key {key[:40]!r} is there twice")
            if key == "<<":
                raise self._fail("merged keys are not read here")
            self._at += 1
            found[key] = self._value(match[2] or "", indent, depth, line.number)
        line = self._peek()
        if line is not None and line.indent > indent:
            raise self._fail("unexpected indentation")
        return found

    def _list(self, indent: int, depth: int) -> list[Any]:
        found: list[Any] = []
        while (line := self._peek()) is not None and line.indent == indent and (line.text == "-" or line.text.startswith("- ")):
            rest = line.text[1:].lstrip(" ")
            if rest.startswith("- ") or rest == "-":
                raise self._fail("lists within a line are not read here")
            if _KEY.match(rest):  # a mapping that begins beside the dash
                inner = indent + len(line.text) - len(rest)
                self._lines[self._at] = " " * inner + rest
                found.append(self._mapping(inner, depth + 1))
                continue
            self._at += 1
            found.append(self._value(rest, indent, depth, line.number))
        return found

    def _value(self, text: str, indent: int, depth: int, number: int) -> Any:
        text = _uncommented(text)
        if not text:
            line = self._peek()
            if line is not None and line.indent == indent and line.text.startswith("- "):
                return self._list(indent, depth + 1)  # YAML lets a list stand as deep as its key
            return self.block(indent, depth + 1)
        if match := _BLOCK.fullmatch(text):
            return self._block_text(match[1], match[2], indent)
        if text[0] in "[{":
            value, rest = _flow(text, 0, depth)
            if rest.strip():
                raise self._fail("something behind the closing bracket", number)
            return value
        if text[0] in "\"'":
            try:
                return _scalar(text)
            except ValueError as exc:
                raise self._fail(str(exc), number) from None
        if text[0] in "&*!%@`|>," or text.startswith(("? ", "- ")) or ": " in text or text.endswith(":"):
            raise self._fail("written in a way that is not read here", number)
        more = self._plain_lines(indent)
        return _scalar(text) if not more else " ".join([text, *more])

    def _plain_lines(self, indent: int) -> list[str]:
        more: list[str] = []
        while (line := self._peek()) is not None and line.indent > indent:
            if line.number and not self._lines[line.number - 1].strip():
                raise self._fail("an empty line within a text that is not quoted")
            text = _uncommented(line.text)
            if ": " in text or text.endswith(":") or text[0] in "\"'[]{}&*!%@`|>":
                raise self._fail("written in a way that is not read here")
            more.append(text)
            self._at += 1
        return more

    def _block_text(self, style: str, chomp: str, indent: int) -> str:
        taken: list[str] = []
        while self._at < len(self._lines):
            raw = self._lines[self._at]
            if raw.strip() and len(raw) - len(raw.lstrip(" ")) <= indent:
                break
            taken.append(raw)
            self._at += 1
        first = next((line for line in taken if line.strip()), "")
        inner = len(first) - len(first.lstrip(" "))
        if any(line.strip() and line[:inner].strip() for line in taken):
            raise self._fail("a text whose first line is deeper than another")
        body = [line[inner:] for line in taken]
        trailing = 0
        while body and not body[-1]:
            body.pop()
            trailing += 1
        if style == ">" and any(line.startswith((" ", "\t")) for line in body):
            raise self._fail("a folded text with lines that are deeper")
        text = "\n".join(body) if style == "|" else _folded(body)
        if not body:
            return "\n" * trailing if chomp == "+" else ""
        return text + {"-": "", "": "\n", "+": "\n" * (trailing + 1)}[chomp]


def _folded(lines: list[str]) -> str:
    text = ""
    for line in lines:
        text += line if not text or (text.endswith("\n") and line) else "\n" if not line else f" {line}"
    return text


def _uncommented(text: str) -> str:
    if text[:1] in ('"', "'"):
        match = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(#.*)?$""", text)
        return match[1] if match else text
    return "" if text.startswith("#") else re.split(r"\s#", text, maxsplit=1)[0].rstrip()


def _scalar(text: str) -> Any:
    if text[:1] == '"':
        try:
            return msgspec.json.decode(text.encode(), type=str)
        except msgspec.DecodeError:
            raise ValueError("a text in double quotes with an escape that is not read here") from None
    if text[:1] == "'":
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise ValueError("a text in single quotes that does not end")
        return text[1:-1].replace("''", "'")
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) and len(text) <= 40:
        return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    return float(text) if _FLOAT.fullmatch(text) and len(text) <= 40 else text


def _flow(text: str, at: int, depth: int) -> tuple[Any, str]:
    """The list or mapping within a line that begins at ``at``, and what is left of the line."""
    if depth > _DEPTH:
        raise ValueError(f"more than {_DEPTH} levels")
    closing = "]" if text[at] == "[" else "}"
    items: list[Any] = []
    pairs: dict[str, Any] = {}
    rest = text[at + 1 :].lstrip()
    while rest and rest[0] != closing:
        key: str | None = None
        if closing == "}":
            match = _KEY.match(rest) or re.match(r"""([A-Za-z_][\w.-]*|"(?:[^"\\]|\\.)*")\s*:\s*(.*)$""", rest)
            if match is None:
                raise ValueError("no key in a mapping within a line")
            key = str(_scalar(match[1]))
            rest = match[2] or ""
        if rest[:1] in ("[", "{"):
            value, rest = _flow(rest, 0, depth + 1)
        else:
            found = _LOOSE.match(rest)
            if found is None or not found[1]:
                raise ValueError("a value within brackets that is not read here")
            value, rest = _scalar(found[1].strip()), rest[found.end() :]
        if key is None:
            items.append(value)
        elif key in pairs:
            raise ValueError(f"the key {key[:40]!r} is there twice")
        else:
            pairs[key] = value
        rest = rest.lstrip()
        if rest[:1] == ",":
            rest = rest[1:].lstrip()
        elif rest[:1] != closing:
            raise ValueError("brackets that do not end on their line")
    if not rest:
        raise ValueError("brackets that do not end on their line")
    return (items if closing == "]" else pairs), rest[1:]


def same(one: Any, other: Any) -> bool:
    """Whether two values of JSON are the same: ``1`` and ``1.0`` are, ``1`` and ``true`` are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
