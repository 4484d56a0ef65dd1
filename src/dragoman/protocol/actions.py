"""What to do next, in the imperative, and what a transport is, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from dragoman.wire.envelope import RequestId

Session = Literal["none", "opens", "confirms", "within"]
"""What a message is to the session of a transport that has sessions.

``opens``: its answer may name the session; whatever was held before is dropped, and nothing is sent along. ``confirms``: as
``within``, and the peer must have taken it before the next message leaves. ``within``: belongs to it. ``none``: knows of none.
"""


class Send(msgspec.Struct, frozen=True, gc=False):
    """Send one message.

    Attributes:
        message: Compact JSON without a newline.
        request_id: Set when the message is a request, so that a transport with a stream for each can name it.
        headers: Name and value pairs for transports that have headers (``Traits.headers``).
        session: What it is to the session, for transports that have them.
    """

    message: bytes
    request_id: RequestId | None = None
    headers: tuple[tuple[str, str], ...] = ()
    session: Session = "none"


class CloseStream(msgspec.Struct, frozen=True):
    """Close the stream of a request: on modern HTTP that is the cancellation. A no-op where there is none."""

    request_id: RequestId


class Listen(msgspec.Struct, frozen=True):
    """Open the stream for what belongs to no request; only where ``Traits.listen_stream``.

    Attributes:
        headers: For this, and for whatever else the transport asks by itself in this session: continuing a stream, ending the session.
    """

    headers: tuple[tuple[str, str], ...] = ()


class Resume(msgspec.Struct, frozen=True):
    """Go on with a stream that ended; only where ``Traits.listen_stream``.

    Attributes:
        request_id: Whose stream it was; ``None``: the one for what belongs to no request.
        last_event_id: Where it ended; ``""`` before the first id.
        after_s: How long to wait first.
    """

    request_id: RequestId | None
    last_event_id: str
    after_s: float


class SetTimer(msgspec.Struct, frozen=True):
    """Call ``Connection.tick()`` once after ``after_s`` seconds. For the driver, not the transport."""

    after_s: float


class Close(msgspec.Struct, frozen=True):
    """End the connection."""

    reason: str


Performable = Send | CloseStream | Listen | Resume | Close
"""What a transport is asked to do."""

Action = Performable | SetTimer


class Traits(msgspec.Struct, frozen=True):
    """What a transport can do, so that the engine decides and no transport has to look into messages.

    Attributes:
        cancel_closes_stream: In the modern era a closed stream is the cancellation (HTTP); elsewhere it is a notice.
        request_scoped_streams: Each request has a stream of its own; ``Received.via`` names it.
        headers: Messages carry headers.
        listen_stream: In the legacy era there is a stream for what belongs to no request, and streams can be continued.
        overtaking: Messages travel each by itself, so that one may arrive before another that was sent first.
    """

    cancel_closes_stream: bool = False
    request_scoped_streams: bool = False
    headers: bool = False
    listen_stream: bool = False
    overtaking: bool = False


STDIO = Traits()
HTTP = Traits(cancel_closes_stream=True, request_scoped_streams=True, headers=True, listen_stream=True, overtaking=True)
