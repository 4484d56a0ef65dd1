"""What a host is told about a server: how to make its client, its tiers and limits, and how it is to be kept alive."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from dragoman.policy.breaker import BreakerRule
from dragoman.policy.bulkhead import LaneRule
from dragoman.policy.rules import Rules
from dragoman.runtime.client import Client
from dragoman.runtime.standing import Credential

HEARTBEAT_S: Final = 60.0


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a host needs to know about a server.

    Attributes:
        make_client: Makes a fresh, unopened client; gets the host's options (name, version, handlers, eras).
        rules: Its tiers.
        timeout_s: Deadline of a call; ``None`` is the client's default.
        result_bytes: Longest result a call may bring.
        max_tools: Tools beyond this many are set aside.
        held_back: Why it may not start (a project file nobody approved), with the command to run; ``None`` if it may.
        breaker: When it is left alone; ``None``: never.
        lane: How many calls of it are made at one time.
        when_down: Called after a client was closed, e.g. to close the log file.
        remote: It is behind an address, so there is no program to start again.
        heartbeat_s: How often a server that is silent is asked whether it lives; 0 is never.
        idle_stop_s: After how many seconds without a call it is stopped until the next one; ``None`` is never.
        credential: Who we say we are, read anew each time it is asked for; ``None`` where nothing is known about that.
    """

    name: str
    make_client: Callable[..., Client]
    rules: Rules
    timeout_s: float | None = None
    result_bytes: int = 1_000_000
    max_tools: int = 10_000
    enabled: bool = True
    held_back: str | None = None
    breaker: BreakerRule | None = BreakerRule()
    lane: LaneRule = LaneRule()
    when_down: Callable[[], None] | None = None
    remote: bool = False
    heartbeat_s: float = HEARTBEAT_S
    idle_stop_s: float | None = None
    credential: Callable[[], Credential] | None = None


class HasSpec(Protocol):
    """Whatever was made for a spec."""

    spec: ServerSpec


class SpecRules:
    """What the layers have to know of the servers that are there at each moment."""

    def __init__(self, slots: Mapping[str, HasSpec]) -> None:
        self._slots = slots

    def breaker(self, server: str) -> BreakerRule | None:
        """When it is left alone; ``None``: never."""
        slot = self._slots.get(server)
        return slot.spec.breaker if slot is not None else None

    def lane(self, server: str) -> LaneRule:
        """How many calls of it are made at one time."""
        slot = self._slots.get(server)
        return slot.spec.lane if slot is not None else LaneRule()
