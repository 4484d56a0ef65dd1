"""The reader of event streams, against the standard's own rules and examples."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.protocol.sse import EDGE, SseDiscarded, SseEvent, SseParser

LIMIT = 1 << 20


def read(stream: bytes, limit: int = LIMIT) -> list[SseEvent | SseDiscarded]:
    return SseParser(limit).feed(stream)


def data_of(stream: bytes) -> list[bytes | bytearray]:
    return [event.data for event in read(stream) if isinstance(event, SseEvent)]


@pytest.mark.parametrize(
    ("stream", "data"),
    [
        (b"data: one\n\n", [b"one"]),
        (b"data:one\n\n", [b"one"]),
        (b"data:  one\n\n", [b" one"]),
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [b"YHOO\n+2\n10"]),
        (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data: a\rdata: b\r\r", [b"a\nb"]),
        (b"data: a\r\n\rdata: b\n\r\n", [b"a", b"b"]),
        (b": keep-alive\n\ndata: a\n: inside\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\ndata\ndata\n\ndata:", [b"", b"\n"]),
        (b"data:test\n\ndata: test\n\n", [b"test", b"test"]),
        (b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", [b"a"]),
        (b"data: a\xe2\x80\xa8b\x0b\x0c\x85\n\n", [b"a\xe2\x80\xa8b\x0b\x0c\x85"]),
        (b"data: cut off\n", []),
        (b"event: x\n\ndata: y\n\n", [b"y"]),
        (b"Data: a\ndata : b\ndatax: c\n\n", []),
        (b"", []),
    ],
)
def test_lines_and_data_follow_the_standard(stream: bytes, data: list[bytes]) -> None:
    """WHATWG HTML, event stream interpretation, with its examples; U+2028 and other Unicode line ends are text."""
    assert data_of(stream) == data


def test_type_id_and_retry_reach_the_event_they_belong_to() -> None:
    """WHATWG HTML: the type and the retry are of one event, the id stays."""
    first, second, third = read(b"event: ping\nid: 7\nretry: 500\ndata: a\n\ndata: b\n\nid\ndata: c\n\n")
    assert first == SseEvent("ping", b"a", "7", 500)
    assert second == SseEvent("message", b"b", "7", None)
    assert third == SseEvent("message", b"c", "", None)


@pytest.mark.parametrize("retry", [b"-1", b"1.5", b"5s", b"", b" 5", "٣".encode(), b"9" * 5000])
def test_retry_that_is_not_digits_is_ignored(retry: bytes) -> None:
    """WHATWG HTML: ASCII digits only. Our choice: not thousands of them."""
    parser = SseParser(LIMIT)
    assert parser.feed(b"retry:" + b" " + retry + b"\ndata: a\n\n") == [SseEvent("message", b"a", "", None)]
    assert parser.retry_ms is None


def test_id_with_a_null_is_ignored_and_retry_without_data_is_kept() -> None:
    """WHATWG HTML: an id with U+0000 is ignored; a retry takes effect without an event."""
    parser = SseParser(LIMIT)
    parser.feed(b"id: good\n\nid: b\0d\nretry: 9\n\n")
    assert (parser.last_id, parser.retry_ms) == ("good", 9)


def test_event_of_exactly_the_limit_is_kept_and_one_byte_more_is_discarded() -> None:
    """Our choice: the limit counts the data, joined; the events around it are untouched."""
    kept, dropped, after = read(b"data: 12345\n\ndata: 123\ndata: 45\n\ndata: x\n\n", limit=5)
    assert kept == SseEvent("message", b"12345", "")
    assert dropped == SseDiscarded(b"123\n45", b"123\n45", 6)
    assert after == SseEvent("message", b"x", "")


def test_discarded_event_keeps_its_ends_and_little_memory() -> None:
    """Our choice: 4 KB of either end, so that the id of the answer can still be found."""
    parser = SseParser(64 * 1024)
    body = b'{"id":7,' + b"x" * (8 * 1024 * 1024) + b',"jsonrpc":"2.0"}'
    found: list[SseEvent | SseDiscarded] = []
    pieces = [b"data: ", *(body[i : i + 16384] for i in range(0, len(body), 16384)), b"\n\ndata: next\n\n"]
    tracemalloc.start()
    for piece in pieces:
        found += parser.feed(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [SseDiscarded(body[:EDGE], body[-EDGE:], len(body)), SseEvent("message", b"next", "")]
    assert peak < 1024 * 1024


def test_endless_comment_is_not_collected() -> None:
    """Our choice: a line that is no data is bounded whatever the limit."""
    parser = SseParser(128 * 1024 * 1024)
    tracemalloc.start()
    for _ in range(256):
        assert parser.feed(b":" + b"x" * 65535) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1024 * 1024
    assert parser.feed(b"\ndata: a\n\n") == [SseEvent("message", b"a", "")]


def test_sixteen_megabytes_in_one_event_are_read_in_small_pieces() -> None:
    """Our choice: the default limit of 128 MB lets big results through; quadratic cost would run into the test's timeout."""
    parser = SseParser(128 * 1024 * 1024)
    piece = b"y" * 4096
    assert parser.feed(b"data: ") == []
    for _ in range(4096):
        assert parser.feed(piece) == []
    (event,) = parser.feed(b"\n\n")
    assert isinstance(event, SseEvent)
    assert len(event.data) == 16 * 1024 * 1024


_FRAGMENTS = (
    [b"data:", b"data: ", b"data", b"da", b":", b" ", b"\n", b"\r", b"\r\n", b"\n\n", b"id: 1", b"id", b"event: x", b"retry: 5"],
    [b"abc", b"\xef", b"\xbb", b"\xbf", b"\0", b"xyz" * 30, b"\xe2\x80\xa8", b"data: hello world\n\n", b"data: " + b"q" * 60 + b"\n"],
)
_PIECES = st.sampled_from([fragment for group in _FRAGMENTS for fragment in group])


@given(st.lists(_PIECES, max_size=40).map(b"".join), st.data(), st.sampled_from([0, 1, 5, 6, 50, LIMIT]))
def test_chunking_does_not_matter(stream: bytes, data: st.DataObject, limit: int) -> None:
    """Property: whole, byte by byte and cut anywhere give equal events, ids and retries."""
    whole = SseParser(limit)
    expected = whole.feed(stream)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=8)))
    edges = [0, *cuts, len(stream)]
    for parts in ([stream[a:b] for a, b in itertools.pairwise(edges)], [stream[i : i + 1] for i in range(len(stream))]):
        parser = SseParser(limit)
        assert [event for part in parts for event in parser.feed(part)] == expected
        assert (parser.last_id, parser.retry_ms) == (whole.last_id, whole.retry_ms)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_exception(stream: bytes) -> None:
    """Property: what a server sends never raises."""
    for event in read(stream, limit=20):
        assert len(event.data) <= 20 if isinstance(event, SseEvent) else event.size > 20


def test_id_counts_only_when_its_event_is_complete() -> None:
    """WHATWG HTML 9.2.6, dispatch: an event that was cut off has not been delivered, and must be sent again."""
    parser = SseParser(1000)
    parser.feed(b"id: e1\ndata: x\n\nid: e2\ndata: y\n")
    assert parser.last_id == "e1"
    parser.feed(b"\n")
    assert parser.last_id == "e2"
    parser.feed(b"id: e3\n\n")
    assert parser.last_id == "e3"
