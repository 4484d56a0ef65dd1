"""A call, its outcome, and the one composer of layers.

A layer is one ``await``: it looks at the call, hands on a (perhaps changed) call or refuses, and looks at the outcome on
the way out. Layers keep no per-call state on ``self``. Trouble travels as an exception of :mod:`dragoman.errors`; the
host turns it into an :class:`Outcome` at the outermost end, so users never see it raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from dragoman.errors import DragomanError, Refused
from dragoman.wire.listing import Tool
from dragoman.wire.results import PromptResult, ReadResult, ToolResult
from dragoman.wire.tier import Tier

Kind = Literal["tool", "resource", "prompt"]
Result = ToolResult | ReadResult | PromptResult


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of ours, on its way. Frozen: a layer that changes it hands on a copy (``msgspec.structs.replace``).

    Attributes:
        id: Unique; audit records, grants and questions name it.
        kind: ``tool``, ``resource`` (``name`` is the URI) or ``prompt``.
        server: Configured name. Empty until *resolve* has split a name like ``server.tool`` or ``server__tool``.
        name: The tool's own name at its server; before *resolve* what the caller wrote.
        arguments: JSON object.
        definition: The tool as pinned; set by *resolve*.
        tier: Set by *resolve*; ``rule`` says what decided it.
        principal: On whose behalf.
        turn: The work for one user request.
        attempt: From 1.
        timeout_s: For queue, retries and all rounds; starts after approval. *Resolve* sets it where the caller did not.
        max_timeout_s: How far progress may move that deadline; ``None``: not at all.
        max_bytes: Longest result, where this tool has a limit of its own.
        from_model: The arguments were written by a model (the default), not typed by a person.
        adhoc: On a server without a config: the person at the keyboard decides, no tiers.
    """

    id: str
    kind: Kind = "tool"
    server: str = ""
    name: str
    arguments: Mapping[str, Any] = {}
    definition: Tool | None = None
    tier: Tier | None = None
    rule: str = ""
    principal: str = "local"
    turn: str = ""
    attempt: int = 1
    timeout_s: float | None = None
    max_timeout_s: float | None = None
    max_bytes: int | None = None
    trace: str | None = None
    from_model: bool = True
    adhoc: bool = False
    on_progress: Callable[[Any], Any] | None = None

    @property
    def full_name(self) -> str:
        """``server.tool``, as people write it; on a server without a configuration the tool alone."""
        return f"{self.server}.{self.name}" if self.server and not self.adhoc else self.name


class Finding(msgspec.Struct, frozen=True):
    """Something suspicious in arguments or a result. ``level``: ``mark`` or ``block``."""

    scanner: str
    level: Literal["mark", "block"]
    message: str
    sample: str = ""


class Spent(msgspec.Struct, frozen=True):
    """What a call cost."""

    duration_s: float = 0.0
    attempts: int = 1
    result_bytes: int = 0


class Outcome(msgspec.Struct, kw_only=True):
    """How a call ended. Exactly one of ``result`` and ``error`` is set once the host hands it out.

    Attributes:
        call: The call as it was last seen inside the chain (resolved, coerced, approved).
        labels: e.g. ``untrusted``.
        notes: What layers did on the way, one line each (a coerced argument, an approval).
        stale_age_s: How old the result is, where an old one stands in for a server that is down; else ``None``.
    """

    call: Call
    result: Result | None = None
    error: DragomanError | None = None
    labels: frozenset[str] = frozenset()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    spent: Spent = Spent()
    stale_age_s: float | None = None

    @property
    def ok(self) -> bool:
        """The tool ran and did not say that it failed."""
        return self.error is None and not (isinstance(self.result, ToolResult) and self.result.is_error)

    @property
    def hint(self) -> str | None:
        """What to hand back to the model (or a person) so that it can repair its call; ``None`` when all is well."""
        if isinstance(self.error, Refused):
            return self.error.for_model()  # our own words
        if self.error is not None:
            return self.for_model()  # may hold a server's words: quoted
        if isinstance(self.result, ToolResult) and self.result.is_error:
            return f"the tool {self.call.full_name} reports an error: {self.for_model()}"
        return None

    def for_user(self) -> str:
        """The result or the error for a person: terminal escapes and control characters neutralised."""
        from dragoman.policy.views import for_user

        return for_user(self)

    def for_model(self) -> str:
        """A quoted, labelled block that says which server and tool it came from and that it is unverified."""
        from dragoman.policy.views import for_model

        return for_model(self)

    def unwrap(self) -> Result:
        """The result.

        Raises:
            DragomanError: What ended the call instead.
        """
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


CallNext = Callable[[Call], Awaitable[Outcome]]


class Layer(Protocol):
    """One place in the chain. ``name`` is the word for it in audit records and ``policy explain``."""

    name: str

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        """Pass the call on, or refuse it by raising; look at the outcome on the way out."""
        ...


C = TypeVar("C")
R = TypeVar("R")


def compose(
    layers: Sequence[Callable[[C, Callable[[C], Awaitable[R]]], Awaitable[R]]], endpoint: Callable[[C], Awaitable[R]]
) -> Callable[[C], Awaitable[R]]:
    """One callable out of layers, the first one outermost, around ``endpoint``. Serves calls and asks alike."""
    chain = endpoint
    for layer in reversed(layers):
        chain = _bind(layer, chain)
    return chain


def _bind(
    layer: Callable[[C, Callable[[C], Awaitable[R]]], Awaitable[R]], call_next: Callable[[C], Awaitable[R]]
) -> Callable[[C], Awaitable[R]]:
    def step(call: C) -> Awaitable[R]:
        return layer(call, call_next)

    return step
