"""Which methods may be sent to a peer: what it declared, and what its revision still has."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.errors import LocalProtocolError
from dragoman.protocol.events import Peer
from dragoman.wire.methods import (
    CLIENT_REQUESTS,
    MODERN_TASKS,
    NOTICES_REMOVED_IN_MODERN,
    REMOVED_IN_MODERN,
    SERVER_REQUESTS,
    TASKS_EXTENSION,
)


class Permits:
    """The methods one side may ask of the other.

    Args:
        peer: The other side, or ``None`` before it is known: then nothing may be asked.
        to_server: Whether the peer is the server.
    """

    __slots__ = ("_peer", "_table", "_to_server", "_who", "allowed")

    def __init__(self, peer: Peer | None, *, to_server: bool) -> None:
        self._peer = peer
        self._to_server = to_server
        self._table = CLIENT_REQUESTS if to_server else SERVER_REQUESTS
        self._who = "the server" if to_server else "the client"
        self.allowed: frozenset[str] = frozenset()
        if peer is not None:
            self.allowed = frozenset(
                method
                for method, need in self._table.items()
                if _declared(peer.capabilities, _need(method, need, peer), peer.revision)
                and not (peer.era == "modern" and method in REMOVED_IN_MODERN)
            )

    def check_notice(self, method: str) -> None:
        """Refuse a one-way message that the peer's revision no longer has; others are free.

        Raises:
            LocalProtocolError: It has none of that name.
        """
        peer = self._peer
        if self._to_server and peer is not None and peer.era == "modern" and (why := NOTICES_REMOVED_IN_MODERN.get(method)):
            raise LocalProtocolError(f"{method} does not exist in revision {peer.revision}: {why}")

    def explain(self, method: str) -> LocalProtocolError:
        """Why ``method`` may not be sent, and what to do instead."""
        peer = self._peer
        if peer is None:
            return LocalProtocolError(f"{method} cannot be sent before {self._who} has said who it is")
        if peer.era == "modern" and method in REMOVED_IN_MODERN:
            return LocalProtocolError(
                f"{method} does not exist in revision {peer.revision}", hint=f"use {REMOVED_IN_MODERN[method]} instead"
            )
        hint = "pass force=True to send it anyway"
        need = self._table.get(method)
        if need is None:
            return LocalProtocolError(f"{method} is not a method of revision {peer.revision}", hint=hint)
        need = _need(method, need, peer)
        declared = ", ".join(peer.capabilities) or "none"
        message = f"{self._who} did not declare the capability {need!r} that {method} needs; it declared {declared}"
        return LocalProtocolError(message, hint=hint)


def _declared(capabilities: Mapping[str, object], need: str, revision: str) -> bool:
    if not need:
        return True
    if need == "completions" and revision == "2024-11-05":
        return True  # the capability came with 2025-03-26
    name, _, member = need.partition(".")
    member, _, setting = member.partition(":")
    value = capabilities.get(name, False)
    if value is False:
        return False  # null is what some servers write for {}
    if not member:
        return True
    inner = value.get(member) if isinstance(value, Mapping) else None
    return inner not in (None, False) if not setting else isinstance(inner, Mapping) and inner.get(setting) is True


def _need(method: str, need: str, peer: Peer) -> str:
    return f"extensions.{TASKS_EXTENSION}" if peer.era == "modern" and method in MODERN_TASKS else need
