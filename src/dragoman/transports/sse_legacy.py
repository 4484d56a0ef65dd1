"""HTTP+SSE of 2024-11-05, for servers that speak nothing newer: one GET stream brings everything, POSTs to where it says.

The stream's first event, ``endpoint``, names the place to post to; it must be within the origin of the stream. There is no
session to resume: when the stream ends, the connection has ended.

Source: MCP 2024-11-05 basic/transports#http-with-sse.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urljoin, urlsplit

from dragoman.errors import ConnectFailed
from dragoman.protocol.actions import Close, Performable, Send, Traits
from dragoman.protocol.sse import EDGE, SseEvent
from dragoman.transports.base import Closed, Report, Sink, StreamEnded, Weigh, refusal_of
from dragoman.transports.http_answer import ERROR_BODY, Events, TooLong, ask, foreign_coding, kind_of, read, refused
from dragoman.transports.http_target import base_headers, find_proxy, parse_url, printable
from dragoman.transports.http_watch import Exchange, Exchanges

if TYPE_CHECKING:
    import aiohttp
    from multidict import CIMultiDict

    from dragoman.transports.http_session import Broken

log = logging.getLogger("dragoman.http")

FRAME_LIMIT: Final = 128 * 2**20
_CLOSE_S: Final = 1.0
_CONFIRM_S: Final = 5.0


class SseTransport:
    """A server at the URL of its event stream.

    Args:
        url, headers, frame_limit, idle_s, label, trust: As for :class:`~dragoman.transports.http.HttpTransport`.
        connect_s: For connecting, and again for the first event.
    """

    traits: Traits = Traits(overtaking=True)

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
        self.label = label or self._target.label
        self._frame_limit = frame_limit
        self.weigh: Weigh | None = None
        self._connect_s = connect_s
        self._idle_s = idle_s
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None
        self._options: dict[str, Any] = {}
        self._base: CIMultiDict[str]
        self._endpoint = ""
        self._sink: Sink | None = None
        self._exchanges: Exchanges
        self._closing: asyncio.Task[None] | None = None

    async def open(self, report: Sink) -> None:
        """Open the stream and wait for its first event.

        Raises:
            AuthRequired: The server wants a credential.
            ConnectFailed: It cannot be reached; with a ``status``, it answers and not with a stream of events; or its first event
                is late, or names no place, or one elsewhere.
            ConfigError: The environment names a proxy that cannot be used.
        """
        from dragoman.transports import http_session

        self._options = http_session.request_options(find_proxy(self._target))
        self._base = http_session.base_headers(self._headers)
        session = http_session.open_session(self._target, connect_s=self._connect_s, trust=self._trust)
        self._exchanges = Exchanges(self._idle_s, lambda _: None)
        self._session, self._sink = session, report
        loop = asyncio.get_running_loop()
        endpoint: asyncio.Future[str] = loop.create_future()
        self._exchanges.start(partial(self._listen, session, endpoint), None)
        try:
            async with asyncio.timeout(self._connect_s * 2):
                where = await endpoint
        except TimeoutError:
            what = f"{self.label} opened a stream of events and did not say within {self._connect_s * 2:g} s where to post to"
            raise ConnectFailed(what, hint="it is no server of 2024-11-05, or it hangs") from None
        self._endpoint = self._within_origin(where)

    def _within_origin(self, where: str) -> str:
        place = urljoin(self._target.url, where.strip())
        try:
            there, here = urlsplit(place), urlsplit(self._target.url)
            same = (there.scheme, there.hostname, _port(there)) == (here.scheme, here.hostname, _port(here)) and there.username is None
        except ValueError:
            same = False
        if same:
            return parse_url(place).url
        origin = f"{here.scheme}://{here.netloc.rpartition('@')[2]}"
        shown = printable(place.partition("?")[0])
        raise ConnectFailed(
            f"{self.label} wants messages posted to {shown}, which is not within {origin}; nothing was sent there",
            hint="the server's own base URL is configured wrongly; it should name the address it is reached at, or a relative path",
        )

    async def _listen(self, session: aiohttp.ClientSession, endpoint: asyncio.Future[str], exchange: Exchange) -> None:
        events = Events(self._frame_limit, self.weigh, self._report, exchange)

        def other(event: SseEvent) -> None:
            if event.event == "endpoint" and not endpoint.done():
                endpoint.set_result(event.data.decode("utf-8", "replace"))

        hint = ""
        try:
            reason = await self._stream(session, events, other, endpoint, exchange)
        except (Exception, asyncio.CancelledError) as exc:
            if not exchange.broke(exc):
                raise
            reason, _, hint = self._explain(exc, exchange)
        finally:
            self._exchanges.forget(exchange)
        if not endpoint.done():
            endpoint.set_exception(ConnectFailed(reason, hint=hint or "is this the address of its event stream? it often ends in /sse"))
            return
        endpoint.exception()  # seen, also where nobody waits any more
        self._end(reason)

    async def _stream(
        self,
        session: aiohttp.ClientSession,
        events: Events,
        other: Callable[[SseEvent], None],
        endpoint: asyncio.Future[str],
        exchange: Exchange,
    ) -> str:
        headers = self._base.copy()
        headers.pop("Content-Type", None)
        headers["Accept"] = "text/event-stream"
        response = await ask(session, "GET", self._target.url, headers, self._options)
        if isinstance(response, tuple):
            endpoint.set_exception(ConnectFailed(response[0], status=response[1]))
            return response[0]
        try:
            if foreign := foreign_coding(response, None):
                endpoint.set_exception(refusal_of(foreign).failure())
                return foreign.reason
            kind = kind_of(response)
            if response.status != 200 or kind != "text/event-stream":
                body = await read(response, ERROR_BODY, exchange)
                ended = refused(response, None, kind, b"" if isinstance(body, TooLong) else body)
                endpoint.set_exception(refusal_of(ended).failure())
                return ended.reason
            bomb = await events.read(response, other)
            if bomb:
                return f"{self.label}: {bomb}"
            return f"{self.label} ended the stream of events" + ("" if endpoint.done() else " before it said where to post to")
        finally:
            response.close()

    async def perform(self, action: Performable) -> None:
        """Post a message. Returns at once, save for one that must be taken before the next."""
        if isinstance(action, Close):
            await self.close()
        if not isinstance(action, Send):
            return
        session = self._session
        if session is None or not self._endpoint or self._sink is None:
            return
        task = self._exchanges.start(partial(self._post, session, action), action.request_id)
        if action.session == "confirms":
            await asyncio.wait([task], timeout=_CONFIRM_S)

    async def _post(self, session: aiohttp.ClientSession, send: Send, exchange: Exchange) -> None:
        via = send.request_id
        try:
            response = await ask(session, "POST", self._endpoint, self._base.copy(), self._options, send.message)
            if isinstance(response, tuple):
                ended = StreamEnded(via, response[0], status=response[1])
            else:
                try:
                    if 200 <= response.status < 300:
                        await response.content.read(EDGE)  # "Accepted"; the answer comes on the stream
                        return
                    body = await read(response, ERROR_BODY, exchange)
                    ended = refused(response, via, "", b"" if isinstance(body, TooLong) else body)
                finally:
                    response.close()
        except (Exception, asyncio.CancelledError) as exc:
            if not exchange.broke(exc):
                raise
            broken = self._explain(exc, exchange)
            ended = StreamEnded(via, broken.reason, broken.sent, hint=broken.hint)
        finally:
            self._exchanges.forget(exchange)
        if via is not None:
            self._report(ended)
        else:
            log.debug("%s did not take a notice: %s", self.label, ended.reason)

    def _explain(self, exc: BaseException, exchange: Exchange) -> Broken:
        from dragoman.transports.http_session import explain, silent

        log.debug("%s", self.label, exc_info=exc)
        return silent(self.label, self._idle_s) if exchange.silent else explain(exc, self.label, connect_s=self._connect_s)

    def _report(self, report: Report) -> None:
        if self._sink is not None:
            self._sink(report)

    def _end(self, reason: str) -> None:
        sink, self._sink = self._sink, None
        if sink is not None:
            sink(Closed(reason))

    async def close(self) -> None:
        """End the stream and every post, then report ``Closed``. At most two seconds; may be called again."""
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        session, self._session = self._session, None
        sink, self._sink = self._sink, None
        if session is not None:
            await self._exchanges.close(_CLOSE_S)
            try:
                async with asyncio.timeout(_CLOSE_S):
                    await session.close()
            except Exception as exc:  # the sockets are closed either way
                log.debug("%s: closing: %r", self.label, exc)
        if sink is not None:
            sink(Closed("closed"))


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)
