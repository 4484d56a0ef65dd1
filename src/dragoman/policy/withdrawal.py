"""Takes questions back when there is nothing left to ask for: the server was removed, or the host is closing."""

from __future__ import annotations

import asyncio

from dragoman.policy.ports import Approver
from dragoman.policy.questions import Decision, Question


class Withdrawable:
    """An approver whose open questions can be withdrawn; their calls end as denied, at once.

    Args:
        approver: Who is asked.
    """

    def __init__(self, approver: Approver) -> None:
        self._approver = approver
        self._open: dict[asyncio.Task[object] | None, Question] = {}

    async def decide(self, question: Question) -> Decision:
        """As the approver does. Runs in a task of its own, which is what *approve* gives it."""
        task = asyncio.current_task()
        self._open[task] = question
        try:
            return await self._approver.decide(question)
        finally:
            self._open.pop(task, None)

    def withdraw(self, server: str | None = None) -> None:
        """Take back the questions about one server, or all of them."""
        for task, question in list(self._open.items()):
            if task is not None and server in (None, question.server):
                task.cancel()
