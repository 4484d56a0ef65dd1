"""A transport that writes down what another one carries; it changes nothing and adds no waiting."""

from __future__ import annotations

from dragoman.protocol.actions import CloseStream, Listen, Performable, Resume, Send, Traits
from dragoman.transports.base import Closed, Oversized, Received, Report, Sink, StreamEnded, Transport
from dragoman.transports.transcript import TranscriptWriter
from dragoman.wire.envelope import RequestId


class RecordingTransport:
    """``inner``, written down by ``writer``: ``Client(RecordingTransport(StdioTransport(…), writer))``.

    What HTTP adds (paths, statuses, headers) is not seen from here; ``dragoman record URL`` writes that too.
    The writer stays open; close it when no more is wanted.
    """

    def __init__(self, inner: Transport, writer: TranscriptWriter) -> None:
        self._inner, self._writer = inner, writer
        self._scoped = inner.traits.request_scoped_streams
        self._streams: dict[RequestId | None, int] = {}
        self._count = 0
        self._closing = False
        self._report: Sink | None = None

    @property
    def traits(self) -> Traits:
        """Those of the inner transport."""
        return self._inner.traits

    @property
    def label(self) -> str:
        """That of the inner transport."""
        return self._inner.label

    async def open(self, report: Sink) -> None:
        """Open the inner transport."""
        self._report = report
        await self._inner.open(self._note)

    async def perform(self, action: Performable) -> None:
        """Write it down, then do it."""
        match action:
            case Send(message=message, request_id=request_id):
                stream = self._of(request_id) if self._scoped else None
                self._writer.add("client", message, stream=stream, http={"method": "POST"} if self._scoped else None)
            case CloseStream(request_id=request_id) if self._scoped:
                self._writer.add("client", stream=self._streams.pop(request_id, None), end="closed by the client")
            case Listen():
                self._writer.add("client", stream=self._begin(None), http={"method": "GET"})
            case Resume(request_id=request_id, last_event_id=last):
                headers = {"last-event-id": last}
                self._writer.add("client", stream=self._begin(request_id), http={"method": "GET", "headers": headers})
        await self._inner.perform(action)

    async def close(self) -> None:
        """Close the inner transport."""
        self._closing = True
        await self._inner.close()

    def _begin(self, via: RequestId | None) -> int:
        self._count += 1
        self._streams[via] = self._count
        return self._count

    def _of(self, request_id: RequestId | None) -> int:
        """The stream of what is sent: a new one; that of a notice brings nothing."""
        if request_id is not None:
            return self._begin(request_id)
        self._count += 1
        return self._count

    def _note(self, report: Report) -> None:
        match report:
            case Received(message=message, via=via):
                self._writer.add("server", message, stream=self._streams.get(via))
            case Oversized(head=head, size=size, via=via):
                self._writer.add("server", head, stream=self._streams.get(via), end=f"{size} bytes, of which the first are kept")
            case StreamEnded(via=via, reason=reason):
                self._writer.add("server", stream=self._streams.pop(via, None), end=reason)
            case Closed(reason=reason):
                self._writer.add("client" if self._closing else "server", end=reason)
        if self._report is not None:
            self._report(report)
