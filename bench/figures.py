"""From runs to figures: medians, paired ratios and verdicts; pure, no clocks and no processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

QUIET_CPUS = 0.25
"""A run is undisturbed when other processes used at most this many CPUs meanwhile."""


@dataclass(frozen=True)
class Run:
    """One fresh process of one contender, in one round of one row."""

    row: str
    contender: str
    round: int
    values: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    others_cpus: float = 0.0

    @property
    def quiet(self) -> bool:
        return self.others_cpus <= QUIET_CPUS


@dataclass(frozen=True)
class Goal:
    """
    One promise about one metric: ``top`` alone, or ``top`` divided by ``bottom``.

    A goal without ``limit`` is for information. ``strict`` makes "at most" mean "below".
    """

    text: str
    metric: str
    top: str
    bottom: str = ""
    at_most: float | None = None
    at_least: float | None = None
    strict: bool = False
    unit: str = ""


@dataclass(frozen=True)
class Figure:
    """A number with where it comes from: ``disturbed`` when no undisturbed run was there to take it from, ``runs`` how many it rests on."""

    value: float
    runs: int
    disturbed: bool = False


class Verdict(StrEnum):
    OK = "ok"
    MISSED = "missed"
    INFO = "for information"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Judged:
    row: str
    goal: Goal
    figure: Figure | None
    verdict: Verdict
    top: Figure | None = None
    bottom: Figure | None = None
    reason: str = ""


def median(values: Iterable[float]) -> float:
    """Middle value, or the mean of the middle two; ValueError when there are none."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of nothing")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _of(runs: Sequence[Run], row: str, contender: str, metric: str) -> dict[int, Run]:
    return {run.round: run for run in runs if run.row == row and run.contender == contender and metric in run.values}


def figure(runs: Sequence[Run], row: str, contender: str, metric: str) -> Figure | None:
    """Median over the undisturbed runs; where there are none, over all, and marked."""
    found = list(_of(runs, row, contender, metric).values())
    if not found:
        return None
    quiet = [run for run in found if run.quiet]
    return Figure(median(run.values[metric] for run in quiet or found), len(quiet or found), disturbed=not quiet)


def ratio(runs: Sequence[Run], row: str, metric: str, top: str, bottom: str) -> Figure | None:
    """
    Median over the rounds of top / bottom *of the same round*: what disturbed both does not disturb their ratio.

    Rounds in which both were undisturbed count; where there are none, all do, and the figure is marked. Where no round has both (a
    contender that runs only once), the ratio of the two figures.
    """
    tops, bottoms = _of(runs, row, top, metric), _of(runs, row, bottom, metric)
    pairs = [(tops[number], bottoms[number]) for number in sorted(tops.keys() & bottoms.keys()) if bottoms[number].values[metric] > 0]
    if pairs:
        quiet = [pair for pair in pairs if pair[0].quiet and pair[1].quiet]
        return Figure(median(a.values[metric] / b.values[metric] for a, b in quiet or pairs), len(quiet or pairs), disturbed=not quiet)
    a, b = figure(runs, row, top, metric), figure(runs, row, bottom, metric)
    if a is None or b is None or b.value <= 0:
        return None
    return Figure(a.value / b.value, min(a.runs, b.runs), a.disturbed or b.disturbed)


def holds(goal: Goal, value: float) -> bool:
    """True when the value keeps the goal; a goal without a limit always holds."""
    if goal.at_most is not None and (value >= goal.at_most if goal.strict else value > goal.at_most):
        return False
    return goal.at_least is None or (value > goal.at_least if goal.strict else value >= goal.at_least)


def judge(runs: Sequence[Run], row: str, goal: Goal, absent: Mapping[str, str]) -> Judged:
    """``absent`` maps contenders that could not run to the reason."""
    top = figure(runs, row, goal.top, goal.metric)
    bottom = figure(runs, row, goal.bottom, goal.metric) if goal.bottom else None
    found = ratio(runs, row, goal.metric, goal.top, goal.bottom) if goal.bottom else top
    if found is None:
        reason = "; ".join(
            _why_missing(runs, row, name, absent) for name in (goal.top, goal.bottom) if name and not _of(runs, row, name, goal.metric)
        )
        return Judged(row, goal, None, Verdict.NOT_MEASURED, top, bottom, reason or "no run gave a figure")
    if goal.at_most is None and goal.at_least is None:
        return Judged(row, goal, found, Verdict.INFO, top, bottom)
    return Judged(row, goal, found, Verdict.OK if holds(goal, found.value) else Verdict.MISSED, top, bottom)


def _why_missing(runs: Sequence[Run], row: str, contender: str, absent: Mapping[str, str]) -> str:
    if contender in absent:
        return f"{contender}: {absent[contender]}"
    errors = [run.error for run in runs if run.row == row and run.contender == contender and run.error]
    return f"{contender} fails: {errors[-1]}" if errors else f"{contender} was not run"
