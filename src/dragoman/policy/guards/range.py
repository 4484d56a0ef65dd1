"""The guard ``range``: a number between two bounds."""

from __future__ import annotations

import math
from typing import Any

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.problems import shown


class RangeGuard:
    """Lets numbers through that are neither below ``least`` nor above ``most``; ``None`` is no bound."""

    name, whole = "range", False

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self._least, self._most = least, most

    async def check(self, value: Any, call: Call) -> Any:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            return Problem("", f"expected a number, {self.describe()}, got {shown(value)}")
        if (self._least is not None and value < self._least) or (self._most is not None and value > self._most):
            return Problem("", f"expected a number, {self.describe()}, got {shown(value)}")
        return value

    def describe(self) -> str:
        bounds = (("at least", self._least), ("at most", self._most))
        return " and ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
