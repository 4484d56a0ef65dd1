"""Plain tables: aligned by what characters take up on a terminal, cut and wrapped to its width, whole where it is piped."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.cli.fit import columns, cut, fold, wrap
from dragoman.cli.output import data, styled, terminal_width
from dragoman.wire.escape import escape_inline

GAP = "  "
_NARROWEST_LAST = 24
_NARROWEST = 8
_LEGIBLE = 16  # of a column that is cut


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
        width: Columns there are; the last column is wrapped, others are cut, and where too little of them would be left each
            row is folded instead. ``None``: neither.
    """
    cells = [[escape_inline(cell) for cell in row] for row in rows]
    natural = [max(map(columns, column)) for column in zip(headers, *cells, strict=True)]
    widths = natural[:]
    if width is not None:
        _shrink(widths, width - len(GAP) * (len(widths) - 1))
        if any(has < min(needs, _LEGIBLE) for has, needs in zip(widths[:-1], natural, strict=False)):
            return _stacked(headers, cells, width)
    lines = [_line(headers, widths)]
    for row in cells:
        last = wrap(row[-1], widths[-1]) if width is not None else [row[-1]]
        lines.append(_line([*row[:-1], last[0]], widths))
        lines += [_line([""] * (len(row) - 1) + [more], widths) for more in last[1:]]
    return lines


def _stacked(headers: Sequence[str], cells: list[list[str]], width: int) -> list[str]:
    """A row behind the other, each cell where there is room for it; what goes on stands further in."""
    lines = []
    for row in (list(headers), *cells):
        text = GAP.join(cell for cell in row if cell)
        lines += fold(text, width, hang="    ", whole_words=False).split("\n")
    return lines


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
