"""The person at the keyboard agrees or not: to a call in words, with ``--yes`` beforehand, to a change of the configuration."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from dragoman.cli.keyboard import Keyboard, has_terminal
from dragoman.cli.options import Settings
from dragoman.cli.output import warn
from dragoman.wire.escape import escape_for_terminal

if TYPE_CHECKING:
    from dragoman.service.approving import Approver, Decision, Question

__all__ = ["NO_TERMINAL", "TerminalApprover", "approver_for", "confirm", "has_terminal"]

_LONGEST_INTENT = 500

NO_TERMINAL = "there is no terminal to ask on"


def approver_for(settings: Settings) -> Approver:
    """Who answers in this run: ``--yes``, the terminal, or nobody."""
    from dragoman.service.approving import DenyAll, YesApprover, typed_by

    if settings.yes:
        if settings.loaded.config.policy.allow_yes:
            return YesApprover(by=typed_by(terminal=has_terminal()))
        warn("--yes does not count here: policy.allow_yes is false")
    return TerminalApprover(typed_by(terminal=True)) if has_terminal() else DenyAll(NO_TERMINAL)


def confirm(question: str) -> bool | None:
    """Ask yes or no, outside of a loop; anything but yes is no. ``None``: there is no terminal."""
    if not has_terminal():
        return None
    with Keyboard() as keyboard:
        keyboard.prompt(f"{escape_for_terminal(question)} [y/N]")
        try:
            return is_yes(keyboard.read() or b"")
        except KeyboardInterrupt:
            keyboard.write("\n")
            raise


class TerminalApprover:
    """Shows a question in words and waits for ``y``, or for the intent in the person's own words. ``v`` shows all that was cut.

    End of file and silence are a no.

    Ctrl-C means the whole command: the question is taken back with it, and the call ends as cancelled.

    Args:
        by: Who sits there, for the audit.
    """

    def __init__(self, by: str) -> None:
        self._by = by
        self._one_at_a_time = asyncio.Lock()

    async def decide(self, question: Question) -> Decision:
        """Answer, in time."""
        from dragoman.service.approving import Decision

        async with self._one_at_a_time:
            if not has_terminal():
                return Decision(verdict="deny", by="nobody", how="nobody", reason=NO_TERMINAL)
            with Keyboard() as keyboard:
                if question.step == "intent":
                    intent = await _ask_intent(keyboard, question)
                    return Decision(
                        verdict="allow" if intent else "deny", by=self._by, how="terminal", reason=intent or "no intent was given"
                    )
                allowed = await _ask(keyboard, question)
        return Decision(verdict="allow" if allowed else "deny", by=self._by, how="terminal")


async def _ask_intent(keyboard: Keyboard, question: Question) -> str | None:
    """What the person wants with this, in their own words; ``None``: they did not say. A ``y`` says nothing: it is what a finger does."""
    _show(keyboard, f"\n{question.tier}: {question.title}")
    ask = "What is it for? In your own words; empty is no"
    while True:
        left_s = max(0.0, question.expires_at - time.time())
        keyboard.prompt(f"{ask} (within {_in_words(left_s)}):")
        line = await _answer(keyboard, left_s)
        said = " ".join((line or b"").decode("utf-8", "replace").split())
        if not said:
            keyboard.write("\nnot approved\n")
            return None
        # Chinese has no spaces: four characters are a phrase.
        if len(said.split()) >= 2 or (not said.isascii() and len(said) >= 4):
            return said[:_LONGEST_INTENT]
        ask = "At least two words that say what you want with it; empty is no"


async def _answer(keyboard: Keyboard, left_s: float) -> bytes | None:
    """A line; ``None``: nothing came in time, or the end of file."""
    try:
        # A second more: the chain has the same deadline, and its word for it is *expired*.
        return await keyboard.line(left_s + 1.0)
    except (TimeoutError, asyncio.CancelledError) as exc:
        keyboard.write("\nno answer: not approved\n")
        if isinstance(exc, TimeoutError):
            return b""
        raise


def ask_name(question: str) -> str | None:
    """A line that a person types, outside of a loop; ``None``: there is no terminal."""
    if not has_terminal():
        return None
    with Keyboard() as keyboard:
        keyboard.prompt(escape_for_terminal(question))
        return (keyboard.read() or b"").decode("utf-8", "replace").strip()


async def _ask(keyboard: Keyboard, question: Question) -> bool:
    from dragoman.service.approving import whole_lines

    whole = whole_lines(question)
    is_cut = whole != question.lines
    _show(keyboard, f"\n{question.tier}: {question.text}")
    if is_cut:
        keyboard.show("  (some of it is cut or on one line here: v shows all of it)")
    while True:
        left_s = max(0.0, question.expires_at - time.time())
        keyboard.prompt(f"Approve? [y/N{'/v' if is_cut else ''}] (within {_in_words(left_s)})")
        line = await _answer(keyboard, left_s)
        if line is None:
            keyboard.write("\n")
            return False
        if line.strip().lower() != b"v":
            return is_yes(line)
        _show(keyboard, "\n".join(["", question.title, *(f"  {part}" for part in whole)]))


def _show(keyboard: Keyboard, text: str) -> None:
    # What goes on stands further in than any argument, so that no value can look like the next one.
    keyboard.show(escape_for_terminal(text), hang="      ", whole_words=False)


def is_yes(answer: bytes) -> bool:
    """Whether somebody typed a yes."""
    return answer.strip().lower() in (b"y", b"yes")


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s"
