"""Marks every result as untrusted and says where it came from; a light tripwire for what hides from the eye, no scanner."""

from __future__ import annotations

from typing import Final

from dragoman.policy.chain import Call, CallNext, Finding, Outcome
from dragoman.policy.ports import Resolved
from dragoman.wire.escape import escape_for_terminal, escape_inline, hidden_characters

_BEFORE: Final = 30
_AFTER: Final = 20


class Label:
    """Adds ``untrusted``, ``server:…`` and ``tool:…`` to what comes back, and one finding with all that its text hides."""

    name = "label"

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        outcome = await call_next(call)
        seen = outcome.call
        outcome.labels |= {"untrusted", f"server:{seen.server}", f"{seen.kind}:{seen.name}"}
        if outcome.result is not None:
            text = outcome.result.text
            if (hidden := hidden_characters(text)) is not None:
                finding = Finding(scanner=self.name, level="mark", message=f"the result has {hidden}", sample=_sample(text))
                outcome.findings = (*outcome.findings, finding)
        return outcome

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        return "marks the result untrusted, with its server and tool"


def _sample(text: str) -> str:
    """The words around the first hidden character, made visible, from the beginning of a word."""
    shown = escape_for_terminal(text)
    at = next((index for index, (a, b) in enumerate(zip(shown, text, strict=False)) if a != b), 0)
    start = max(0, at - _BEFORE)
    if start and not text[start - 1].isspace():
        border = next((index for index in range(start, at) if text[index].isspace()), None)
        start = start if border is None else border + 1
    return escape_inline(text[start : at + _AFTER]).strip()
