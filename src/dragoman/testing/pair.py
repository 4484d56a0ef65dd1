"""A client and a server engine joined back to back, without a loop or a transport: whatever one says, the other hears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.protocol.actions import STDIO, Close, Send, SetTimer, Traits
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import Event
from dragoman.protocol.handshake import Identity
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import ALL

EVERYTHING: Mapping[str, Any] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}


class ConnectionPair:
    """Two engines and the messages between them.

    Args:
        ours: Revisions the client speaks, newest first.
        theirs: Revisions the server speaks.
        capabilities: Of the server.
        client_capabilities: Of the client.
        traits: Of the channel between them.

    Attributes:
        client_events: What the client's engine has told so far; likewise ``server_events``.
        wire: Every message so far, oldest first: who sent it, and the message as JSON values.
        timers: What the client asked to be reminded of, in seconds.
    """

    def __init__(
        self,
        *,
        ours: tuple[str, ...] = ALL,
        theirs: tuple[str, ...] = ALL,
        capabilities: Mapping[str, Any] = EVERYTHING,
        client_capabilities: Mapping[str, Any] | None = None,
        traits: Traits = STDIO,
    ) -> None:
        mine = Identity(Implementation("client", "1"), client_capabilities if client_capabilities is not None else {"roots": {}})
        yours = Identity(Implementation("server", "2"), capabilities, "be kind")
        self.client = Connection(Role.CLIENT, mine, traits=traits, revisions=ours)
        self.server = Connection(Role.SERVER, yours, traits=traits, revisions=theirs)
        self.client_events: list[Event] = []
        self.server_events: list[Event] = []
        self.wire: list[tuple[Role, dict[str, Any]]] = []
        self.timers: list[float] = []

    @classmethod
    def opened(cls, revision: str, **more: Any) -> ConnectionPair:
        """A pair that has agreed on ``revision``."""
        pair = cls(ours=(revision,), **more)
        pair.begin()
        assert pair.client.state == "open"
        pair.take()
        return pair

    def begin(self) -> None:
        """Start both and let them agree."""
        self.server.begin()
        self.client.begin()
        self.pump()

    def pump(self) -> None:
        """Carry messages to and fro until both are silent."""
        while self._carry(self.client, self.server) or self._carry(self.server, self.client):
            pass
        self.client_events += self.client.events()
        self.server_events += self.server.events()

    def take(self) -> tuple[list[Event], list[Event]]:
        """What client and server have told since the last time."""
        self.pump()
        told = self.client_events, self.server_events
        self.client_events, self.server_events = [], []
        return told

    def _carry(self, sender: Connection, receiver: Connection) -> bool:
        actions = sender.actions()
        for action in actions:
            if isinstance(action, Send):
                self.wire.append((sender.role, msgspec.json.decode(action.message)))
                receiver.receive(action.message)
            elif isinstance(action, SetTimer):
                self.timers.append(action.after_s)
            elif isinstance(action, Close):
                receiver.receive_eof(action.reason)
        return bool(actions)
