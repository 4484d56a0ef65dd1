"""A WebSocket with the subprotocol ``mcp``: one message is one text message, both ways. Frames are read in ``protocol/websocket.py``.

aiohttp finds the host, speaks TLS and with proxies, and asks for the upgrade; from then on the connection is ours, because its own reader
ends a connection for a message over the limit, where we lose only that message. Silence is no end: a ping is sent into it.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from dragoman.errors import ConnectFailed, LocalProtocolError
from dragoman.protocol.actions import STDIO, Close, Performable, Send, Traits
from dragoman.protocol.lines import Discarded
from dragoman.protocol.websocket import Ended, FrameReader, Opcode, Ping, Pong, close_payload, frame
from dragoman.transports.base import Closed, Oversized, Received, Sink, Weigh
from dragoman.transports.http_target import base_headers, find_proxy, parse_url, printable
from dragoman.transports.pipe import FRAME_LIMIT

if TYPE_CHECKING:
    from dragoman.transports.upgrade import Upgraded

SCHEMES: Final = ("ws", "wss")
_PING_S: Final = 30.0  # proxies drop what is silent for a minute
_FLUSH_S: Final = 1.0
_AT_ONCE: Final = 128  # frames in one turn of the loop, or those of one piece: a read can hold 131,072 of them
_PIECE: Final = 8 << 10


class WebSocketTransport:
    """A server at a ``ws://`` or ``wss://`` URL.

    Args:
        url: Credentials in it become an ``Authorization`` header.
        headers: More headers for the request that opens it.
        frame_limit: The longest message in bytes; a longer one is thrown away while it is read and reported.
        connect_s: For finding the host, for connecting including TLS, and for the answer to the request, each.
        idle_s: Longest silence; a living server answers the pings in it.
        flush_s: How long ``close`` waits for the server to take what is queued and to agree.
        label: What to call the server; the URL without credentials and query by default.
        trust: Certificates to trust; the system's by default.

    Raises:
        ConfigError: The URL or a header cannot be used.
    """

    traits: Traits = STDIO

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        frame_limit: int = FRAME_LIMIT,
        connect_s: float = 5.0,
        idle_s: float = 300.0,
        flush_s: float = _FLUSH_S,
        label: str | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._target = parse_url(url, SCHEMES)
        self._headers = base_headers(headers, self._target.authorization)
        self.label = label or self._target.label
        self._frame_limit, self._connect_s, self._idle_s, self._flush_s, self._trust = frame_limit, connect_s, idle_s, flush_s, trust
        self.weigh: Weigh | None = None
        self._reader = FrameReader(frame_limit, lambda head: self.weigh(head, None) if self.weigh is not None else None)
        self._report: Sink | None = None  # gone after Closed
        self._opened = self._closing = False
        self._over = asyncio.Event()
        self._upgraded: Upgraded | None = None
        self._wire: _Wire | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard_at = 0.0
        self._unread = b""
        self._taking = False  # the rest of what arrived is taken in the next turns of the loop

    async def open(self, report: Sink) -> None:
        """Connect, and ask for the upgrade.

        Raises:
            ConnectFailed: The host cannot be reached, or refuses; ``status`` and ``body`` where it answered.
            AuthRequired: It wants a credential.
            ConfigError: The environment names a proxy that cannot be used.
        """
        if self._opened or self._closing:
            raise LocalProtocolError(f"the connection to {self.label} was opened before; make a new one")
        self._opened = True
        from dragoman.transports.upgrade import upgrade  # pulls in aiohttp

        upgraded = await upgrade(
            self._target, self.label, self._headers, proxy=find_proxy(self._target), connect_s=self._connect_s, trust=self._trust
        )
        if self._over.is_set():  # closed meanwhile
            await upgraded.let_go()
            raise ConnectFailed(f"{self.label} was closed while it was opened")
        self._upgraded, self._report = upgraded, report
        self._wire = wire = _Wire(self, upgraded.transport)
        self._heard_at = wire.loop.time()
        self._wait_for_silence(wire)
        early, wire.before = upgraded.hand_over(wire)
        self.arrived(early)

    async def perform(self, action: Performable) -> None:
        """Write a message at once. Waits only while more is queued than the system takes; cancelling that wait tears nothing."""
        if isinstance(action, Send):
            wire = self._wire
            if wire is None and not self._opened and not self._closing:
                raise LocalProtocolError(f"the connection to {self.label} is not open yet; await open() first")
            if wire is not None and not self._closing and not self._over.is_set():
                await wire.room()
                if not self._over.is_set():
                    wire.send(Opcode.TEXT, action.message)
                    await wire.room()
        elif isinstance(action, Close):
            await self.close()

    async def close(self) -> None:
        """Say goodbye, wait for the server's for at most ``flush_s``, and report ``Closed``."""
        first, self._closing = not self._closing, True
        if self._wire is None:
            self._over.set()
            return
        if not self._over.is_set():
            if first:
                self._wire.send(Opcode.CLOSE, close_payload(1000))
            try:
                await asyncio.wait_for(self._over.wait(), self._flush_s)
            except TimeoutError:
                pass  # it does not read, or does not answer
            self._end("")
        if self._upgraded is not None:
            await self._upgraded.let_go()

    # --- what arrives -----------------------------------------------------------------------------------------------

    def arrived(self, data: bytes) -> None:
        """Bytes of the server. Many frames are taken in turns: other servers wait meanwhile, and nothing is read until they are taken."""
        if self._wire is None or self._over.is_set():
            return
        self._heard_at = self._wire.loop.time()
        self._unread = self._unread + data if self._unread else data
        if not self._taking:
            self._take()

    def _take(self) -> None:
        wire = self._wire
        assert wire is not None
        taken = at = 0
        unread = self._unread
        while at < len(unread) and taken < _AT_ONCE and not self._over.is_set():
            piece = unread[at : at + _PIECE]
            at += len(piece)
            taken += self._took(wire, piece)
        self._unread = unread[at:]
        before, self._taking = self._taking, bool(self._unread) and not self._over.is_set()
        if self._taking != before:
            wire.reads(not self._taking)
        if self._taking:
            wire.loop.call_soon(self._take)

    def _took(self, wire: _Wire, data: bytes) -> int:
        all_found = self._reader.feed(data)
        for found in all_found:
            match found:
                case Discarded():
                    self._tell(Oversized(found.head, found.tail, found.size, self._frame_limit))
                case Ping(payload):
                    if not self._closing and not wire.is_full:  # 5.5.3: only the last has to be answered
                        wire.send(Opcode.PONG, payload)
                case Pong():
                    pass  # it lives, which has been noted
                case Ended():
                    if not self._closing:
                        code = 1000 if found.code in (1005, 1006, 1015) else found.code  # those are never sent
                        wire.send(Opcode.CLOSE, close_payload(code))
                    shown = printable(str(found))
                    self._end(f"broke the WebSocket protocol: {printable(found.reason)}" if found.broken else f"closed with code {shown}")
                case _:
                    self._tell(Received(found))
        return len(all_found)

    def _tell(self, report: Received | Oversized) -> None:
        if self._report is not None and not self._closing:
            self._report(report)

    def _wait_for_silence(self, wire: _Wire) -> None:
        self._timer = wire.loop.call_later(min(_PING_S, self._idle_s / 2), self._look, wire)

    def _look(self, wire: _Wire) -> None:
        silent_s = wire.loop.time() - self._heard_at
        if silent_s >= self._idle_s:
            self._end(f"sent nothing for {self._idle_s:g} s, not even the answer to a ping")
            return
        if silent_s >= min(_PING_S, self._idle_s / 2) / 2 and not self._closing:
            wire.send(Opcode.PING, b"")
        self._wait_for_silence(wire)

    # --- the end ----------------------------------------------------------------------------------------------------

    def lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        words = (os.strerror(exc.errno) if exc.errno else str(exc)) if isinstance(exc, OSError) else str(exc)
        self._end("hung up without a word" if exc is None else f"the connection broke: {printable(words)}")

    def _end(self, reason: str) -> None:
        if self._over.is_set():
            return
        self._over.set()
        report, self._report = self._report, None
        if self._timer is not None:
            self._timer.cancel()
        if self._wire is not None:
            self._wire.end()
        if report is not None:
            report(Closed("closed by us" if self._closing else reason))


