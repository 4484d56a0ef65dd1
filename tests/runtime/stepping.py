"""Something happens at the n-th await of a coroutine, for every n: without a clock, and without knowing what it awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Literal

Moment = Literal["while it waits", "as it goes on"]
MOMENTS: tuple[Moment, ...] = ("while it waits", "as it goes on")


class Stepped:
    """Awaits ``coroutine``, and calls ``act`` once at its ``step``-th suspension (from 0).

    ``while it waits``: as soon as it is suspended. ``as it goes on``: when what it waits for has happened, and it has not gone on yet.

    Attributes:
        steps: How often it was suspended.
        acted: Whether ``act`` was called.
    """

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], step: int = -1, act: Callable[[], Any] = lambda: None, when: Moment = MOMENTS[0]
    ) -> None:
        self._coroutine, self._step, self._act, self._when = coroutine, step, act, when
        self.steps = 0
        self.acted = False

    def __await__(self) -> Generator[Any, Any, Any]:
        coroutine = self._coroutine
        error: BaseException | None = None
        while True:
            try:
                waits_for = coroutine.throw(error) if error is not None else coroutine.send(None)
            except StopIteration as stop:
                return stop.value
            error = None
            if self.steps == self._step:
                if self._when == MOMENTS[0] or waits_for is None:
                    asyncio.get_running_loop().call_soon(self._do) if waits_for is None else self._do()
                else:
                    waits_for.add_done_callback(self._do)  # before the task's own, which is added when this was yielded
            self.steps += 1
            try:
                yield waits_for
            except BaseException as exc:
                error = exc

    def _do(self, _: Any = None) -> None:
        if not self.acted:
            self.acted = True
            self._act()


async def at_every_await(attempt: Callable[[int], Awaitable[Stepped]], most: int = 400) -> int:
    """Make ``attempt`` for each step there is; how many there were.

    Raises:
        AssertionError: There is no end to them.
    """
    for step in range(most):
        stepped = await attempt(step)
        if not stepped.acted:
            assert step == stepped.steps, "there were more steps, and nothing happened at this one"
            return step
    raise AssertionError(f"more than {most} steps")
