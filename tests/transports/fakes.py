"""Transports that are no transports: test code says what arrives, in any order, and sees what was done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.protocol.actions import HTTP, Action, Close, CloseStream, Listen, Performable, Resume, Send, SetTimer, Traits
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import Event
from dragoman.transports.base import Closed, Oversized, Received, Report, Sink, StreamEnded, StreamQuiet, refusal_of
from dragoman.wire.envelope import RequestId


class StreamingFake:
    """A channel with a stream for each request, like modern HTTP.

    Attributes:
        sent: Every message, in order.
        streams: The requests whose streams are open, with the message that opened each.
        closed_streams: What ``CloseStream`` was asked for, in order.
        gets: What was asked for besides, in order.
    """

    def __init__(self) -> None:
        self.sent: list[Send] = []
        self.streams: dict[RequestId, Send] = {}
        self.closed_streams: list[RequestId] = []
        self.gets: list[Listen | Resume] = []
        self.is_closed = False
        self._report: Sink | None = None

    @property
    def traits(self) -> Traits:
        return HTTP

    @property
    def label(self) -> str:
        return "fake"

    async def open(self, report: Sink) -> None:
        self.listen(report)

    def listen(self, report: Sink) -> None:
        """``open`` without ``await``, for tests of the engine."""
        self._report = report

    async def perform(self, action: Performable) -> None:
        self.apply(action)

    def apply(self, action: Action) -> None:
        """``perform`` without ``await``."""
        match action:
            case Send():
                self.sent.append(action)
                if action.request_id is not None:
                    self.streams[action.request_id] = action
            case CloseStream(request_id=request_id):
                self.closed_streams.append(request_id)
                self.streams.pop(request_id, None)
            case Close():
                self._shut(action.reason)
            case Listen() | Resume():
                self.gets.append(action)
            case SetTimer():
                pass  # for the driver

    async def close(self) -> None:
        self._shut("closed")

    def _shut(self, reason: str) -> None:
        if not self.is_closed:
            self.is_closed = True
            self.streams.clear()
            self._tell(Closed(reason))

    # --- the server's side --------------------------------------------------------------------------------------

    def deliver(self, via: RequestId, message: Mapping[str, Any] | bytes) -> None:
        """Let a message arrive on the stream of request ``via``, which must be open."""
        assert via in self.streams, f"the stream of {via!r} is not open"
        self._tell(Received(message if isinstance(message, bytes) else msgspec.json.encode(message), via))

    def answer(self, via: RequestId, result: Mapping[str, Any], *, as_id: RequestId | None = None) -> None:
        """A result for ``via`` on its own stream, or for ``as_id`` on that stream."""
        self.deliver(via, {"jsonrpc": "2.0", "id": via if as_id is None else as_id, "result": result})

    def end(self, via: RequestId, reason: str = "the stream ended") -> None:
        """End a stream from the server's side."""
        del self.streams[via]
        self._tell(StreamEnded(via, reason))

    def _tell(self, report: Report) -> None:
        assert self._report is not None, "not opened"
        self._report(report)


def feed(connection: Connection, report: Report) -> None:
    """Hand one report to an engine, as a driver does."""
    match report:
        case Received(message=message, via=via, status=status):
            connection.receive(message, via, status)
        case Oversized():
            connection.receive_oversized(report.head, report.tail, report.size, report.limit, report.via)
        case StreamEnded():
            connection.receive_stream_end(report.via, refusal_of(report), report.position)
        case StreamQuiet(via=via):
            connection.receive_quiet(via)
        case Closed(reason=reason):
            connection.receive_eof(reason)


class Bench:
    """An engine over a :class:`StreamingFake`, without tasks: call :meth:`pump` after doing something."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.fake = StreamingFake()
        self.events: list[Event] = []
        self.fake.listen(self._on_report)

    def _on_report(self, report: Report) -> None:
        feed(self.connection, report)
        self.pump()

    def pump(self) -> None:
        """Perform what the engine wants and collect what it says."""
        for action in self.connection.actions():
            self.fake.apply(action)
        self.events += self.connection.events()

    def take(self) -> list[Event]:
        """The events since the last call."""
        self.pump()
        events, self.events = self.events, []
        return events
