"""One connection as a state machine, for either side: every message of ours and of theirs goes through here.

Four verbs cover it: do something (``start_request``, ``notify``, ``answer``, ``abandon``), feed it what the transport
reports (``receive``, ``receive_oversized``, ``receive_stream_end``, ``receive_eof``), then drain ``events()`` and
``actions()``. It deliberately has no ``await``, no clock and no sockets, and it never raises at what a peer sends: that
becomes a :class:`~dragoman.protocol.events.PeerViolation`.

Theory of operation. A request of ours is in the pending table from ``start_request`` until it *settles*: by a result, an
error, an unreadable answer, a loss, or because we abandon it. ``_pending.settle`` is the only way out, so it happens once.
Handshake requests are in the same table and settle into the handshake. Requests of theirs are in ``_asks`` until we answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw

from dragoman.errors import DragomanError, LocalProtocolError
from dragoman.protocol.actions import STDIO, Action, Close, CloseStream, Send, Session, SetTimer, Traits
from dragoman.protocol.answers import MAX_HANDSHAKE, Answers
from dragoman.protocol.asks import Asks
from dragoman.protocol.events import (
    SAMPLE,
    AskCancelled,
    ConnectionEnded,
    Event,
    HandshakeFailed,
    Negotiated,
    Peer,
    PeerViolation,
    RequestLost,
    short,
)
from dragoman.protocol.handshake import ClientHandshake, Identity
from dragoman.protocol.handshake_server import ServerHandshake
from dragoman.protocol.inbound import raw_or_empty, read_strictly, recover
from dragoman.protocol.notices import Notices
from dragoman.protocol.pending import PendingTable
from dragoman.protocol.permits import Permits
from dragoman.protocol.refusals import Refusal
from dragoman.protocol.stamp import Params, Stamp
from dragoman.protocol.streams import Position, Streams
from dragoman.wire.envelope import (
    Envelope,
    ErrorBody,
    ErrorResponse,
    Notification,
    Outgoing,
    Request,
    RequestId,
    ResultResponse,
    encode,
)
from dragoman.wire.methods import CANCELLED, INITIALIZED
from dragoman.wire.plain import encode_plainly
from dragoman.wire.revisions import ALL, Era

State = Literal["new", "handshaking", "open", "closed"]
"""Where a connection stands. Words, not an enumeration: looking a member up costs 0.1 µs, several times a call."""


class Role(Enum):
    """Which side we are."""

    CLIENT = "client"
    SERVER = "server"


class Connection:
    """One side of one MCP connection.

    Args:
        role: Which side we are.
        identity: Who we are and what we can do.
        traits: What the transport can do.
        revisions: What we speak here, newest first.
        known: The era the server answered in last time (client), or ``None`` to find out.
    """

    def __init__(
        self,
        role: Role,
        identity: Identity,
        *,
        traits: Traits = STDIO,
        revisions: tuple[str, ...] = ALL,
        known: Era | None = None,
    ) -> None:
        self.role = role
        self.state: State = "new"
        self.peer: Peer | None = None
        self.identity = identity
        self.traits = traits
        self._pending = PendingTable()
        self._events: list[Event] = []
        self._actions: list[Action] = []
        self._permits = Permits(None, to_server=role is Role.CLIENT)
        self._stamp = Stamp("", modern=False, info=identity.info, capabilities={}, headers=False)
        self._session: Session = "none"
        self._client: ClientHandshake | None = None
        if role is Role.CLIENT:
            answers_each = traits.request_scoped_streams
            self._client = ClientHandshake(self, identity, revisions=revisions, known=known, answers_each=answers_each)
        self._server = ServerHandshake(identity, revisions) if role is Role.SERVER else None
        self._asks = Asks(self._events.append, self._server, self._negotiated)
        self._answers = Answers(self._pending, self._client, self._events.append)
        self.longest = self._answers.longest  # for transports that can stop keeping a message while it arrives
        self._notices = Notices(self._pending, self._asks, self._events.append, is_server=role is Role.SERVER)
        self.streams = Streams(self._pending, self._client, self._events.append, lambda action: self._actions.append(action))

    # --- draining -----------------------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """What happened since the last call."""
        events = self._events[:]
        self._events.clear()
        return events

    def actions(self) -> list[Action]:
        """What the transport must do now, in order."""
        actions = self._actions
        if actions:
            self._actions = []
        return actions

    @property
    def has_actions(self) -> bool:
        """Whether ``actions()`` would return any."""
        return bool(self._actions)

    @property
    def open_requests(self) -> int:
        """How many of our requests wait for an answer."""
        return len(self._pending)

    @property
    def asked_both_ways(self) -> bool:
        """The peer is modern and was sent ``initialize`` all the same, because it was slow."""
        return self._client is not None and self._client.asked_both_ways

    @property
    def session_lost(self) -> bool:
        """The peer no longer knows our session: whatever is sent here is refused."""
        return self.streams.session_lost

    # --- doing --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Start: a client sends its first message, a server waits for one."""
        if self.state != "new":
            raise LocalProtocolError(f"the connection was started before (it is {self.state})")
        if self._client is not None:
            self.state = "handshaking"
            self._client.start()
        else:
            self.state = "open"

    def tick(self) -> None:
        """The timer asked for by a ``SetTimer`` has run out."""
        if self.state == "handshaking" and self._client is not None:
            self._client.on_timer()

    def start_request(
        self,
        method: str,
        params: Params = None,
        *,
        progress: bool = False,
        meta: Mapping[str, Any] | None = None,
        headers: tuple[tuple[str, str], ...] = (),
        force: bool = False,
        max_bytes: int | None = None,
    ) -> RequestId:
        """Open a request; drain ``actions()`` afterwards, and expect one event that settles it.

        Args:
            method: e.g. ``tools/call``.
            params: A mapping, or JSON to forward as it is.
            progress: Ask for progress notifications.
            meta: More members for ``_meta``.
            headers: More headers, where the transport has them.
            force: Send even what the peer did not declare.
            max_bytes: The longest result that is wanted; a longer one settles the request as unreadable.

        Returns:
            The id; ids are integers counting from 1, never used again on this connection.

        Raises:
            LocalProtocolError: Not open, not declared by the peer, or the params are no JSON.
        """
        if self.state != "open":
            raise LocalProtocolError(f"{method} cannot be sent: the connection is {self.state}")
        if method not in self._permits.allowed and not force:
            raise self._permits.explain(method)
        request_id = self._pending.open(method, max_bytes=max_bytes)
        try:
            body = self._stamp.params(params, request_id if progress else None, meta)
            message = encode_plainly(Request(request_id, method, body), params)
        except (TypeError, ValueError, msgspec.MsgspecError, RecursionError, LocalProtocolError) as exc:
            self._pending.settle(request_id)
            if isinstance(exc, LocalProtocolError):
                raise
            raise LocalProtocolError(f"the params of {method} cannot be written as JSON: {exc}") from exc
        sent_headers = self._stamp.headers(method, params, headers) if self.traits.headers else ()
        self._actions.append(Send(message, request_id, sent_headers, self._session))
        return request_id

    def notify(self, method: str, params: Params = None) -> None:
        """Send a one-way message; ``LocalProtocolError`` where the revision has none of that name any more."""
        if self.state == "open":
            self._permits.check_notice(method)
            self._send(Notification(method, UNSET if params is None else params), self._stamp.headers(method, params))

    def answer(self, request_id: RequestId, outcome: Any) -> None:
        """Answer a request of the peer's: an :class:`ErrorBody`, or the result. Ignored if it was cancelled or answered."""
        if self._asks.settle(request_id):
            self._reply(request_id, outcome)

    def abandon(self, request_id: RequestId, reason: str) -> None:
        """Stop waiting for a request, and arrange for the peer to be told.

        Unknown and settled ids are ignored, so this is safe to call twice. Drain ``actions()`` afterwards.

        Args:
            request_id: As returned by ``start_request``.
            reason: One line for the peer's log; cut at 200 characters.

        Source: MCP 2026-07-28 basic/patterns/cancellation: a notice on stdio, a closed stream on HTTP.
        """
        entry = self._pending.settle(request_id)
        if entry is None:
            return
        if self.traits.request_scoped_streams:
            self.streams.forget(request_id)
            self._actions.append(CloseStream(request_id))
        if self.state == "open" and not (self._stamp.modern and self.traits.cancel_closes_stream):
            self.notify(CANCELLED, {"requestId": request_id, "reason": reason[:200]})

    # --- feeding ------------------------------------------------------------------------------------------------

    def receive(self, message: bytes | bytearray, via: RequestId | None = None, status: int | None = None) -> None:
        """Take in one message; never raises at its content.

        Args:
            message: One line, one HTTP body, one SSE event.
            via: The request on whose stream it arrived, where the transport has one for each.
            status: HTTP's, where it was not one of success.
        """
        if status is not None and self.streams.turned_away(via, status, message):
            return
        envelope = read_strictly(message)
        if envelope is None:
            self._recover(message, via, status)
        elif envelope.method is UNSET and self.state != "closed":
            self._answers.take(envelope, via, message, status)  # what nearly every message is
        else:
            self._classify(envelope, via, message, status)
        if self.streams.courses:
            self.streams.prune()

    def _recover(self, message: bytes | bytearray, via: RequestId | None, status: int | None) -> None:
        recovered = recover(message)
        sample = bytes(message[:SAMPLE])
        revision = self.peer.revision if self.peer else ""
        for kind, detail in recovered.notes:
            if kind == "batch" and revision == "2025-03-26":
                continue  # the one revision that has them
            self._violation(kind, detail, sample)
        for item in recovered.messages:
            self._classify(item, via, message, status)
        for answer in recovered.unreadable:
            self._answers.take_unreadable(answer.request_id, via, answer.reason)

    def receive_oversized(self, head: bytes, tail: bytes, size: int, limit: int, via: RequestId | None = None) -> None:
        """A message over its limit was thrown away while it was read; ``head`` and ``tail`` are its first and last bytes."""
        self._answers.take_oversized(head, tail, size, limit, via)

    def receive_stream_end(self, via: RequestId | None, refusal: Refusal, position: Position | None = None) -> None:
        """A stream ended. If it brought no answer, it is continued where that is possible, or the request is lost.

        ``via`` is the request it belongs to, ``None`` for what belongs to none; ``position`` is how far a stream of events came.
        """
        if self.state != "closed":
            self.streams.ended(via, refusal, position)

    def receive_quiet(self, via: RequestId) -> None:
        """The stream of a request is open and brings nothing: closed, if the request is over."""
        self.streams.quiet(via)

    def receive_eof(self, reason: str) -> None:
        """Nothing more will arrive: every open request is lost."""
        if self.state == "closed":
            return
        self.state = "closed"
        for request_id, entry in self._pending.drain():
            if not entry.handshake:
                self._events.append(RequestLost(request_id, reason))
        self._events += [AskCancelled(ask) for ask in self._asks.drain()]
        self._events.append(ConnectionEnded(reason))

    def close(self, reason: str = "closed") -> None:
        """End the connection from our side."""
        if self.state != "closed":
            self._actions.append(Close(reason))
            self.receive_eof(reason)

    # --- classifying --------------------------------------------------------------------------------------------

    def _classify(self, envelope: Envelope, via: RequestId | None, message: bytes | bytearray, status: int | None) -> None:
        if self.state == "closed":
            return
        method, request_id = envelope.method, envelope.id
        if method is UNSET:
            self._answers.take(envelope, via, message, status)
        elif request_id is UNSET:
            self._notices.take(method, raw_or_empty(envelope.params))
        elif request_id is None:
            self._violation("null-id", f"a request {short(method)} with the id null", message[:SAMPLE])
        else:
            self._asked(request_id, method, raw_or_empty(envelope.params))

    def _asked(self, request_id: RequestId, method: str, params: Raw) -> None:
        answer = self._asks.take(request_id, method, params)
        if answer is not None:
            self._reply(request_id, answer)

    # --- for the handshake --------------------------------------------------------------------------------------

    def send_handshake(self, method: str, params: Mapping[str, Any], revision: str) -> RequestId:
        """Send ``server/discover`` or ``initialize``: the only requests before a revision is agreed on."""
        request_id = self._pending.open(method, handshake=True, max_bytes=MAX_HANDSHAKE)
        modern = method == "server/discover"
        stamp = self._make_stamp(revision, modern)
        body = stamp.params(params, None, None)
        # initialize is sent before anything is negotiated, so it carries no version header.
        headers = stamp.headers(method, params) if modern else ()
        self._actions.append(Send(encode(Request(request_id, method, body)), request_id, headers, "none" if modern else "opens"))
        return request_id

    def set_timer(self, after_s: float) -> None:
        """Ask the driver for a ``tick``."""
        self._actions.append(SetTimer(after_s))

    def forget(self, request_id: RequestId) -> None:
        """Ignore whatever answers this handshake request."""
        self._pending.settle(request_id)
        if self.traits.request_scoped_streams:
            self._actions.append(CloseStream(request_id))

    def agreed(self, peer: Peer) -> None:
        """The handshake succeeded."""
        self._negotiated(peer)
        if peer.era == "legacy":
            headers = self._stamp.headers(INITIALIZED, None)
            self._actions.append(Send(encode(Notification(INITIALIZED)), None, headers, "confirms"))
            if self.traits.listen_stream:
                self.streams.listen(headers)

    def failed(self, error: DragomanError) -> None:
        """The handshake failed."""
        self._events.append(HandshakeFailed(error))

    # --- parts --------------------------------------------------------------------------------------------------

    def _negotiated(self, peer: Peer) -> None:
        self.peer = peer
        self.state = "open"
        self._stamp = self._make_stamp(peer.revision, peer.era == "modern")
        self._session = "none" if peer.era == "modern" else "within"
        self._asks.modern_client = self._notices.modern_server = self.role is Role.CLIENT and peer.era == "modern"
        self._permits = Permits(peer, to_server=self.role is Role.CLIENT)
        self._events.append(Negotiated(peer))

    def _make_stamp(self, revision: str, modern: bool) -> Stamp:
        return Stamp(revision, modern=modern, info=self.identity.info, capabilities=self.identity.capabilities, headers=self.traits.headers)

    def _reply(self, request_id: RequestId, outcome: Any) -> None:
        if isinstance(outcome, ErrorBody):
            self._send(ErrorResponse(request_id, outcome), self._stamp.of_answers)
        else:
            self._send(ResultResponse(request_id, outcome), self._stamp.of_answers)

    def _send(self, message: Outgoing, headers: tuple[tuple[str, str], ...] = ()) -> None:
        try:
            data = encode(message)
        except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as exc:
            if isinstance(message, ResultResponse):
                data = encode(ErrorResponse(message.id, ErrorBody(-32603, f"the answer cannot be written as JSON: {exc}")))
            else:
                raise LocalProtocolError(f"the message cannot be written as JSON: {exc}") from exc
        self._actions.append(Send(data, None, headers, self._session))

    def _violation(self, kind: str, detail: str, sample: bytes | bytearray = b"") -> None:
        self._events.append(PeerViolation(kind, detail, bytes(sample)))
