"""Approvers that need no terminal and no store: a function of the program's own, ``--yes``, and nobody."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable

from dragoman.policy.questions import Decision, Question

Answer = Decision | bool


class CallbackApprover:
    """Asks a function: ``async``, or plain, which then runs in a thread of its own and may block.

    It answers with a :class:`Decision`, or with ``True`` or ``False``; anything else is a no.
    """

    def __init__(self, function: Callable[[Question], Answer | Awaitable[Answer]], by: str = "callback") -> None:
        self._function, self._by = function, by

    async def decide(self, question: Question) -> Decision:
        answer: object
        if inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(getattr(self._function, "__call__", None)):  # noqa: B004
            answer = self._function(question)
        else:
            answer = await _in_thread(self._function, question)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Decision):
            return answer
        if answer is True:
            return Decision(verdict="allow", by=self._by, how="callback")
        reason = "" if answer is False else f"the approver returned a {type(answer).__name__}, neither yes nor no"
        return Decision(verdict="deny", by=self._by, how="callback", reason=reason)


class DenyAll:
    """Says no to everything, for a reason: what a program without a terminal uses."""

    def __init__(self, reason: str, how: str = "nobody") -> None:
        self._reason, self._how = reason, how

    async def decide(self, question: Question) -> Decision:
        return Decision(verdict="deny", by="nobody", how=self._how, reason=self._reason)


class YesApprover:
    """The person who typed ``--yes`` has agreed to L2 calls beforehand; never to L3."""

    def __init__(self, by: str) -> None:
        self._by = by

    async def decide(self, question: Question) -> Decision:
        if question.tier != "L2":
            return Decision(verdict="deny", by=self._by, how="--yes", reason=f"--yes does not cover {question.tier} calls")
        return Decision(verdict="allow", by=self._by, how="--yes")


async def _in_thread(function: Callable[[Question], object], question: Question) -> object:
    """Run a function that may block for as long as it likes: a daemon thread, so that it never keeps the program alive."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[object] = loop.create_future()

    def settle(value: object, error: BaseException | None) -> None:
        if answer.done():  # too late, nobody listens
            if inspect.iscoroutine(value):
                value.close()
        elif error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)

    def run() -> None:
        value: object = None
        error: BaseException | None = None
        try:
            value = function(question)
        except BaseException as exc:  # SystemExit too: in a thread it would end nothing, and the asker would wait
            error = RuntimeError(f"{type(exc).__name__}: {exc}")
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    threading.Thread(target=run, name="dragoman-approver", daemon=True).start()
    return await answer
