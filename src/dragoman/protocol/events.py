"""What happened, in the past tense: everything a :class:`~dragoman.protocol.connection.Connection` can tell its driver."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from dragoman.errors import DragomanError
from dragoman.wire.envelope import ErrorBody, RequestId
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import Era

SAMPLE: Final = 200
"""How many bytes of what arrived are kept with a violation."""


def short(value: object) -> str:
    """What a peer sent, for a sentence of ours: quoted, and cut at 80 characters."""
    text = repr(value[:81] if isinstance(value, str) else value)
    return text if len(text) <= 80 else text[:79] + "…"


class Peer(msgspec.Struct, frozen=True):
    """What the other side said about itself when the connection was made: display only, never identity."""

    info: Implementation
    revision: str
    era: Era
    capabilities: dict[str, object]
    instructions: str | None = None


class Negotiated(msgspec.Struct, frozen=True):
    """Both sides speak ``peer.revision`` from now on."""

    peer: Peer


class HandshakeFailed(msgspec.Struct, frozen=True):
    """No revision could be agreed on; the connection is of no use."""

    error: DragomanError


class ResultReceived(msgspec.Struct, frozen=True, gc=False):
    """Our request was answered; ``result`` is valid UTF-8 JSON."""

    request_id: RequestId
    result: Raw


class ErrorReceived(msgspec.Struct, frozen=True):
    """Our request was answered with an error object; ``status`` is HTTP's, where that was not one of success."""

    request_id: RequestId
    error: ErrorBody
    status: int | None = None


class ResponseUnreadable(msgspec.Struct, frozen=True):
    """Bytes arrived that answer our request and cannot be used.

    Attributes:
        size: How many there were, where that is what is wrong.
        max_bytes: The limit of this request, where that is what they were over, and not the frame limit.
    """

    request_id: RequestId
    reason: str
    size: int | None = None
    max_bytes: int | None = None


class RequestLost(msgspec.Struct, frozen=True):
    """The answer to our request can no longer arrive.

    Attributes:
        sent: False only where it provably never left, or was turned away unread.
        hint: What a person can do about it, or ``None``.
        wants_credential: It was turned away because the peer does not know who we are, or does not let us.
        status: HTTP's, where there was one.
        retry_after_s: ``Retry-After``, where it came with that.
    """

    request_id: RequestId
    reason: str
    sent: bool = True
    hint: str | None = None
    wants_credential: bool = False
    status: int | None = None
    retry_after_s: float | None = None


class ProgressReceived(msgspec.Struct, frozen=True, gc=False):
    """Progress of our request."""

    request_id: RequestId
    progress: float
    total: float | None
    message: str | None


class NoticeReceived(msgspec.Struct, frozen=True, gc=False):
    """A one-way message; ``params`` is JSON, ``{}`` where there were none."""

    method: str
    params: Raw


class AskReceived(msgspec.Struct, frozen=True):
    """The peer wants something of us; answer with ``Connection.answer``."""

    request_id: RequestId
    method: str
    params: Raw


class AskCancelled(msgspec.Struct, frozen=True):
    """The peer no longer wants an answer; ``reason`` is its word, untrusted and perhaps empty."""

    request_id: RequestId
    reason: str = ""


class PeerViolation(msgspec.Struct, frozen=True):
    """The peer broke the protocol and we carried on.

    Attributes:
        kind: A short stable word to count by, e.g. ``noise``, ``foreign-id``.
        detail: One line for a person.
        sample: At most 200 bytes of what arrived.
    """

    kind: str
    detail: str
    sample: bytes = b""


class SessionLost(msgspec.Struct, frozen=True):
    """The peer no longer knows our session; what is sent on this connection from now on is refused. Said once."""

    reason: str


class ConnectionEnded(msgspec.Struct, frozen=True):
    """Nothing more will arrive; every open request was reported lost before this."""

    reason: str


Event = (
    Negotiated
    | HandshakeFailed
    | ResultReceived
    | ErrorReceived
    | ResponseUnreadable
    | RequestLost
    | ProgressReceived
    | NoticeReceived
    | AskReceived
    | AskCancelled
    | PeerViolation
    | SessionLost
    | ConnectionEnded
)
