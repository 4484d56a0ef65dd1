"""Streamable HTTP of the modern era: one POST for each message, its answer as JSON or as a stream of events.

Not here: sessions, GET streams and resumption (the legacy era), and credentials beyond fixed headers. Each exchange is a
task of its own, so that any task may cancel it; in this era the closed connection is the cancellation.

Source: MCP 2026-07-28 basic/transports/streamable-http.
"""

from __future__ import annotations

import asyncio
import io
import logging
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dragoman.protocol.actions import HTTP, Close, CloseStream, Send, Traits
from dragoman.protocol.sse import EDGE, SseDiscarded, SseParser
from dragoman.transports.base import Closed, Oversized, Received, Report, Sink, StreamEnded
from dragoman.transports.http_target import bad_value, base_headers, find_proxy, parse_url, printable
from dragoman.wire.envelope import RequestId

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDict

log = logging.getLogger("dragoman.http")

FRAME_LIMIT: Final = 128 * 2**20
_ERROR_BODY: Final = 1 << 20  # the body of a refusal is a JSON-RPC error or a page for people
_MAX_REDIRECTS: Final = 3
_BIG_BODY: Final = 1 << 20  # over this, aiohttp warns of bytes and wants a file to read from
_CLOSE_S: Final = 1.0  # for the exchanges, and again for the connections


class _Ended(NamedTuple):
    """How an exchange ended, in case its answer did not settle the request."""

    reason: str
    sent: bool = True
    status: int | None = None


class _TooLong(NamedTuple):
    head: bytes
    tail: bytes
    size: int


