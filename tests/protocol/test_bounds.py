"""How long a message may become while it is read, and what the engine says about that."""

from __future__ import annotations

import pytest

from dragoman.protocol.bounds import LOOK, SAMPLE, Bound
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import HandshakeFailed, ResponseUnreadable, ResultReceived
from dragoman.protocol.lines import Discarded, LineSplitter
from dragoman.protocol.sse import SseDiscarded, SseParser
from dragoman.protocol.websocket import FrameReader
from tests.protocol.peers import feed, kinds, new_client, open_client, others, sent

MIB = 1 << 20


def asked(*max_bytes: int | None) -> tuple[list[int], Connection]:
    """A client with calls open that want no more than so many bytes each."""
    client = open_client()
    ids = [client.start_request("tools/call", {"name": "x"}, max_bytes=most) for most in max_bytes]
    sent(client)
    return [one for one in ids if isinstance(one, int)], client


def test_short_messages_are_never_looked_at_and_long_ones_once_each() -> None:
    """Our choice: what a message is costs nothing to those that are short."""
    looked: list[bytes] = []

    def weigh(head: bytes) -> int | None:
        looked.append(head)
        return None

    splitter = LineSplitter(4 * MIB, weigh)
    assert splitter.feed(b"a" * LOOK + b"\n") == [b"a" * LOOK]
    assert looked == []
    for _ in range(2):
        for _ in range(10):
            splitter.feed(b"b" * LOOK)
        assert splitter.feed(b"\n") == [b"b" * LOOK * 10]
    assert looked == [b"b" * SAMPLE] * 2


@pytest.mark.parametrize("known", [0, 100_000, 10 * MIB, None])
def test_bound_is_the_lower_one_of_the_two(known: int | None) -> None:
    """The limit of the channel holds in any case."""
    bound = Bound(MIB, lambda _: known)
    most = MIB if known is None else min(known, MIB)
    assert not bound.is_over(LOOK, b"", b"")
    assert bound.is_over(most + 1, b"", b"") == (most + 1 > LOOK)
    bound.next()
    assert not bound.is_over(LOOK, b"", b"")


def pieces(data: bytes, step: int) -> list[bytes]:
    return [data[at : at + step] for at in range(0, len(data), step)]


@pytest.mark.parametrize("step", [1_000, 50_000, 10**9])
def test_every_reader_throws_away_what_is_too_long_for_its_call(step: int) -> None:
    """Lines, events and frames; what follows is read whole."""
    long = b'{"id":1,"result":"' + b"x" * 300_000 + b'"}'

    def weigh(head: bytes) -> int:
        assert head.startswith(b'{"id":1,"result":"')
        return 100_000

    lines, events, frames = LineSplitter(MIB, weigh), SseParser(MIB, weigh), FrameReader(MIB, weigh)
    if step < len(long):  # a line that is here whole has cost its memory already, and is weighed as a message
        found_lines = [one for piece in pieces(long + b"\nnext\n", step) for one in lines.feed(piece)]
        assert [type(one) for one in found_lines] == [Discarded, bytes]
    stream = b"data: " + long + b"\n\ndata: next\n\n"
    found_events = [one for piece in pieces(stream, step) for one in events.feed(piece)]
    assert isinstance(found_events[0], SseDiscarded)
    assert found_events[0].size == len(long)
    wire = b"\x81\x7f" + len(long).to_bytes(8, "big") + long + b"\x81\x04next"
    found_frames = [one for piece in pieces(wire, step) for one in frames.feed(piece)]
    assert found_frames == [Discarded(long[:SAMPLE], long[-SAMPLE:], len(long)), b"next"]


def test_answer_may_be_as_long_as_its_call_wants_and_a_listing_as_long_as_any() -> None:
    """Our contract: the limit of a call reaches whoever reads, that of another does not matter."""
    (small, large, any_), client = asked(1_000, MIB, None)

    def longest(head: str) -> int | None:
        return client.longest(head.encode())

    assert longest(f'{{"jsonrpc":"2.0","id":{small},"result":{{') == 1_000 + 4_096
    assert longest(f'{{"jsonrpc":"2.0","id":"{large}","result":{{') == MIB + 4_096  # ids as text are believed elsewhere too
    assert longest(f'{{"error":{{"data":"x", "id":{any_}') is None  # the id comes last: one that waits may be as long as any
    assert longest(f'{{"id":{any_},"result":{{') is None
    assert longest('{"id":"of nobody","result":{') == MIB
    assert longest('{"id":7,"method":"sampling/createMessage","params":{"result":') == 16 * MIB
    assert longest('[{"id":') is None
    assert longest("2026-12-01 a log line on the wrong stream") == MIB


def test_where_the_id_comes_last_the_largest_limit_of_all_that_wait_holds() -> None:
    """Some servers write the id last."""
    _, client = asked(1_000, MIB)
    assert client.longest(b'{"jsonrpc":"2.0","result":{"content":[') == MIB + 4_096
    assert client.longest(b'{"jsonrpc":"2.0","result":{"content":[', 2) == 1_000 + 4_096


def test_answer_that_nobody_waits_for_any_more_is_not_kept_and_is_no_violation() -> None:
    """It is late, which we caused ourselves."""
    (first,), client = asked(None)
    client.abandon(first, "too late")
    head = f'{{"id":{first},"result":{{'.encode()
    assert client.longest(head) == 0
    client.receive_oversized(head, b"}}", 80_000, MIB)
    assert client.events() == []


def test_result_that_is_too_long_for_its_call_ends_that_call_and_is_no_violation() -> None:
    """Exact, however it arrived; the frame limit is another matter."""
    (exact, over, read_away), client = asked(13, 12, 1_000)
    assert others(feed(client, {"id": exact, "result": {"a": "12345"}}))[0].__class__ is ResultReceived
    events = feed(client, {"id": over, "result": {"a": "12345"}})
    assert events == [ResponseUnreadable(over, "the answer is 13 bytes, limit 12", 13, 12)]
    client.receive_oversized(f'{{"id":{read_away},"error":{{"data":"'.encode(), b'"}}', 10**8, 2 * 10**8)
    events = client.events()
    assert kinds(events) == []
    assert events == [ResponseUnreadable(read_away, f"the answer is {10**8} bytes, limit 1000", 10**8, 1_000)]


def test_server_that_says_megabytes_about_itself_is_refused() -> None:
    """Our choice: 1 MB; its name and its instructions are kept as long as it is connected."""
    client = new_client(("2025-11-25",))
    client.begin()
    info = {"name": "s", "version": "1"}
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info, "instructions": "x" * MIB}
    events = feed(client, {"id": 1, "result": result})
    (failed,) = [event for event in events if isinstance(event, HandshakeFailed)]
    assert f"limit {MIB}" in str(failed.error)
    assert failed.error.hint is not None
    assert "instructions" in failed.error.hint
