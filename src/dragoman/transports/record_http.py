"""In the middle between clients on this machine and a server at a URL: exchanges pass as they are, and are written down.

Bodies travel decompressed. Of headers only those are written down that say something of the protocol, and no credential.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from dragoman.errors import ConfigError
from dragoman.protocol.sse import SseDiscarded, SseParser
from dragoman.transports.http_session import open_session, parsed, request_options
from dragoman.transports.http_target import find_proxy, parse_url
from dragoman.transports.transcript import TranscriptWriter

R = TypeVar("R", bound=web.StreamResponse)

log = logging.getLogger("dragoman.record")

_BODY_LIMIT: Final = 128 << 20
_EVENTS: Final = "text/event-stream"
_HIDDEN: Final = frozenset({"mcp-session-id", "authorization"})
_KEPT: Final = frozenset(
    {"accept", "last-event-id", "mcp-protocol-version", "mcp-method", "mcp-name", "retry-after", "allow", "www-authenticate", "location"}
)
_HOP_BY_HOP: Final = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}
    | {"host", "content-length", "content-encoding", "accept-encoding", "expect"}
)
_CONNECT_S: Final = 10.0
_IDLE_S: Final = 3600.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class HttpRecorder:
    """A server on this machine that passes everything on: ``async with HttpRecorder(url, writer) as proxy: … proxy.url``.

    Args:
        url: The server's endpoint; what is asked for at other paths goes to the same origin.
        writer: Where the conversation goes.
        headers: Added to each request, e.g. a credential; they win over the client's.

    Raises:
        ConfigError: The URL cannot be used.
    """

    def __init__(self, url: str, writer: TranscriptWriter, *, headers: Mapping[str, str] | None = None) -> None:
        self._target = parse_url(url)
        self._headers = dict(headers or {})
        if self._target.authorization is not None:
            self._headers.setdefault("Authorization", self._target.authorization)
        self._writer = writer
        self._path = urlsplit(self._target.url).path
        self._origin = self._target.url[: self._target.url.index("/", self._target.url.index("://") + 3)]
        self._options = request_options(find_proxy(self._target))
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._count = 0
        self.url = ""

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes any.

        Raises:
            ConfigError: The port is taken.
        """
        application = web.Application(client_max_size=_BODY_LIMIT)
        application.router.add_route("*", "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(application, handler_cancellation=True, access_log=None, shutdown_timeout=1.0, handle_signals=False)
        await self._runner.setup()
        self._session = open_session(self._target, connect_s=_CONNECT_S, idle_s=_IDLE_S, trust=None)
        try:
            await web.TCPSite(self._runner, "127.0.0.1", port).start()
        except OSError as exc:
            await self.close()
            raise ConfigError(f"port {port} cannot be used: {exc.strerror or exc}", hint="--port 0 takes any free one") from exc
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}{self._path}"

    async def close(self) -> None:
        """End every exchange; two seconds at most. May be called twice."""
        runner, self._runner = self._runner, None
        session, self._session = self._session, None
        if session is not None:
            await session.close()  # first: it ends the streams that the runner would wait for
        if runner is not None:
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        if _host_of(f"//{request.host}") not in _LOOPBACK or not _is_ours(request.headers.get("Origin")):
            return web.Response(status=403, text="this is for programs on this machine")
        if not request.raw_path.startswith("/"):  # put after the origin, it would be part of the host that gets the credential
            return web.Response(status=400, text="this is no proxy: ask for a path")
        self._count += 1
        stream = self._count
        body = await request.read()
        asked = {"method": request.method, "path": request.path, "headers": _shown(request.headers)}
        self._writer.add("client", body or None, stream=stream, http=asked)
        headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP]
        ours = {name.lower() for name in self._headers}
        headers = [(name, value) for name, value in headers if name.lower() not in ours] + list(self._headers.items())
        url = self._target.url if request.path == self._path else f"{self._origin}{request.raw_path}"
        assert self._session is not None
        try:
            async with self._session.request(request.method, parsed(url), data=body or None, headers=headers, **self._options) as answer:
                return await self._answer(request, answer, stream)
        except asyncio.CancelledError:
            self._writer.add("client", stream=stream, end="the client left")
            raise
        except (aiohttp.ClientError, OSError, TimeoutError) as exc:
            log.warning("%s: %s", self._target.label, exc)
            self._writer.add("server", stream=stream, end=f"{type(exc).__name__}: {exc}")
            return web.Response(status=502, text=f"the server could not be reached: {type(exc).__name__}")

    async def _answer(self, request: web.Request, answer: aiohttp.ClientResponse, stream: int) -> web.StreamResponse:
        kind = answer.content_type if "Content-Type" in answer.headers else ""
        head = {"status": answer.status, "content_type": kind, "headers": _shown(answer.headers)}
        headers = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP]
        if kind != _EVENTS:
            body = await answer.read()
            self._writer.add("server", body or None, stream=stream, http=head)
            return _with(web.Response(status=answer.status, body=body), headers)
        self._writer.add("server", stream=stream, http=head)
        passed = _with(web.StreamResponse(status=answer.status), headers)
        await passed.prepare(request)
        parser = SseParser(_BODY_LIMIT)
        try:
            async for chunk in answer.content.iter_any():
                self._note(parser, chunk, stream)
                await passed.write(chunk)
        except aiohttp.ClientError as exc:
            self._writer.add("server", stream=stream, end=f"{type(exc).__name__}: {exc}")
            assert request.transport is not None
            request.transport.abort()  # so that the client sees it cut as we did
            return passed
        self._writer.add("server", stream=stream, end="complete")
        return passed

    def _note(self, parser: SseParser, chunk: bytes, stream: int) -> None:
        for event in parser.feed(chunk):
            if isinstance(event, SseDiscarded):
                self._writer.add("server", event.head, stream=stream, end=f"{event.size} bytes, of which the first are kept")
            elif event.data:
                self._writer.add("server", event.data, stream=stream, event_id=event.id or None)


def _with(response: R, headers: list[tuple[str, str]]) -> R:
    response.headers.popall("Content-Type", None)
    for name, value in headers:
        response.headers.add(name, value)
    return response


def _shown(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are written down, by their names in small letters."""
    found = {name.lower(): value for name, value in headers.items()}
    return {name: "[redacted]" if name in _HIDDEN else value for name, value in found.items() if name in _KEPT | _HIDDEN}


def _host_of(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _is_ours(origin: str | None) -> bool:
    return origin is None or _host_of(origin) in _LOOPBACK