class HttpTransport:
    """A server at a URL.

    Args:
        url: ``http://`` or ``https://``; credentials in it become an ``Authorization`` header.
        headers: More headers for every request; those of the protocol win.
        frame_limit: Most bytes of one answer or one event, decompressed.
        connect_s: For finding the host, and again for connecting including TLS.
        idle_s: Longest silence of a server that owes an answer, or whose stream is open.
        label: What to call the server; the URL without credentials and query by default.
        trust: Certificates to trust; the system's by default.

    Raises:
        ConfigError: The URL or a header cannot be used.

    Attributes:
        notices_failed: How many one-way messages the server did not take.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        connect_s: float = 5.0,
        idle_s: float = 300.0,
        label: str | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._target = parse_url(url)
        self._headers = base_headers(headers, self._target.authorization)
        self._label = label or self._target.label
        self._frame_limit = frame_limit
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None
        self._options: dict[str, Any] = {}
        self._base: CIMultiDict[str]
        self._sink: Sink | None = None
        self._exchanges: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self.notices_failed = 0

    @property
    def traits(self) -> Traits:
        """A stream for each request, headers, and a closed stream cancels."""
        return HTTP

    @property
    def label(self) -> str:
        """The URL without credentials and query, or the name given."""
        return self._label

    async def open(self, report: Sink) -> None:
        """Get ready; nothing is sent and nothing is connected before the first message.

        Raises:
            ConfigError: The environment names a proxy that cannot be used.
        """
        from dragoman.transports import http_session

        proxy = find_proxy(self._target)
        self._options = http_session.request_options(proxy)
        self._base = http_session.base_headers(self._headers)
        self._session = http_session.open_session(self._target, connect_s=self._connect_s, idle_s=self._idle_s, trust=self._trust)
        self._sink = report

    async def perform(self, action: Send | CloseStream | Close) -> None:
        """Start an exchange, end one, or end them all. Returns at once."""
        match action:
            case Send():
                self._start(action)
            case CloseStream(request_id=request_id):
                task = self._exchanges.get(request_id)
                if task is not None:
                    task.cancel()
            case Close():
                await self.close()

    async def close(self) -> None:
        """End every exchange and connection, then report :class:`Closed`. Takes at most two seconds, may be called again."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        sink, self._sink = self._sink, None
        session, self._session = self._session, None
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_S)
        if session is not None:
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await session.close()
            except Exception as exc:  # the sockets are closed either way; only the farewell did not succeed
                log.debug("%s: closing: %r", self._label, exc)
        if sink is not None:
            sink(Closed("closed"))

    def _report(self, report: Report) -> None:
        if self._sink is not None:
            self._sink(report)

    # --- one exchange -------------------------------------------------------------------------------------------

    def _start(self, send: Send) -> None:
        if self._session is None:
            return  # closed
        task = asyncio.get_running_loop().create_task(self._exchange(self._session, send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        via = send.request_id
        if via is not None:
            self._exchanges[via] = task
            task.add_done_callback(lambda _: self._exchanges.pop(via, None))  # also when it is cancelled before its first step

    async def _exchange(self, session: aiohttp.ClientSession, send: Send) -> None:
        via = send.request_id
        try:
            ended = await self._post(session, send)
        except Exception as exc:
            from dragoman.transports.http_session import explain

            log.debug("%s: request %r", self._label, via, exc_info=exc)
            ended = _Ended(*explain(exc, self._label, connect_s=self._connect_s, idle_s=self._idle_s))
        if via is not None:
            self._report(StreamEnded(via, ended.reason, ended.sent, ended.status))
        elif ended.status is None or not 200 <= ended.status < 300:
            self.notices_failed += 1
            log.debug("%s did not take a notice: %s", self._label, ended.reason)

    async def _post(self, session: aiohttp.ClientSession, send: Send) -> _Ended:
        for name, value in send.headers:
            if bad := bad_value(value):
                return _Ended(f"header {name} holds the character {bad}; nothing was sent", sent=False)
        message = send.message
        headers = self._base.copy()
        headers.update(send.headers)
        url: Any = self._target.url
        for _ in range(_MAX_REDIRECTS + 1):
            body = message if len(message) < _BIG_BODY else io.BytesIO(message)
            response = await session.post(url, data=body, headers=headers, **self._options)
            try:
                if not 300 <= response.status < 400:
                    return await self._answer(response, send.request_id)
                url = _follow(response)
                if isinstance(url, _Ended):
                    return url
            finally:
                response.close()  # returns nothing to the pool; one that was read to its end is there already
        return _Ended(f"more than {_MAX_REDIRECTS} redirects, the last to {printable(str(url))}", status=response.status)

    async def _answer(self, response: aiohttp.ClientResponse, via: RequestId | None) -> _Ended:
        status, reason = response.status, printable(response.reason or "")
        kind = response.content_type if "Content-Type" in response.headers else ""
        good = 200 <= status < 300
        if via is None:
            await response.content.read(EDGE)
            return _Ended(f"HTTP {status} {reason}", status=status)
        if kind == "text/event-stream":
            await self._stream(response, via)
            return _Ended(f"HTTP {status}: the event stream ended without an answer", status=status)
        limit = self._frame_limit if good else min(self._frame_limit, _ERROR_BODY)
        body = await _read(response, limit)
        if isinstance(body, _TooLong):
            if good:
                self._report(Oversized(body.head, body.tail, body.size, limit, via))
            return _Ended(f"HTTP {status} {reason}: a body of {body.size} bytes or more, limit {limit}", status=status)
        is_json = kind == "application/json" or kind.endswith("+json")
        if body and (is_json or body.lstrip()[:1] == b"{"):  # refusals are JSON-RPC too, and not all servers say so
            self._report(Received(body, via))
        return _Ended(_without_answer(response, kind if good and not is_json else "", body), status=status)

    async def _stream(self, response: aiohttp.ClientResponse, via: RequestId) -> None:
        parser = SseParser(self._frame_limit)
        content = response.content
        while chunk := await content.readany():
            for event in parser.feed(chunk):
                if isinstance(event, SseDiscarded):
                    self._report(Oversized(event.head, event.tail, event.size, self._frame_limit, via))
                elif event.data and event.event == "message":
                    self._report(Received(event.data, via))


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes | _TooLong:
    """The body, decompressed. One over the limit is not read to its end: the stream tells which request it answers."""
    length = response.content_length if "Content-Encoding" not in response.headers else None
    if length is not None and length <= limit:
        return await response.read()
    content, parts, size = response.content, [], 0
    known_too_long = length is not None
    while chunk := await content.readany():
        size += len(chunk)
        parts.append(chunk)
        if size > limit or (known_too_long and size >= EDGE):
            body = b"".join(parts)
            return _TooLong(body[:EDGE], body[-EDGE:], max(size, length or 0))
    return b"".join(parts)


def _follow(response: aiohttp.ClientResponse) -> Any:
    from dragoman.transports.http_session import redirect_target

    target = redirect_target(response)
    if target is not None:
        return target
    where = printable(response.headers.get("Location", "nowhere"))
    return _Ended(
        f"HTTP {response.status} redirects to {where}; only 307 and 308 within {response.url.origin()} are followed", status=response.status
    )


def _without_answer(response: aiohttp.ClientResponse, foreign_kind: str, body: bytes) -> str:
    """Why a complete answer may not have settled its request."""
    status, text = response.status, printable(body[:1024].decode("utf-8", "replace").strip())
    if 200 <= status < 300:
        if not body:
            return f"HTTP {status} without an answer"
        if foreign_kind:
            return f"answer is {foreign_kind}, not JSON or an event stream: {text}"
        return f"HTTP {status} without an answer to this request: {text}"
    line = f"HTTP {status} {printable(response.reason or '')}".rstrip()
    if status in (401, 403) and (challenge := response.headers.get("WWW-Authenticate")):
        line += f" (WWW-Authenticate: {printable(challenge)})"
    return f"{line}: {text}" if text else line
