"""What policy needs from others, as Protocols: somewhere to write, a register of tools, somebody to ask, an end of the chain.

Nothing here is implemented by policy's callers' callers: ``service`` hands the real ones in, tests hand in lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, Protocol

import msgspec

from dragoman.errors import DragomanError
from dragoman.policy.chain import Call, Kind, Outcome
from dragoman.policy.guards.base import Guarded
from dragoman.policy.questions import Decision, Question
from dragoman.policy.raising import Raise, raised
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier

Event = Literal["asked", "sending", "ended"]
Status = Literal["ok", "tool error", "refused", "denied", "expired", "failed", "cancelled", "unknown"]

#: Says why a call would be in vain (the server is down), as the error to raise; ``None``: go ahead.
InVain = Callable[[Call], DragomanError | None]

#: Takes secrets out of a text.
Redact = Callable[[str], str]


class AuditEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of one call, as it is to be written down. ``at`` is seconds since the epoch; ``status`` only on *ended*."""

    at: float
    event: Event
    call: str
    turn: str | None = None
    principal: str | None = None
    server: str | None = None
    tool: str | None = None
    tier: Tier | None = None
    attempt: int | None = None
    status: Status | None = None
    detail: dict[str, Any] = {}


class AuditSink(Protocol):
    """Where audit events go. Both methods raise ``DragomanError`` when the event cannot be taken."""

    async def append(self, event: AuditEvent) -> None:
        """Take an ordinary event: cheap, does not wait for a disk."""
        ...

    async def append_durably(self, event: AuditEvent) -> None:
        """Return once the event, and all before it, would survive a power cut."""
        ...


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the register knows it.

    Attributes:
        definition: As pinned; ``None`` for resources and prompts.
        rule: What decided the tier, e.g. ``servers.files.tools."read_*"``.
        held: Why it is held (changed, or new since the server was pinned), one clause; ``None`` when it may be used.
        say: The sentence an approver reads, ``{name}`` standing for an argument.
        enabled: Only for L3: a person switched it on by name.
        timeout_s: Deadline of a call.
        max_timeout_s: How far progress may move that deadline; ``None``: as far as the runtime's default.
        idempotent: A person said that running it twice is the same as once; the server's own claim does not count.
        stale_s: How old an answer may be that stands in while the server is down; ``None``: none may.
        raises: Rules that raise the tier of a call by its arguments.
        max_bytes: Longest result of this tool; ``None``: as of its server.
        guards: What looks at its arguments after the schema, in this order.
    """

    server: str
    name: str
    definition: Tool | None = None
    tier: Tier
    rule: str
    held: str | None = None
    say: str | None = None
    enabled: bool = False
    timeout_s: float | None = None
    max_timeout_s: float | None = None
    idempotent: bool = False
    stale_s: float | None = None
    max_bytes: int | None = None
    raises: tuple[Raise, ...] = ()
    guards: tuple[Guarded, ...] = ()

    @property
    def full_name(self) -> str:
        """``server.tool``."""
        return f"{self.server}.{self.name}"

    def called_with(self, arguments: Mapping[str, Any]) -> Resolved:
        """The same tool with the tier of a call with these arguments: its own, or a stricter one."""
        tier, rule = raised(self.tier, self.rule, self.raises, arguments)
        return self if tier == self.tier else msgspec.structs.replace(self, tier=tier, rule=rule)


class Registry(Protocol):
    """Which tools there are."""

    def find(self, kind: Kind, server: str, written: str) -> Resolved | None:
        """Look a name up: ``server.tool``, ``server__tool``, or the bare name when ``server`` is given."""
        ...

    async def load(self, server: str, written: str) -> bool:
        """Make sure that the catalog concerned is there; true if it pays to look again. May raise ``TransportError``."""
        ...

    def nearest(self, kind: Kind, server: str, written: str) -> list[str]:
        """The names that come closest, best first, at most three."""
        ...

    def servers(self) -> list[str]:
        """The names of all servers, sorted."""
        ...


class Approver(Protocol):
    """Somebody or something that answers a question."""

    async def decide(self, question: Question) -> Decision:
        """Answer. Cancelled when time is up; whatever it raises counts as *deny*."""
        ...


class Caller(Protocol):
    """The end of the chain: sends the call to its server and waits for the answer."""

    def __call__(self, call: Call) -> Awaitable[Outcome]:
        """Raise ``CallFailed``, ``TransportError`` or ``ProtocolError`` when there is no result."""
        ...
