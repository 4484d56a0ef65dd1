"""Functions as approvers, plain and async, and those that always say the same."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from dragoman.policy.approvers import CallbackApprover, DenyAll, YesApprover
from dragoman.policy.questions import Decision, Question
from dragoman.wire.tier import Tier


def _question(tier: Tier = "L2") -> Question:
    return Question(
        call="c",
        server="s",
        tool="t",
        principal="local",
        turn="",
        tier=tier,
        step="arguments",
        title="T",
        lines=(),
        arguments={},
        arguments_sha256="",
        definition_sha256="",
        asked_at=0,
        expires_at=1,
    )


async def _async_yes(question: Question) -> bool:
    return True


class _Callable:
    async def __call__(self, question: Question) -> bool:
        return True


@pytest.mark.parametrize(
    ("function", "verdict"),
    [
        (lambda question: True, "allow"),
        (lambda question: False, "deny"),
        (lambda question: None, "deny"),
        (lambda question: "yes", "deny"),
        (lambda question: 1, "deny"),
        (_async_yes, "allow"),
        (lambda question: _async_yes(question), "allow"),
        (_Callable(), "allow"),
        (lambda question: Decision(verdict="allow", by="x", how="y"), "allow"),
    ],
)
async def test_a_function_answers_and_only_true_is_a_yes(function: Any, verdict: str) -> None:
    """Our choice: a truthy slip is no approval."""
    assert (await CallbackApprover(function).decide(_question())).verdict == verdict


async def test_a_plain_function_may_block() -> None:
    """Our contract: a callback that asks with ``input()`` does not stop the loop."""
    release = threading.Event()
    threads: list[str] = []
    loop, started = asyncio.get_running_loop(), asyncio.Event()

    def ask(question: Question) -> bool:
        threads.append(threading.current_thread().name)
        loop.call_soon_threadsafe(started.set)
        return release.wait(20)

    task = asyncio.ensure_future(CallbackApprover(ask).decide(_question()))
    await started.wait()
    release.set()
    assert (await task).verdict == "allow"
    assert threads == ["dragoman-approver"]


async def test_whatever_a_function_raises_reaches_the_asker() -> None:
    """The asker counts it as a no; a thread must not swallow it."""
    for failure in (ValueError("x"), SystemExit(1), StopIteration()):

        def fail(question: Question, failure: BaseException = failure) -> bool:
            raise failure

        with pytest.raises(RuntimeError, match=type(failure).__name__):
            await CallbackApprover(fail).decide(_question())


async def test_an_answer_after_the_question_was_withdrawn_is_dropped() -> None:
    """Our contract: nothing breaks when a thread answers too late."""
    release, answered = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def ask(question: Question) -> Any:
        release.wait(20)
        loop.call_soon_threadsafe(answered.set)
        return _async_yes(question)

    task = asyncio.ensure_future(CallbackApprover(ask).decide(_question()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    release.set()
    await answered.wait()
    await asyncio.sleep(0.01)  # the answer itself comes a moment later; a coroutine left unawaited would be a warning, so an error


async def test_nobody_says_no_and_why() -> None:
    """Our contract."""
    decision = await DenyAll("there is no terminal").decide(_question())
    assert (decision.verdict, decision.how, decision.reason) == ("deny", "nobody", "there is no terminal")


async def test_yes_beforehand_is_recorded_as_such() -> None:
    """Our command line."""
    assert await YesApprover("ann").decide(_question()) == Decision(verdict="allow", by="ann", how="--yes")
    assert (await YesApprover("ann").decide(_question("L3"))).verdict == "deny"
