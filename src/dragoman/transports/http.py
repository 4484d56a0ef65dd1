"""Streamable HTTP, both eras: one POST for each message, its answer as JSON or as a stream of events.

In the legacy era there are also a session (an id that the server names and we carry, a secret), a GET stream for what belongs
to no request, and streams that are continued after they ended. When any of these is wanted is the engine's decision: it comes
as an action. Not here: credentials beyond fixed headers. Each exchange is a task of its own, so that any task may cancel it.

Source: MCP 2025-03-26 to 2025-11-25 basic/transports#streamable-http, 2026-07-28 basic/transports/streamable-http.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from dragoman.protocol.actions import HTTP, Close, CloseStream, Listen, Performable, Resume, Send, Traits
from dragoman.protocol.sse import EDGE
from dragoman.protocol.streams import Position
from dragoman.transports.base import Closed, Report, Sink, StreamEnded, StreamQuiet, Weigh
from dragoman.transports.http_answer import (
    BOMB,
    ERROR_BODY,
    NO_ANSWER,
    Events,
    TooLong,
    answer,
    ask,
    foreign_coding,
    kind_of,
    read,
    refused,
)
from dragoman.transports.http_target import bad_value, base_headers, find_proxy, parse_url
from dragoman.transports.http_watch import Exchange, Exchanges
from dragoman.wire.envelope import RequestId

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDict
    from yarl import URL

log = logging.getLogger("dragoman.http")

FRAME_LIMIT: Final = 128 * 2**20
SESSION: Final = "MCP-Session-Id"
_EVENTS: Final = "text/event-stream"
_CLOSE_S: Final = 1.0  # for the exchanges, and again for the connections
_DELETE_S: Final = 2.0
_CONFIRM_S: Final = 5.0  # for the server to take the message that everything else has to follow
_SESSION_ID: Final = re.compile(r"[\x21-\x7e]{1,4096}")


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
        self.weigh: Weigh | None = None
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None
        self._options: dict[str, Any] = {}
        self._base: CIMultiDict[str]
        self._url: URL
        self._sink: Sink | None = None
        self._exchanges: Exchanges
        self._closing: asyncio.Task[None] | None = None
        self._session_id: str | None = None
        self._own_headers: tuple[tuple[str, str], ...] = ()
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
        self._url = http_session.parsed(self._target.url)
        self._session = http_session.open_session(self._target, connect_s=self._connect_s, trust=self._trust)
        self._exchanges = Exchanges(self._idle_s, lambda via: self._report(StreamQuiet(via)))
        self._sink = report

    async def perform(self, action: Performable) -> None:
        """Start an exchange, end one, or end them all. Returns at once, save for a message that must be taken before the next."""
        if isinstance(action, Close):
            await self.close()
            return
        session = self._session
        if session is None:
            return  # closed
        match action:
            case Send():
                task = self._exchanges.start(partial(self._exchange, session, action), action.request_id)
                if action.session == "confirms":
                    await asyncio.wait([task], timeout=_CONFIRM_S)
            case CloseStream(request_id=request_id):
                self._exchanges.cancel(request_id)
            case Listen(headers=headers):
                self._own_headers = headers
                self._exchanges.start(partial(self._get, session, "", 0.0), None)
            case Resume(request_id=via, last_event_id=last, after_s=after_s):
                self._exchanges.start(partial(self._get, session, last, after_s), via)

    async def close(self) -> None:
        """End every exchange, the session and every connection, then report ``Closed``. At most four seconds; may be called again."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        sink, self._sink = self._sink, None
        session, self._session = self._session, None
        if session is not None:
            await self._exchanges.close(_CLOSE_S)
            if self._session_id is not None:
                await self._end_session(session)
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

    async def _exchange(self, session: aiohttp.ClientSession, send: Send, exchange: Exchange) -> None:
        via = exchange.via
        try:
            ended = await (self._notice(session, send) if via is None else self._post(session, send, exchange, via))
        except (Exception, asyncio.CancelledError) as exc:
            if not exchange.broke(exc):
                raise
            ended = self._broken(exchange, exc)
        finally:
            self._exchanges.forget(exchange)
        if via is not None:
            self._report(ended)
        elif ended.status is None or not 200 <= ended.status < 300:
            self.notices_failed += 1
            log.debug("%s did not take a notice: %s", self._label, ended.reason)

    def _broken(self, exchange: Exchange, exc: BaseException, position: Position | None = None) -> StreamEnded:
        """The end of an exchange that broke, and how far its stream of events came if it had one."""
        from dragoman.transports.http_session import explain, silent

        via = exchange.via
        log.debug("%s: request %r", self._label, via, exc_info=exc)
        broken = silent(self._label, self._idle_s) if exchange.silent else explain(exc, self._label, connect_s=self._connect_s)
        return StreamEnded(via, broken.reason, broken.sent, position=position, hint=broken.hint)

    async def _events(self, response: aiohttp.ClientResponse, exchange: Exchange, reason: str) -> StreamEnded:
        """Report what a stream of events brings; ``reason`` is how it is called when it ends in order."""
        events = Events(self._frame_limit, self.weigh, self._report, exchange)
        self._exchanges.now_streams(exchange)
        try:
            bomb = await events.read(response)
        except (Exception, asyncio.CancelledError) as exc:
            if not exchange.broke(exc):
                raise
            return self._broken(exchange, exc, events.position)
        if bomb:
            return StreamEnded(exchange.via, f"HTTP {response.status}: {bomb}", status=response.status, hint=BOMB)
        return StreamEnded(exchange.via, reason, status=response.status, position=events.position, hint=NO_ANSWER)

    async def _post(self, session: aiohttp.ClientSession, send: Send, exchange: Exchange, via: RequestId) -> StreamEnded:
        response = await self._send(session, send)
        if isinstance(response, StreamEnded):
            return response
        try:
            if send.session == "opens":
                self._keep_session(response)
            if foreign := foreign_coding(response, via):
                return foreign
            kind = kind_of(response)
            if kind == _EVENTS and 200 <= response.status < 300:
                return await self._events(response, exchange, f"HTTP {response.status}: the event stream ended without an answer")
            ended = await answer(response, kind, exchange, self._frame_limit, self.weigh, self._report)
            self._note_refusal(send.session == "within", ended.status)
            return ended
        finally:
            response.close()  # returns nothing to the pool; one that was read to its end is there already

    async def _notice(self, session: aiohttp.ClientSession, send: Send) -> StreamEnded:
        response = await self._send(session, send)
        if isinstance(response, StreamEnded):
            return response
        try:
            await response.content.read(EDGE)
            return refused(response, None, "", b"")
        finally:
            response.close()

    async def _send(self, session: aiohttp.ClientSession, send: Send) -> aiohttp.ClientResponse | StreamEnded:
        via = send.request_id
        for name, value in send.headers:
            if bad := bad_value(value):
                return StreamEnded(via, f"header {name} holds the character {bad}; nothing was sent", sent=False)
        headers = self._base.copy()
        headers.update(send.headers)
        if send.session == "opens":
            self._session_id = None
        elif self._session_id is not None and send.session != "none":
            headers[SESSION] = self._session_id
        response = await ask(session, "POST", self._url, headers, self._options, send.message)
        return StreamEnded(via, response[0], status=response[1]) if isinstance(response, tuple) else response

    # --- the session, and its streams ---------------------------------------------------------------------------

    def _keep_session(self, response: aiohttp.ClientResponse) -> None:
        stated = response.headers.get(SESSION, "")
        if 200 <= response.status < 300 and _SESSION_ID.fullmatch(stated):
            self._session_id = stated

    def _note_refusal(self, in_session: bool, status: int | None) -> None:
        if in_session and status == 404:
            self._session_id = None  # there is nothing left to end

    def _get_headers(self) -> CIMultiDict[str]:
        headers = self._base.copy()
        headers.pop("Content-Type", None)
        headers["Accept"] = _EVENTS
        headers.update(self._own_headers)
        if self._session_id is not None:
            headers[SESSION] = self._session_id
        return headers

    async def _get(self, session: aiohttp.ClientSession, last_event_id: str, after_s: float, exchange: Exchange) -> None:
        via = exchange.via
        try:
            if after_s:
                exchange.heard += after_s  # we are the ones who are silent
                await asyncio.sleep(after_s)
            ended = await self._listen(session, last_event_id, exchange)
        except (Exception, asyncio.CancelledError) as exc:
            if not exchange.broke(exc):
                raise
            ended = self._broken(exchange, exc)
        finally:
            self._exchanges.forget(exchange)
        log.debug("%s: the stream of %s ended: %s", self._label, "no request" if via is None else via, ended.reason)
        self._report(ended)

    async def _listen(self, session: aiohttp.ClientSession, last_event_id: str, exchange: Exchange) -> StreamEnded:
        via = exchange.via
        headers = self._get_headers()
        if last_event_id:
            if bad := bad_value(last_event_id):
                return StreamEnded(via, f"the event id holds the character {bad}", status=400)
            headers["Last-Event-ID"] = last_event_id
        response = await ask(session, "GET", self._target.url, headers, self._options)
        if isinstance(response, tuple):
            return StreamEnded(via, response[0], status=response[1])
        try:
            if foreign := foreign_coding(response, via):
                return foreign
            kind = kind_of(response)
            if response.status == 200 and kind == _EVENTS:
                return await self._events(response, exchange, "the event stream ended")
            body = await read(response, ERROR_BODY, exchange)
            return refused(response, via, kind, b"" if isinstance(body, TooLong) else body)
        finally:
            response.close()

    async def _end_session(self, session: aiohttp.ClientSession) -> None:
        headers = self._get_headers()
        headers["Accept"] = "*/*"
        try:
            async with asyncio.timeout(_DELETE_S):
                response = await ask(session, "DELETE", self._target.url, headers, self._options)
                if not isinstance(response, tuple):
                    response.close()
        except Exception as exc:  # a server need not support it, and forgets the session by itself
            log.debug("%s: ending the session: %s", self._label, type(exc).__name__)
