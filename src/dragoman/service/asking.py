"""What faces need to answer what servers ask: the question and the answer, the choices of a field, and who went unanswered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dragoman.errors import DragomanError, ServerError
from dragoman.runtime.asking import Ask, AskNext, Elicitation, ElicitationAnswer
from dragoman.wire.envelope import METHOD_NOT_FOUND, MISSING_CAPABILITY, ErrorBody

_WANTED: Final = {
    "elicitation/create": ("elicitation", "an answer from a person", "run it on a terminal"),
    "roots/list": ("roots", "the folders it may work in", "--root DIR shows it one"),
    "sampling/createMessage": ("sampling", "a model's answer", "a program that uses the library can give it one"),
}


class Unanswered:
    """Notes what servers asked and nobody was there for; stands around every ask."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def __call__(self, ask: Ask, ask_next: AskNext) -> Any:
        """Let the ask through, and look at what became of it."""
        answer = await ask_next(ask)
        if isinstance(answer, ErrorBody) and answer.code == METHOD_NOT_FOUND and ask.method in _WANTED:
            _, what, how = _WANTED[ask.method]
            note = f"the server asked for {what} ({ask.method}), and was told that there is none; {how}"
            if note not in self.notes:
                self.notes.append(note)
        return answer


def explain(exc: DragomanError) -> None:
    """Let an error about a capability that we did not declare say what a person at a command line can do."""
    if isinstance(exc, ServerError) and exc.code == MISSING_CAPABILITY and isinstance(exc.data, dict):
        needed = exc.data.get("requiredCapabilities")
        for capability, _, how in _WANTED.values():
            if isinstance(needed, dict | list) and capability in needed:
                exc.hint = f"the server needs the client capability {capability}; {how}"
                return


def choices(field: Mapping[str, Any]) -> list[tuple[Any, str]] | None:
    """What may be chosen in a field, each with its label (perhaps empty); ``None`` where the value is free.

    Source: MCP 2025-11-25 and 2026-07-28 client/elicitation: ``enum`` (``enumNames``), or ``oneOf``/``anyOf`` of ``const`` and ``title``.
    """
    spec = field.get("items") if field.get("type") == "array" else field
    if not isinstance(spec, Mapping):
        return None
    if isinstance(values := spec.get("enum"), list):
        names = spec.get("enumNames")
        labels = [str(name) for name in names] if isinstance(names, list) and len(names) == len(values) else [""] * len(values)
        return list(zip(values, labels, strict=True))
    for key in ("oneOf", "anyOf"):
        options = spec.get(key)
        if isinstance(options, list) and options and all(isinstance(option, Mapping) and "const" in option for option in options):
            return [(option["const"], str(option.get("title", ""))) for option in options]
    return None


__all__ = ["Elicitation", "ElicitationAnswer", "Unanswered", "choices", "explain"]
