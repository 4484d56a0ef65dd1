"""What is fuzzed: a function per target that takes any bytes, and fails when they bring out what they must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from dragoman.config.load import parse
from dragoman.config.model import Config
from dragoman.errors import ConfigError
from dragoman.protocol import events
from dragoman.protocol.actions import HTTP, STDIO, Close, CloseStream, Listen, Resume, Send, SetTimer
from dragoman.protocol.bounds import SAMPLE
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import PeerViolation
from dragoman.protocol.handshake import Identity
from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.protocol.refusals import Refusal
from dragoman.protocol.sse import SseEvent, SseParser
from dragoman.protocol.websocket import Ended, FrameReader
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import ALL

EVENTS: Final = tuple(value for value in vars(events).values() if isinstance(value, type) and value.__module__ == events.__name__)
ACTIONS: Final = (Send, CloseStream, Listen, Resume, SetTimer, Close)
_LIMITS: Final = (0, 1, 7, 64, 100_000)


def lines(data: bytes) -> None:
    """However the input is cut, the lines are those of a naive reading."""
    chunk, limit = 1 + data[0] % 16 if data else 1, _LIMITS[data[1] % 5] if len(data) > 1 else 64
    body = data[2:]
    splitter = LineSplitter(limit)
    found = [item for start in range(0, len(body), chunk) for item in splitter.feed(body[start : start + chunk])] + splitter.end()
    expected: list[bytes | Discarded] = []
    for line in body.split(b"\n"):
        if len(line) > limit:
            expected.append(Discarded(line[:SAMPLE], line[-SAMPLE:], len(line)))
        elif line.strip(b" \t\n\r\x0b\f"):
            expected.append(line.removesuffix(b"\r"))
    assert [item if isinstance(item, Discarded) else bytes(item) for item in found] == expected


def sse(data: bytes) -> None:
    """However the stream is cut, the events are the same, and none is over the limit."""
    chunk, limit = 1 + data[0] % 16 if data else 1, _LIMITS[data[1] % 5] if len(data) > 1 else 64
    body = data[2:]
    whole, parts = SseParser(limit), SseParser(limit)
    expected = whole.feed(body)
    assert [event for start in range(0, len(body), chunk) for event in parts.feed(body[start : start + chunk])] == expected
    assert (parts.last_id, parts.retry_ms) == (whole.last_id, whole.retry_ms)
    for event in expected:
        assert len(event.data) <= limit if isinstance(event, SseEvent) else event.size > limit
        assert "\0" not in (event.id if isinstance(event, SseEvent) else "")


def websocket(data: bytes) -> None:
    """However the bytes are cut, what is read is the same, no message is over the limit, and nothing follows an end."""
    chunk, limit = 1 + data[0] % 16 if data else 1, _LIMITS[data[1] % 5] if len(data) > 1 else 64
    body = data[2:]
    expected = FrameReader(limit).feed(body)
    parts = FrameReader(limit)
    assert [found for start in range(0, len(body), chunk) for found in parts.feed(body[start : start + chunk])] == expected
    for found in expected:
        if isinstance(found, Discarded):
            assert found.size > limit
        elif isinstance(found, bytes | bytearray):
            assert len(found) <= limit
    assert not any(isinstance(found, Ended) for found in expected[:-1])


def inbound(data: bytes) -> None:
    """A conversation of any messages: an event or a violation for each, every request of ours settles once, what is sent is JSON."""
    if len(data) < 2:
        return
    how, body = data[0], data[2:]
    traits = HTTP if how & 1 else STDIO
    revisions = ALL if how & 2 else (ALL[(how >> 2) % len(ALL)],)
    role = Role.SERVER if how & 128 else Role.CLIENT
    identity = Identity(Implementation("fuzz", "1"), {"roots": {}} if role is Role.CLIENT else {"tools": {}})
    connection = Connection(role, identity, traits=traits, revisions=revisions)
    connection.begin()
    started: set[object] = set()
    settled: list[object] = []
    timers = 0

    def look() -> None:
        nonlocal timers
        for event in connection.events():
            assert isinstance(event, EVENTS), event
            if isinstance(event, PeerViolation):
                assert len(event.sample) <= events.SAMPLE
            elif isinstance(event, events.ResultReceived | events.ErrorReceived | events.ResponseUnreadable | events.RequestLost):
                settled.append(event.request_id)
            elif isinstance(event, events.AskReceived) and how & 64:
                connection.answer(event.request_id, {})
        for action in connection.actions():
            assert isinstance(action, ACTIONS), action
            timers += isinstance(action, SetTimer)
            if isinstance(action, Send):
                msgspec.json.decode(action.message)

    look()
    for number, message in enumerate(body.split(b"\n")[:40]):
        via = number % 4 if traits is HTTP and number % 4 else None
        if message.startswith(b"!t") and timers:  # only a timer that was asked for runs out
            timers -= 1
            connection.tick()
        elif message.startswith(b"!"):  # something else than a message
            _happens(connection, message, via)
        else:
            connection.receive(message, via, (None, None, None, 400, 404, 500)[data[1] % 6] if traits is HTTP else None)
        look()
        if connection.state == "open" and len(started) < 3:
            started.add(connection.start_request("tools/call", {"name": "x"}, progress=True, force=True))
            look()
    connection.receive_eof("over")
    look()
    ours = [request_id for request_id in settled if request_id in started]
    assert sorted(map(str, ours)) == sorted(map(str, started)), "not every request settled once"
    assert connection.open_requests == 0


def _happens(connection: Connection, message: bytes, via: int | None) -> None:
    match message[1:2]:
        case b"o":
            connection.receive_oversized(message[2:200], message[-200:], 10**9, 10**6, via)
        case b"e":
            connection.receive_stream_end(via, Refusal(repr(message[2:100]), status=404 if message[2:3] == b"4" else None))
        case _:
            connection.receive(message, via)


def config(data: bytes) -> None:
    """A configuration, or a complaint that names the file."""
    if not data:
        return
    text = data[1:].decode("utf-8", "replace")
    path = Path("dragoman.toml" if data[0] % 2 else "mcp.json")
    found: Config | ConfigError
    try:
        found = parse(text, path, project=bool(data[0] & 2))
    except ConfigError as exc:
        found = exc
    assert isinstance(found, Config) or path.name in str(found)


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "lines": lines,
    "sse": sse,
    "websocket": websocket,
    "inbound": inbound,
    "config": config,
}
