"""What to do next, in the imperative, and what a transport is, as data."""

from __future__ import annotations

import msgspec

from dragoman.wire.envelope import RequestId


class Send(msgspec.Struct, frozen=True, gc=False):
    """Send one message.

    Attributes:
        message: Compact JSON without a newline.
        request_id: Set when the message is a request, so that a transport with a stream for each can name it.
        headers: Name and value pairs for transports that have headers (``Traits.headers``).
    """

    message: bytes
    request_id: RequestId | None = None
    headers: tuple[tuple[str, str], ...] = ()


class CloseStream(msgspec.Struct, frozen=True):
    """Close the stream of a request: on modern HTTP that is the cancellation. A no-op where there is none."""

    request_id: RequestId


class SetTimer(msgspec.Struct, frozen=True):
    """Call ``Connection.tick()`` once after ``after_s`` seconds. For the driver, not the transport."""

    after_s: float


class Close(msgspec.Struct, frozen=True):
    """End the connection."""

    reason: str


Action = Send | CloseStream | SetTimer | Close


class Traits(msgspec.Struct, frozen=True):
    """What a transport can do, so that the engine decides and no transport has to look into messages.

    Attributes:
        cancel_closes_stream: In the modern era a closed stream is the cancellation (HTTP); elsewhere it is a notice.
        request_scoped_streams: Each request has a stream of its own; ``Received.via`` names it.
        headers: Messages carry headers.
    """

    cancel_closes_stream: bool = False
    request_scoped_streams: bool = False
    headers: bool = False


STDIO = Traits()
HTTP = Traits(cancel_closes_stream=True, request_scoped_streams=True, headers=True)
