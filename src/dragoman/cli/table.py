"""Plain tables: aligned by what characters take up on a terminal, cut and wrapped to its width, whole where it is piped."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Sequence

from dragoman.cli.output import data, styled, terminal_width
from dragoman.wire.escape import escape_inline

GAP = "  "
_NARROWEST_LAST = 24
_NARROWEST = 8


def show_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout, for the terminal there is."""
    lines = render(headers, rows, terminal_width())
    data(styled(lines[0], bold=True))
    for line in lines[1:]:
        data(line)


def render(headers: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    """The lines of a table; cells are escaped.

    Args:
        rows: As many cells each as there are headers.
        width: Columns there are; the last column is wrapped, others are cut. ``None``: neither.
    """
    cells = [[escape_inline(cell) for cell in row] for row in rows]
    widths = [max(map(columns, column)) for column in zip(headers, *cells, strict=True)]
    if width is not None:
        _shrink(widths, width - len(GAP) * (len(widths) - 1))
    lines = [_line(headers, widths)]
    for row in cells:
        last = wrap(row[-1], widths[-1]) if width is not None else [row[-1]]
        lines.append(_line([*row[:-1], last[0]], widths))
        lines += [_line([""] * (len(row) - 1) + [more], widths) for more in last[1:]]
    return lines


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
        for piece in _pieces(word, width):
            need = columns(piece)
            if line and used + 1 + need > width:
                lines.append(line)
                line, used = "", 0
            line, used = (f"{line} {piece}", used + 1 + need) if line else (piece, need)
    return [*lines, line]


def _pieces(word: str, width: int) -> list[str]:
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


def _shrink(widths: list[int], room: int) -> None:
    """Take from the last column first, then from whichever is widest."""
    over = sum(widths) - room
    if over <= 0:
        return
    take = min(over, max(0, widths[-1] - _NARROWEST_LAST))
    widths[-1] -= take
    over -= take
    while over > 0:
        widest = max(range(len(widths)), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1
        over -= 1


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [cut(cell, width) for cell, width in zip(cells, widths, strict=True)]
    padded = [cell + " " * (width - columns(cell)) for cell, width in zip(shown, widths, strict=True)]
    return GAP.join(padded).rstrip()