class _Wire(asyncio.Protocol):
    """The connection after the upgrade, as asyncio sees it."""

    def __init__(self, owner: WebSocketTransport, transport: asyncio.Transport) -> None:
        self.loop = asyncio.get_running_loop()
        self._owner, self._transport = owner, transport
        self._full: asyncio.Future[None] | None = None
        self.before: asyncio.Protocol | None = None  # has to learn of the end too

    def send(self, code: Opcode, payload: bytes) -> None:
        self._transport.write(frame(code, payload, os.urandom(4)))

    @property
    def is_full(self) -> bool:
        """Whether more is queued than the system takes."""
        return self._full is not None

    async def room(self) -> None:
        while self._full is not None:
            await asyncio.shield(self._full)  # shared: one cancelled caller must not wake or cancel the others

    def end(self) -> None:
        if self._transport.get_write_buffer_size() or self._transport.get_extra_info("ssl_object") is not None:
            self._transport.abort()  # nobody waits for a peer that does not read, or for the end of its TLS
        else:
            self._transport.close()
        self.resume_writing()

    def reads(self, on: bool) -> None:
        if not on:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._owner.arrived(data)

    def pause_writing(self) -> None:
        if self._full is None:
            self._full = self.loop.create_future()

    def resume_writing(self) -> None:
        full, self._full = self._full, None
        if full is not None and not full.done():
            full.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.before is not None:
            self.before.connection_lost(exc)
        self.resume_writing()
        self._owner.lost(exc)
