"""Renders what was measured as Markdown; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.figures import Figure, Judged, Run, Verdict, figure
from bench.row import Row

NOTHING = "–"


def number(value: float) -> str:
    """Three significant digits, thousands separated: 0.42, 3.14, 98.1, 1,234."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}"


def marked(found: Figure | None, unit: str = "") -> str:
    if found is None:
        return NOTHING
    return f"{'~' if found.disturbed else ''}{number(found.value)}{' ' + unit if unit else ''}"


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def table(heads: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table whose first ``left`` columns are aligned left, the others right."""
    rule = ["---"] * left + ["---:"] * (len(heads) - left)
    return "\n".join("| " + " | ".join(cell(text) for text in line) + " |" for line in (heads, rule, *lines))


def goals(rows: Sequence[Row], judged: Sequence[Judged]) -> str:
    titles = {row.name: row.title for row in rows}
    lines = []
    for one in judged:
        goal = one.goal
        if goal.bottom:
            measured = f"{goal.top} {marked(one.top, goal.unit)}, {goal.bottom} {marked(one.bottom, goal.unit)}"
            shown = NOTHING if one.figure is None else marked(one.figure) + " ×"
        else:
            measured, shown = f"{goal.top} {marked(one.top, goal.unit)}", marked(one.figure, goal.unit)
        verdict = "**missed**" if one.verdict is Verdict.MISSED else str(one.verdict)
        lines.append([titles[one.row], goal.text, measured, shown, f"{verdict}: {one.reason}" if one.reason else verdict])
    return table(["row", "goal", "measured", "figure", ""], lines, left=3)


def figures(row: Row, runs: Sequence[Run], labels: Mapping[str, str], absent: Mapping[str, str]) -> str:
    """All contenders of one row; one that failed or is not there says so in its line."""
    lines = []
    for name in row.contenders:
        mine = [run for run in runs if run.row == row.name and run.contender == name]
        errors = [run.error for run in mine if run.error]
        if name in absent:
            note = absent[name]
        elif errors:
            note = f"fails ({len(errors)} of {len(mine)} runs): {errors[-1]}"
        else:
            note = f"{sum(run.quiet for run in mine)}/{len(mine)} undisturbed" if mine else "not run"
        lines.append([labels.get(name, name), *(marked(figure(runs, row.name, name, metric)) for metric in row.metrics), note])
    return table(["", *row.metrics.values(), "runs"], lines)
