"""How text fits a terminal: what it takes up, cut to a width, wrapped into a cell, folded line by line as prose."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_WORD = re.compile(r"\s*\S+")

MOST_TEXT = 4_000
"""Characters of a text that a server wrote about itself, where it is shown among others."""


def columns(text: str) -> int:
    """How many columns of a terminal ``text`` takes up."""
    if text.isascii():
        return len(text)
    return sum(_width(char) for char in text)


def cut(text: str, width: int) -> str:
    """``text``, or its beginning and ``…``, in at most ``width`` columns."""
    if columns(text) <= width:
        return text
    taken, used = [], 0
    for char in text:
        used += _width(char)
        if used > width - 1:
            break
        taken.append(char)
    return "".join(taken) + "…"


def wrap(text: str, width: int) -> list[str]:
    """``text`` in lines of at most ``width`` columns, broken at spaces where there are any; at least one line."""
    if columns(text) <= width:
        return [text]
    if text.isascii():
        return textwrap.wrap(text, width) or [""]
    lines, line, used = [], "", 0
    for word in text.split():
        for piece in pieces(word, width):
            need = columns(piece)
            if line and used + 1 + need > width:
                lines.append(line)
                line, used = "", 0
            line, used = (f"{line} {piece}", used + 1 + need) if line else (piece, need)
    return [*lines, line]


def pieces(word: str, width: int) -> list[str]:
    """A word too long for a line, in pieces that fit: scripts without spaces."""
    pieces, piece, used = [], "", 0
    for char in word:
        need = _width(char)
        if piece and used + need > width:
            pieces.append(piece)
            piece, used = "", 0
        piece, used = piece + char, used + need
    return [*pieces, piece]


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fold(text: str, width: int | None, *, hang: str = "  ", whole_words: bool = True) -> str:
    """Lines longer than ``width`` broken at spaces; what goes on stands further in than what it belongs to.

    Args:
        width: Columns there are; ``None`` leaves everything as it is.
        hang: In front of what goes on, on top of the line's own indentation.
        whole_words: A word longer than a line is left to the terminal, so that a path can be copied; else it is broken too,
            so that nothing in it can stand where a line begins.
    """
    if width is None:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _folded(line, width, hang, whole_words))


def _folded(line: str, width: int, hang: str, whole_words: bool) -> list[str]:
    if columns(line) <= width:
        return [line]
    lead = line[: len(line) - len(line.lstrip(" "))] + hang
    if len(lead) > width // 2:
        lead = hang[: width // 4]
    found, current, used = [], "", 0
    for word in _WORD.findall(line):
        parts = [word] if whole_words or columns(word) <= width - len(lead) else pieces(word, width - len(lead))
        for part in parts:
            need = columns(part)
            if current.strip() and used + need > width:
                found.append(current)
                current, used = lead, len(lead)
                part = part.lstrip()
                need = columns(part)
            current, used = current + part, used + need
    return [*found, current]


def shortened(text: str, most: int = 200) -> str:
    """Words of a server, which may be a book, cut to so many characters; not escaped."""
    return text if len(text) <= most else f"{text[:most]}…"
