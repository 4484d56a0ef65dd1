"""Requests of the peer's that we have not answered yet, and what becomes of a new one.

A client in the stateless era answers none; a server answers ``initialize`` and ``server/discover`` by itself, and refuses
revisions it does not speak.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from dragoman.protocol.events import AskReceived, Event, Peer, PeerViolation, short
from dragoman.protocol.handshake_server import ServerHandshake
from dragoman.wire.envelope import ErrorBody, RequestId, decode_any
from dragoman.wire.methods import META_VERSION

MAX_OPEN_ASKS: Final = 64  # of a server to us; people answer far fewer at a time
TOO_MANY: Final = -31000  # outside of what JSON-RPC and MCP reserve


class Asks:
    """The open asks of one connection.

    Args:
        emit: Takes events.
        server: Our half of the handshake where we are the server.
        agreed: Called when a client has initialized.
    """

    __slots__ = ("_agreed", "_emit", "_open", "_server", "modern_client")

    def __init__(self, emit: Callable[[Event], None], server: ServerHandshake | None, agreed: Callable[[Peer], None]) -> None:
        self._emit = emit
        self._server = server
        self._agreed = agreed
        self._open: set[RequestId] = set()
        self.modern_client = False

    def take(self, request_id: RequestId, method: str, params: Raw) -> Any:
        """A request arrived.

        Returns:
            What to answer at once (a result or an :class:`ErrorBody`), or ``None``: it is open now, or must not be answered.
        """
        if self._server is not None:
            answer = self._answer_as_server(self._server, method, params)
            if answer is not None:
                return answer
        elif self.modern_client:
            self._violation("ask", f"a request {short(method)} from a server of the stateless era; not answered")
            return None
        elif len(self._open) >= MAX_OPEN_ASKS:
            self._violation("too-many-asks", f"more than {MAX_OPEN_ASKS} requests open at once")
            return ErrorBody(TOO_MANY, f"too many requests at once, limit {MAX_OPEN_ASKS}")
        if request_id in self._open:
            self._violation("twice", f"the id {short(request_id)} is in use by another request")
            return None
        self._open.add(request_id)
        self._emit(AskReceived(request_id, method, params))
        return None

    def settle(self, request_id: RequestId) -> bool:
        """Take an ask out: it is answered or no longer wanted. False if it was not open."""
        if request_id not in self._open:
            return False
        self._open.discard(request_id)
        return True

    def drain(self) -> list[RequestId]:
        """Take everything out."""
        left = list(self._open)
        self._open.clear()
        return left

    def _answer_as_server(self, server: ServerHandshake, method: str, params: Raw) -> Any:
        try:
            decoded = decode_any(params)
        except (msgspec.DecodeError, RecursionError):
            decoded = None
        members = decoded if isinstance(decoded, dict) else {}
        if method == "initialize":
            outcome, peer = server.initialize(members)
            if peer is not None:
                self._agreed(peer)
            return outcome
        meta = members.get("_meta")
        version = meta.get(META_VERSION) if isinstance(meta, dict) else None
        if version is not None and version not in server.modern:
            return server.unsupported(version)
        return server.discover() if method == "server/discover" else None

    def _violation(self, kind: str, detail: str) -> None:
        self._emit(PeerViolation(kind, detail))
