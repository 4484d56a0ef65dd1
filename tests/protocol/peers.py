"""Engines for tests: a client that has agreed with nobody in particular, fed by hand."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.protocol.actions import STDIO, Send, Traits
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import Event, PeerViolation
from dragoman.protocol.handshake import Identity
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import ALL, LEGACY, MODERN

EVERYTHING: dict[str, Any] = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}, "logging": {}}


def new_client(revisions: tuple[str, ...] = ALL, *, traits: Traits = STDIO, **more: Any) -> Connection:
    """A client engine that has not begun."""
    return Connection(Role.CLIENT, Identity(Implementation("tester", "1"), {"roots": {}}), traits=traits, revisions=revisions, **more)


def open_client(revision: str = LEGACY[0], *, capabilities: dict[str, Any] = EVERYTHING, traits: Traits = STDIO) -> Connection:
    """A client engine that speaks ``revision``; the handshake was request 1."""
    client = new_client((revision,), traits=traits)
    client.begin()
    if revision in MODERN:
        result: dict[str, Any] = {"supportedVersions": [revision], "capabilities": capabilities}
    else:
        result = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": {"name": "s", "version": "1"}}
    feed(client, {"id": 1, "result": result})
    client.events()
    client.actions()
    return client


def feed(connection: Connection, message: dict[str, Any], **more: Any) -> list[Event]:
    """One message in; the events that it makes."""
    connection.receive(msgspec.json.encode({"jsonrpc": "2.0", **message}), **more)
    return connection.events()


def sent(connection: Connection) -> list[dict[str, Any]]:
    """What it wants to be sent now, as JSON values."""
    return [msgspec.json.decode(action.message) for action in connection.actions() if isinstance(action, Send)]


def kinds(events: list[Event]) -> list[str]:
    """The kinds of violations among events."""
    return [event.kind for event in events if isinstance(event, PeerViolation)]


def others(events: list[Event]) -> list[Event]:
    """The events that are no violations."""
    return [event for event in events if not isinstance(event, PeerViolation)]
