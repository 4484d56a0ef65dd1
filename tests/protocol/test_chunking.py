"""From bytes to events: however the wire is cut into pieces, the engine tells the same, on pipes and on streams of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.protocol.actions import HTTP, STDIO
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import Event, RequestLost
from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.protocol.sse import SseDiscarded, SseParser
from dragoman.testing import replay
from dragoman.transports.base import Oversized, Received, Report
from dragoman.wire.envelope import RequestId
from dragoman.wire.revisions import LEGACY, MODERN
from tests.protocol.peers import open_client
from tests.transcripts.talks import FOLDER

LIMIT = 120
OPEN = 3
Feed = Callable[[Connection, Iterable[bytes]], list[Event]]

MESSAGES = [
    b'{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"gr\xc3\xb6\xc3\x9fe"}]}}',
    b'{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"no"}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}',
    b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
    b'{"jsonrpc":"2.0","id":"q","method":"ping"}',
    b'{"jsonrpc":"2.0","id":4,"result":{"a":"' + b"x" * LIMIT + b'"}}',
    b'{"jsonrpc":"2.0","id":2,"result":',
    b"a log line \xff",
    b'INFO done {"jsonrpc":"2.0","id":4,"result":{}}',
    b"",
]
WIRES = st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=5)


def started(revision: str, http: bool) -> Connection:
    """An engine with three requests on their way: 2, 3 and 4."""
    connection = open_client(revision, traits=HTTP if http else STDIO)
    for _ in range(OPEN):
        connection.start_request("tools/call", {"name": "x", "arguments": {}}, progress=True)
    return connection


def over_lines(connection: Connection, pieces: Iterable[bytes]) -> list[Event]:
    splitter = LineSplitter(LIMIT)

    def found() -> Iterator[bytes | bytearray | Discarded]:
        for piece in pieces:
            yield from splitter.feed(piece)
        yield from splitter.end()

    for line in found():
        if isinstance(line, Discarded):
            connection.receive_oversized(line.head, line.tail, line.size, LIMIT)
        else:
            connection.receive(line)
    connection.receive_eof("over")
    return connection.events()


def over_events(connection: Connection, pieces: Iterable[bytes]) -> list[Event]:
    parser, via = SseParser(LIMIT), 2
    for piece in pieces:
        for event in parser.feed(piece):
            if isinstance(event, SseDiscarded):
                connection.receive_oversized(event.head, event.tail, event.size, LIMIT, via)
            else:
                connection.receive(event.data, via)
    connection.receive_eof("over")
    return connection.events()


def wire_of(messages: list[bytes], http: bool) -> bytes:
    return b"".join(b"id: 7\ndata: " + one + b"\n\n" if http else one + b"\r\n" for one in messages)


@pytest.mark.parametrize(("http", "feed"), [(False, over_lines), (True, over_events)])
@pytest.mark.parametrize("revision", [LEGACY[0], MODERN[0]])
@given(messages=WIRES, cuts=st.lists(st.integers(0, 600), max_size=12))
def test_any_chunks_bring_the_same_events(revision: str, http: bool, feed: Feed, messages: list[bytes], cuts: list[int]) -> None:
    """Property, with messages that are whole, broken, glued, too long or none."""
    wire = wire_of(messages, http)
    whole = feed(started(revision, http), [wire])
    places = sorted({0, len(wire), *(cut for cut in cuts if cut < len(wire))})
    assert feed(started(revision, http), [wire[a:b] for a, b in pairwise(places)]) == whole
    assert feed(started(revision, http), (wire[i : i + 1] for i in range(len(wire)))) == whole


@pytest.mark.parametrize(("http", "feed"), [(False, over_lines), (True, over_events)])
def test_split_at_every_single_point_brings_the_same_events(http: bool, feed: Feed) -> None:
    """All of the messages above, in two pieces, at each byte there is."""
    wire = wire_of(MESSAGES, http)
    whole = feed(started(LEGACY[0], http), [wire])
    for cut in range(len(wire) + 1):
        assert feed(started(LEGACY[0], http), [wire[:cut], wire[cut:]]) == whole, cut


@pytest.mark.parametrize(("http", "feed"), [(False, over_lines), (True, over_events)])
def test_wire_that_ends_at_any_point_settles_every_request_once(http: bool, feed: Feed) -> None:
    """What was cut off is lost by name; no request is settled twice or never."""
    wire = wire_of(MESSAGES, http)
    for cut in range(len(wire) + 1):
        settled: list[RequestId] = []
        for event in feed(started(LEGACY[0], http), [wire[:cut]]):
            if type(event).__name__ in ("ResultReceived", "ErrorReceived", "ResponseUnreadable") or isinstance(event, RequestLost):
                settled.append(event.request_id)  # type: ignore[union-attr]  # all of these have one
        assert sorted(settled, key=str) == [2, 3, 4], cut


async def test_replayed_wire_of_one_byte_at_a_time_is_that_of_lines() -> None:
    """The transport that cuts the wire in tests reads it through the same splitter as a pipe."""
    reports: list[Report] = []
    transport = replay(FOLDER / "legacy-stdio.jsonl", frame_limit=64)
    await transport.open(reports.append)
    transport._write(b"x" * 65)
    for byte in b"\n{}\n":
        transport._write(bytes([byte]))
    assert [type(report) for report in reports] == [Oversized, Received]
    await transport.close()
