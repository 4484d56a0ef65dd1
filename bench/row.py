"""What a row of the benchmark is; data, without any rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.figures import Goal


@dataclass(frozen=True)
class Row:
    """
    One measurement. ``pinned``: client and server share one CPU, which takes the kernel's placement of the two out of the figure.

    ``kind`` is how a run is started: a *scenario* of drivers/scenarios.*, an *import*, a process *start* to its first line of output, or
    the *install*. ``once`` names contenders too slow to run in every round. ``metrics`` are the columns shown: name to heading.
    ``quick`` replaces the params in a quick run, ``quick_for`` changes some of them for one contender. ``noisy`` is false where counts or
    bytes are measured, which neighbours do not touch.
    """

    name: str
    title: str
    contenders: tuple[str, ...]
    metrics: Mapping[str, str]
    goals: tuple[Goal, ...]
    kind: str = "scenario"
    scenario: str = ""
    pinned: bool = False
    params: Mapping[str, object] = field(default_factory=dict)
    quick: Mapping[str, object] = field(default_factory=dict)
    quick_for: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    once: tuple[str, ...] = ()
    noisy: bool = True
    timeout_s: float = 120.0
    rounds: int | None = None
