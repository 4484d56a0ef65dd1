"""Finds the line of every key in TOML and JSON text, because the parsers of the standard library do not tell.

The text must have been accepted by the real parser already: this reads structure only, checks nothing, and knows
strings well enough never to take their inside for a key.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from typing import Final

from .model import KeyPath

_STRING: Final = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*+'"
)
_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*+)*")
_SPACE: Final = re.compile(r"[ \t]*+")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]++")
_SCALAR: Final = re.compile(r"[^,\]}\n#]*+")


def toml_lines(text: str) -> dict[KeyPath, int]:
    """Line (from 1) of each key path of a valid TOML document.

    A table named only as part of a longer name (``a`` in ``[a.b]``) has the line where it was first named.
    Elements of arrays have paths ending in their index.
    """
    return _Toml(text).run()


class _Toml:
    def __init__(self, text: str) -> None:
        # The standard parser reads CR LF as LF; a lone CR cannot occur outside of comments.
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.found: dict[KeyPath, int] = {}
        self.sizes: dict[KeyPath, int] = {}  # elements so far of each array of tables

    def run(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return self.found
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        line = self.line()
        path: KeyPath = ()
        keys = self.key()
        for number, key in enumerate(keys):
            path = (*path, key)
            self.found.setdefault(path, line)
            if path in self.sizes and not (is_array and number == len(keys) - 1):
                path = (*path, self.sizes[path] - 1)
        if is_array:
            index = self.sizes.get(path, 0)
            self.sizes[path] = index + 1
            path = (*path, index)
            self.found[path] = line
        self.at += 2 if is_array else 1
        return path

    def pair(self, table: KeyPath) -> None:
        line = self.line()
        path = table
        for key in self.key():
            path = (*path, key)
            self.found.setdefault(path, line)
        self.at += 1  # the equals sign
        self.skip(_SPACE)
        self.value(path)

    def key(self) -> list[str]:
        keys = []
        while True:
            self.skip(_SPACE)
            if self.text[self.at] in "\"'":
                raw = self.skip(_STRING)
                keys.append(next(iter(tomllib.loads(f"{raw} = 0"))))
            else:
                keys.append(self.skip(_BARE))
            self.skip(_SPACE)
            if self.text[self.at] != ".":
                return keys
            self.at += 1

    def value(self, path: KeyPath) -> None:
        match self.text[self.at]:
            case '"' | "'":
                self.skip(_STRING)
            case "[":
                self.array(path)
            case "{":
                self.inline_table(path)
            case _:
                self.skip(_SCALAR)

    def array(self, path: KeyPath) -> None:
        self.at += 1
        index = 0
        while True:
            self.skip(_BLANK)
            if self.text[self.at] == "]":
                self.at += 1
                return
            self.found[(*path, index)] = self.line()
            self.value((*path, index))
            index += 1
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1

    def inline_table(self, path: KeyPath) -> None:
        self.at += 1
        while True:
            self.skip(_BLANK)
            if self.text[self.at] == "}":
                self.at += 1
                return
            self.pair(path)
            self.skip(_BLANK)
            if self.text[self.at] == ",":
                self.at += 1

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Move over what ``pattern`` matches here, and return it; no match means the text was not valid."""
        match = pattern.match(self.text, self.at)
        if match is None or (match.end() == self.at and pattern is _BARE):
            raise ValueError(f"not valid TOML at offset {self.at}")
        self.at = match.end()
        return match.group()

    def line(self) -> int:
        return bisect_right(self.starts, self.at)


_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]++')


def json_lines(text: str) -> dict[KeyPath, int]:
    """Line (from 1) of each key path of a valid JSON document; for an element of an array, the line where it starts."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found: dict[KeyPath, int] = {}
    # One entry for each open bracket: the path of its value, and the index reached (None in an object).
    open_values: list[tuple[KeyPath, int | None]] = []
    path: KeyPath = ()
    expects_key = False
    for token in _JSON_TOKEN.finditer(text):
        word = token.group()
        line = bisect_right(starts, token.start())
        if word in ("}", "]"):
            open_values.pop()
            expects_key = False
        elif word == ",":
            parent, index = open_values[-1]
            expects_key = index is None
            if index is not None:
                open_values[-1] = (parent, index + 1)
        elif word == ":":
            continue
        elif expects_key:
            path = (*open_values[-1][0], json.loads(word))
            found[path] = line
            expects_key = False
        else:  # a value starts here
            here = path
            if open_values and (index := open_values[-1][1]) is not None:
                here = (*open_values[-1][0], index)
                found[here] = line
            if word in ("{", "["):
                open_values.append((here, 0 if word == "[" else None))
                expects_key = word == "{"
    return found


# What has no end is taken to the end: to try again from each of its characters would take the square of their number.
_JSON_NOISE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)')
_JSON_COMMA: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])')


def without_comments(text: str) -> str:
    """JSON as some editors write it, as plain JSON: comments and trailing commas become spaces, so lines stay the same."""

    def blank(match: re.Match[str]) -> str:
        word = match.group()
        return word if word.startswith('"') else re.sub(r"[^\n]", " ", word)

    return _JSON_COMMA.sub(blank, _JSON_NOISE.sub(blank, text))
