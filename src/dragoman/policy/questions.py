"""What an approver is asked and what it answers: values only; who asks is in ``approve``, who answers in ``approvers``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from dragoman.wire.tier import Tier

Step = Literal["arguments", "intent"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """May this call go out? Everything in it is safe to print on a terminal, except ``arguments``.

    Attributes:
        step: L3 calls are asked about twice: the arguments, then the intent.
        title: The call in one sentence.
        lines: The arguments one by one, lists item by item, no line breaks within.
        notes: What happened to the arguments before (coerced values), one line each.
        arguments: The exact arguments, for approvers that show or check them their own way.
        arguments_sha256, definition_sha256: What a yes is bound to.
        asked_at, expires_at: Seconds since the epoch; after ``expires_at`` an answer is no longer heard.
    """

    call: str
    server: str
    tool: str
    principal: str
    turn: str
    tier: Tier
    step: Step
    title: str
    lines: tuple[str, ...]
    notes: tuple[str, ...] = ()
    arguments: Mapping[str, Any]
    arguments_sha256: str
    definition_sha256: str
    asked_at: float
    expires_at: float

    @property
    def text(self) -> str:
        """The whole question for a person, several lines, without the request for an answer."""
        return "\n".join([self.title, *(f"  {line}" for line in self.lines), *(f"  ({note})" for note in self.notes)])


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
        by: Who decided: a user name, or the program that did.
        how: By what way: ``terminal``, ``--yes``, ``callback``, ``nobody`` …
        reason: In the decider's own words; a model gets to read it when the call is denied.
    """

    verdict: Literal["allow", "deny"]
    by: str
    how: str
    reason: str = ""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """A yes, bound to one call: its id, its tool as pinned, its exact arguments, its tier."""

    call: str
    server: str
    tool: str
    tier: Tier
    arguments_sha256: str
    definition_sha256: str
    by: str
    how: str
