"""What faces need to answer questions: the words of policy for it, and who is at the keyboard."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.policy.approvers import CallbackApprover, DenyAll, YesApprover
from dragoman.policy.ports import Approver
from dragoman.policy.questions import Decision, Question
from dragoman.policy.words import WHOLE, lines
from dragoman.service.plumbing import person
from dragoman.wire.escape import escape_inline


def whole_lines(question: Question) -> tuple[str, ...]:
    """The arguments with nothing cut and texts line by line: ``question.lines`` where that is the same; safe to print."""
    return lines(question.arguments, WHOLE)


def typed_by(*, terminal: bool) -> str:
    """Who typed this command, from what program, and whether on a terminal: ``ada (from make, no terminal)``."""
    facts = [f"from {parent}" if (parent := parent_program()) else "", "" if terminal else "no terminal"]
    known = ", ".join(fact for fact in facts if fact)
    return f"{person()} ({known})" if known else person()


def parent_program() -> str | None:
    """The name of the program that started this one, where the system tells."""
    try:
        return escape_inline(Path(f"/proc/{os.getppid()}/comm").read_text(errors="replace").strip())[:40] or None
    except OSError:
        return None


__all__ = ["Approver", "CallbackApprover", "Decision", "DenyAll", "Question", "YesApprover", "parent_program", "typed_by", "whole_lines"]
