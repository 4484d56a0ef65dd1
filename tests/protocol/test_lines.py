"""Lines out of chunks: chunking does not matter, the limit holds, the cost is linear."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.protocol.bounds import SAMPLE
from dragoman.protocol.lines import Discarded, LineSplitter

Found = list[bytes | Discarded]


def split(chunks: list[bytes], limit: int = 1000) -> Found:
    """Every line of ``chunks`` as plain bytes."""
    splitter = LineSplitter(limit)
    found = [item for chunk in chunks for item in splitter.feed(chunk)] + splitter.end()
    return [item if isinstance(item, Discarded) else bytes(item) for item in found]


def expected(data: bytes, limit: int) -> Found:
    """The same, said naively."""
    found: Found = []
    for line in data.split(b"\n"):
        if len(line) > limit:
            found.append(Discarded(line[:SAMPLE], line[-SAMPLE:], len(line)))
        elif line.strip(b" \t\n\r\x0b\f"):
            found.append(line.removesuffix(b"\r"))
    return found


PIECE = st.one_of(st.sampled_from([b"\n", b"\r\n", b"\r", b" ", b"{}", b"x" * 30, "\u2028".encode()]), st.binary(max_size=20))
STREAM = st.lists(PIECE, max_size=40).map(b"".join)


@given(data=STREAM, cuts=st.lists(st.integers(0, 900), max_size=20), limit=st.sampled_from([0, 1, 5, 29, 30, 31, 1000]))
def test_how_the_input_is_cut_does_not_matter(data: bytes, cuts: list[int], limit: int) -> None:
    """Our choice: whole, byte by byte and at random cuts give the same lines as the naive reading."""
    want = expected(data, limit)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    assert split([data], limit) == want
    assert split([data[i : i + 1] for i in range(len(data))], limit) == want
    assert split([data[a:b] for a, b in pairwise(places)], limit) == want


def test_only_a_newline_ends_a_line() -> None:
    """JSON may hold U+2028, U+0085 and, between tokens, a lone carriage return; none of them ends a message."""
    odd = '{"a":\r"\u2028\u0085\x0b\x0c\x1c"}'.encode()
    assert split([odd + b"\r\n" + odd + b"\n"]) == [odd, odd]


def test_blank_lines_are_skipped() -> None:
    """A banner's empty lines are no messages and no violations."""
    assert split([b"\n\r\n  \t\r\n{}\n\n"]) == [b"{}"]


def test_last_line_without_newline_is_given_at_the_end_and_only_then() -> None:
    """A server that exits right after its answer may not have written the newline."""
    splitter = LineSplitter(100)
    assert splitter.feed(b'{"id":1}') == []
    assert splitter.end() == [b'{"id":1}']
    assert splitter.end() == []


@pytest.mark.parametrize("step", [1, 7, 4095, 4096, 4097, 50_000])
def test_line_over_the_limit_keeps_its_ends_and_the_next_line_is_whole(step: int) -> None:
    """Some servers write the id last, so the tail is worth as much as the head."""
    line = bytes(i % 251 + 1 for i in range(20_000)).replace(b"\n", b"-")
    data = b"ok\n" + line + b"\nnext\n"
    chunks = [data[i : i + step] for i in range(0, len(data), step)]
    assert split(chunks, limit=9_000) == [b"ok", Discarded(line[:SAMPLE], line[-SAMPLE:], 20_000), b"next"]


def test_line_of_exactly_the_limit_is_a_line() -> None:
    """The limit is inclusive, whether the line comes in one chunk or in two."""
    assert split([b"x" * 10 + b"\n"], limit=10) == [b"x" * 10]
    assert split([b"x" * 10, b"\n"], limit=10) == [b"x" * 10]
    assert split([b"x" * 11 + b"\n"], limit=10) == [Discarded(b"x" * 11, b"x" * 11, 11)]


def test_memory_stops_growing_at_the_limit() -> None:
    """A server that never ends its line costs at most the limit."""
    splitter, chunk = LineSplitter(1_000_000), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(300):
            assert splitter.feed(chunk) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_500_000
    [discarded] = splitter.feed(b"\n")
    assert isinstance(discarded, Discarded)
    assert discarded.size == 300 * 65_536


def test_long_line_is_neither_scanned_nor_copied_again() -> None:
    """Linear cost, shown without a clock: a 32 MB line never takes more than about its own size in memory."""
    splitter, chunk = LineSplitter(64 << 20), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(512):
            splitter.feed(chunk)
        [line] = splitter.feed(b"\n{}")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(line) == 32 << 20
    assert peak < 1.3 * (32 << 20)


def test_a_line_given_out_is_not_touched_again() -> None:
    """The engine keeps raw parts of messages as views of their bytes."""
    splitter = LineSplitter(100)
    splitter.feed(b"fir")
    [first] = splitter.feed(b"st\nsec")
    splitter.feed(b"ond\n")
    assert first == b"first"
