"""Small HTTP servers of one dialect each, on loopback: what they were asked, and what they answer, unless a test says otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from tests.runtime.fakes import ALL_CAPABILITIES, ECHO, Json, words
from tests.transports.loopback import Exchange, Loopback, loopback, result

Odd = Callable[["Dialect", Exchange, Json], Awaitable[bool]]
"""Sees each request first (the message is ``{}`` for GET and DELETE); true: it was answered."""


async def _nothing_odd(_dialect: Dialect, _exchange: Exchange, _message: Json) -> bool:
    return False


class Dialect:
    """A polite server.

    Args:
        era: ``modern``, ``legacy``, or ``sse`` for 2024-11-05.
        odd: Sees each request first.

    Attributes:
        asked: Method of HTTP and of the message, in order, as ``POST tools/call``.
        sessions: The ids that are known.
        listening: GET streams that are open.
    """

    def __init__(self, era: str, odd: Odd = _nothing_odd) -> None:
        self.era = era
        self.asked: list[str] = []
        self.sessions: set[str] = set()
        self.listening: list[Exchange] = []
        self.level = ""
        self._odd = odd
        self._count = 0
        self.server: Loopback

    @property
    def url(self) -> str:
        return self.server.url

    def count(self, what: str) -> int:
        """How often it was asked this."""
        return self.asked.count(what)

    async def handle(self, exchange: Exchange) -> None:
        verb = exchange.line.split()[0]
        message: Json = exchange.message if exchange.body else {}
        self.asked.append(f"{verb} {message.get('method', 'answer' if message else '')}".strip())
        if await self._odd(self, exchange, message):
            return
        await getattr(self, f"_{self.era}")(exchange, verb, message)

    async def _modern(self, exchange: Exchange, verb: str, message: Json) -> None:
        if verb != "POST":
            exchange.reply("405 Method Not Allowed")
        elif message["method"] == "server/discover":
            exchange.reply_json(result(message["id"], supportedVersions=["2026-07-28"], capabilities=ALL_CAPABILITIES))
        elif message["method"] == "initialize":
            data = {"supported": ["2026-07-28"], "requested": message["params"]["protocolVersion"]}
            exchange.reply_json({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32022, "message": "no", "data": data}}, "400 No")
        else:
            self._answer(exchange, message)

    async def _legacy(self, exchange: Exchange, verb: str, message: Json) -> None:
        session = exchange.header("mcp-session-id")
        if verb == "POST" and message.get("method") == "initialize":
            self._count += 1
            self.sessions.add(f"s{self._count}")
            body = msgspec.json.encode(result(message["id"], **initialized(message)))
            exchange.reply("200 OK", body, "application/json", MCP_Session_Id=f"s{self._count}")
        elif session is None:
            exchange.reply("400 Bad Request", b"Bad Request: Missing session ID", "text/plain")
        elif session not in self.sessions:
            error = {"code": -32001, "message": "Session not found"}
            exchange.reply_json({"jsonrpc": "2.0", "id": None, "error": error}, "404 Not Found")
        elif verb == "DELETE":
            self.sessions.discard(session)
            exchange.reply("200 OK")
        elif verb == "GET":
            self.listening.append(exchange)
            exchange.start_events()
        elif "id" in message and "method" in message:
            self._answer(exchange, message)
        else:
            exchange.reply("202 Accepted")

    async def _sse(self, exchange: Exchange, verb: str, message: Json) -> None:
        if verb == "GET":
            self.listening.append(exchange)
            exchange.start_events()
            exchange.chunk(b"event: endpoint\ndata: /messages?sid=1\n\n")
        elif exchange.line.split()[1] != "/messages?sid=1":
            exchange.reply("405 Method Not Allowed")
        else:
            exchange.reply("202 Accepted")
            if message.get("method") == "initialize":
                self.listening[-1].event(result(message["id"], **initialized(message)))
            elif "id" in message and "method" in message:
                self.listening[-1].event(self._result(message))

    def _answer(self, exchange: Exchange, message: Json) -> None:
        exchange.reply_json(self._result(message))

    def _result(self, message: Json) -> Json:
        match message["method"]:
            case "tools/list":
                return result(message["id"], tools=[ECHO])
            case "tools/call":
                return result(message["id"], **words(str(message["params"].get("arguments", {}).get("text", ""))))
            case _:
                self.level = str(message["params"].get("level", self.level))
                return result(message["id"])


def initialized(message: Json) -> Json:
    """The result of initialize, in the version that was asked for."""
    version: Any = message["params"]["protocolVersion"]
    return {"protocolVersion": version, "capabilities": ALL_CAPABILITIES, "serverInfo": {"name": "fake", "version": "1"}}


@asynccontextmanager
async def serving(era: str, odd: Odd = _nothing_odd) -> AsyncIterator[Dialect]:
    """A running server of that dialect."""
    dialect = Dialect(era, odd)
    async with loopback(dialect.handle) as dialect.server:
        yield dialect
