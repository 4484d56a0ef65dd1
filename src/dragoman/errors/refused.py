"""Nothing was sent: calls that were stopped on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from .base import DragomanError, Problem


class Refused(DragomanError):
    """The call was stopped on this machine; nothing was sent.

    Args:
        reason: One sentence: what was refused and why.
        layer: The layer of the chain that refused it.
        hint: What to do instead.
    """

    cli_exit = 3

    def __init__(self, reason: str, *, layer: str = "resolve", hint: str | None = None, server: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.layer, self.hint, self.server = reason, layer, hint, server

    def _sentence(self) -> str:
        return self.reason


class UnknownTool(Refused):
    """No such server or tool, or it is switched off or held; ``hint`` has the nearest names."""


class InvalidArguments(Refused):
    """The arguments do not fit the tool's schema or a guard; ``problems`` says where and how."""

    def __init__(
        self, tool: str, problems: Sequence[Problem], *, layer: str = "validate", hint: str | None = None, server: str | None = None
    ) -> None:
        self.tool, self.problems = tool, tuple(problems)
        super().__init__(f"arguments of {tool} are not valid", layer=layer, hint=hint, server=server)

    def _sentence(self) -> str:
        return "\n".join([f"{self.reason}:", *(f"  - {problem}" for problem in self.problems)])


class ApprovalDenied(Refused):
    """A person or a rule said no, or nobody was there to say yes. ``hint`` is for the person, never for the model."""

    def for_model(self) -> str:
        """What was denied, and that the person decides: how to be allowed is none of a model's business."""
        return f"{self}\ndo not try the same call again; ask the person what they want instead"


class ApprovalExpired(Refused):
    """Nobody answered within the approval deadline."""


class ApprovalPending(Refused):
    """The question was put to somebody who answers later; ``token`` finds it again."""

    def __init__(self, reason: str, token: str, *, layer: str = "approve", hint: str | None = None, server: str | None = None) -> None:
        super().__init__(reason, layer=layer, hint=hint, server=server)
        self.token = token


class BudgetExhausted(Refused):
    """The turn, principal or server has no calls, bytes or retries left."""


class BreakerOpen(Refused):
    """The server failed too often in a row and is left alone for a while, ``since`` then (seconds since the epoch)."""

    def __init__(
        self, reason: str, *, since: float, retry_after_s: float, layer: str = "breaker", hint: str | None = None, server: str | None = None
    ) -> None:
        super().__init__(reason, layer=layer, hint=hint, server=server)
        self.since, self.retry_after_s = since, retry_after_s


class ServerBusy(Refused):
    """Too many calls are on their way already, and this one got no place in time."""


class ToolChanged(Refused):
    """The tool's definition differs from the one that was pinned; it is held until a person has reviewed it."""


class NotAllowed(Refused):
    """A rule of this machine forbids the call, the server or the file."""
