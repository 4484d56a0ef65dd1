"""What a transport is: the seam for channels of any kind, ours and yours.

A transport opens, performs actions, reports what arrives, and closes. After ``open`` has returned it does not raise: a
broken pipe is a report too. It does not look into messages and does not retry requests.

A custom transport is one small class::

    class Mine:
        traits = STDIO
        async def open(self, report): ...     # start reading; call report(Received(...)) for each message
        async def perform(self, action): ...  # Send: write one message; others as far as they make sense
        async def close(self): ...            # idempotent, bounded; afterwards report(Closed(...)) has been called

It may have ``try_send(action) -> bool`` too, which takes a :class:`~dragoman.protocol.actions.Send` as ``perform`` does where that
needs no waiting, and is false otherwise with nothing done: it saves a coroutine for each message. And it may have an attribute
``weigh`` (see :class:`Weighing`), so that what is too long for the call it answers is thrown away while it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import msgspec

from dragoman.protocol.actions import Performable, Traits
from dragoman.protocol.refusals import Refusal
from dragoman.protocol.streams import Position
from dragoman.wire.envelope import RequestId


class Received(msgspec.Struct, frozen=True, gc=False):
    """One message arrived: a line, a body, an SSE event.

    ``via`` names the request whose stream brought it. ``status`` is HTTP's, where it was not one of success.
    """

    message: bytes | bytearray
    via: RequestId | None = None
    status: int | None = None


class Oversized(msgspec.Struct, frozen=True):
    """A message over a limit was thrown away while it was read; ``head`` and ``tail`` are at most 4 KB each.

    ``limit`` is the frame limit, though it may have been a lower one that ``weigh`` named.
    """

    head: bytes
    tail: bytes
    size: int
    limit: int
    via: RequestId | None = None


class StreamEnded(msgspec.Struct, frozen=True):
    """A stream ended, with or without an answer before it.

    Attributes:
        via: The request it belongs to; ``None``: the stream for what belongs to no request.
        reason: One line for a person, without secrets.
        sent: False only where the request provably never left this machine (refused connection, DNS, TLS).
        status: HTTP's, where there was one.
        body: The first characters of an answer that was no message.
        challenge: ``WWW-Authenticate``, where there was one.
        position: How far it came, where it was a stream of events.
        hint: What to do about it, where that does not follow from the status.
        retry_after_s: How long the server wants to be left alone, where it said so.
    """

    via: RequestId | None
    reason: str
    sent: bool = True
    status: int | None = None
    body: str = ""
    challenge: str = ""
    position: Position | None = None
    hint: str = ""
    retry_after_s: float | None = None


def refusal_of(ended: StreamEnded) -> Refusal:
    """The end of a stream as the engine takes it in."""
    return Refusal(ended.reason, ended.status, ended.body, ended.challenge, ended.sent, ended.hint, retry_after_s=ended.retry_after_s)


class StreamQuiet(msgspec.Struct, frozen=True):
    """The stream of a request is open and has brought nothing for a while: if the request is answered, it need not stay so."""

    via: RequestId


class Closed(msgspec.Struct, frozen=True):
    """Nothing more will arrive.

    Attributes:
        reason: One line for a person, e.g. ``exited with status 7``.
        detail: More, e.g. the tail of the server's stderr.
        exit_code: Of a child process, negative for a signal.
    """

    reason: str
    detail: str = ""
    exit_code: int | None = None


Report = Received | Oversized | StreamEnded | StreamQuiet | Closed
Sink = Callable[[Report], None]
"""Where reports go. Called on the event loop, never concurrently, never after :class:`Closed`; it does not raise."""


Weigh = Callable[[bytes, RequestId | None], int | None]
"""From the first bytes of a long message, and the request whose stream brings it, to the most bytes it may have; ``None``: any number."""


@runtime_checkable
class Weighing(Protocol):
    """A transport that asks how long a message may become once it is over 64 KB; ``weigh`` is set before it is opened."""

    weigh: Weigh | None


class Transport(Protocol):
    """A channel to one peer. See the module's docstring for the contract."""

    @property
    def traits(self) -> Traits:
        """What this channel can do."""
        ...

    @property
    def label(self) -> str:
        """What to call the peer in messages: the command or URL, without secrets."""
        ...

    async def open(self, report: Sink) -> None:
        """Connect, and report what arrives from then on.

        Raises:
            SpawnFailed: The command is missing or cannot be run.
            ConnectFailed: The endpoint cannot be reached.
        """
        ...

    async def perform(self, action: Performable) -> None:
        """Do one thing; returns when the bytes are handed to the operating system or queued behind others."""
        ...

    async def close(self) -> None:
        """End the channel in bounded time. May be called twice, and from any task."""
        ...
