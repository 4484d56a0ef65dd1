"""Asking an HTTP server for a WebSocket (RFC 6455, section 4), and taking the connection over from aiohttp. It reads no frames.

Imported when a WebSocket is opened, never before: aiohttp takes long to import.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import ssl
from collections.abc import Mapping
from typing import Final, NoReturn

import aiohttp

from dragoman.errors import AuthRequired, ConnectFailed
from dragoman.transports import http_session
from dragoman.transports.http_answer import ERROR_BODY, TooLong, read
from dragoman.transports.http_target import Proxy, Target, printable

SUBPROTOCOL: Final = "mcp"
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BODY_S: Final = 2.0  # the refusal stands in the status; its text is a courtesy
_CLOSE_S: Final = 1.0
_KEPT: Final = 2048


class Upgraded:
    """A connection that speaks WebSocket from now on."""

    def __init__(self, session: aiohttp.ClientSession, response: aiohttp.ClientResponse, transport: asyncio.Transport) -> None:
        self._session, self._response = session, response
        self.transport = transport

    def hand_over(self, wire: asyncio.Protocol) -> tuple[bytes, asyncio.Protocol]:
        """Let ``wire`` have what arrives.

        Returns:
            What has arrived already, after the answer to the request; and who has to be told of the end too, since aiohttp waits for
            the end of whatever it opened.
        """
        connection = self._response.connection
        assert connection is not None
        before = connection.protocol
        assert before is not None
        collected = _Collected()
        before.set_parser(collected, None)
        self.transport.set_protocol(wire)
        return bytes(collected.data), before

    async def let_go(self) -> None:
        """Close everything of it, within a second. May be called again."""
        self._response.close()
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._session.close()
        except TimeoutError:
            pass  # the socket is closed; only the farewell of TLS was not answered


class _Collected:
    """What aiohttp hands on until the connection is ours."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self.data += data
        return False, b""

    def feed_eof(self) -> None:
        """The end is seen by whoever has the connection then."""


async def upgrade(
    target: Target, label: str, headers: Mapping[str, str], *, proxy: Proxy | None, connect_s: float, trust: ssl.SSLContext | None
) -> Upgraded:
    """Connect and be understood.

    Raises:
        ConnectFailed: With the phase, and with status and body where there was an answer.
        AuthRequired: It wants a credential.
    """
    session = http_session.open_session(target, connect_s=connect_s, idle_s=connect_s, trust=trust)
    try:
        return await _ask(session, target, label, headers, http_session.request_options(proxy))
    except (aiohttp.ClientError, OSError) as exc:
        await session.close()
        if isinstance(exc, aiohttp.ServerTimeoutError) and not isinstance(exc, aiohttp.ConnectionTimeoutError):
            raise ConnectFailed(f"{label} did not answer within {connect_s:g} s", hint="is it a WebSocket endpoint? is it stuck?") from exc
        broken = http_session.explain(exc, label, connect_s=connect_s)
        raise ConnectFailed(broken.reason, hint=broken.hint or None) from exc
    except BaseException:
        await session.close()
        raise


async def _ask(
    session: aiohttp.ClientSession, target: Target, label: str, headers: Mapping[str, str], options: dict[str, object]
) -> Upgraded:
    key = base64.b64encode(os.urandom(16))
    asked = http_session.base_headers({name: value for name, value in headers.items() if name.lower() not in _OF_MESSAGES})
    asked.update(
        {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
            "Sec-WebSocket-Protocol": SUBPROTOCOL,
        }
    )
    url = http_session.parsed("http" + target.url.removeprefix("ws"))
    response = await session.get(url, headers=asked, read_until_eof=False, **options)  # type: ignore[arg-type]  # a dict of options
    try:
        if response.status != 101:
            await _refused(response, label)
        told = {name: response.headers.get(name, "").strip() for name in ("Upgrade", "Connection", "Sec-WebSocket-Accept")}
        expected = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest()).decode()
        if (
            told["Upgrade"].lower() != "websocket"
            or "upgrade" not in [part.strip().lower() for part in told["Connection"].split(",")]
            or told["Sec-WebSocket-Accept"] != expected
        ):
            raise ConnectFailed(
                f"{label} answered 101 and does not switch to WebSocket",
                status=101,
                hint="the fault is the server's, or that of a proxy before it",
            )
        _check_subprotocol(response.headers.get("Sec-WebSocket-Protocol"), label)
        if extension := response.headers.get("Sec-WebSocket-Extensions"):
            raise ConnectFailed(f"{label} uses the WebSocket extension {printable(extension)}, which was not offered", status=101)
        transport = response.connection.transport if response.connection is not None else None
        if transport is None:
            raise ConnectFailed(f"{label} hung up right after it agreed to speak WebSocket", status=101)
        return Upgraded(session, response, transport)
    except BaseException:
        response.close()
        raise


_OF_MESSAGES: Final = frozenset({"content-type", "accept", "accept-encoding"})


def _check_subprotocol(stated: str | None, label: str) -> None:
    if stated is None:
        raise ConnectFailed(
            f'{label} speaks WebSocket, but refused the subprotocol "{SUBPROTOCOL}"',
            status=101,
            hint="is it an MCP endpoint? its path may be another, often /ws or /mcp",
        )
    if stated.strip() != SUBPROTOCOL:
        raise ConnectFailed(f'{label} answered with the subprotocol "{printable(stated)}", "{SUBPROTOCOL}" was asked for', status=101)


async def _refused(response: aiohttp.ClientResponse, label: str) -> NoReturn:
    status = response.status
    try:
        async with asyncio.timeout(_BODY_S):
            body = await read(response, ERROR_BODY)
    except (TimeoutError, aiohttp.ClientError):
        body = b""
    text = "" if isinstance(body, TooLong) else body[:_KEPT].decode("utf-8", "replace").strip()
    line = f"HTTP {status} {printable(response.reason or '')}".rstrip() + (f": {printable(text)}" if text else "")
    challenge = printable(response.headers.get("WWW-Authenticate", ""), 1000)
    if status == 401:
        raise AuthRequired(
            f"{label} wants a credential: {line}" + (f" (WWW-Authenticate: {challenge})" if challenge else ""),
            hint="send one with headers=, or --header 'Authorization: Bearer …'",
        )
    if 300 <= status < 400:
        where = printable(response.headers.get("Location", "nowhere"))
        raise ConnectFailed(
            f"{label} redirects to {where} (HTTP {status}); a WebSocket is not redirected",
            status=status,
            body=text,
            hint="use that address",
        )
    hint = "it answers as a plain HTTP server; is it an MCP endpoint at http:// or https://?" if status < 500 else None
    raise ConnectFailed(f"{label} refused to speak WebSocket: {line}", status=status, body=text, hint=hint)
