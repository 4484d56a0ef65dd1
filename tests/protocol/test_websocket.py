"""WebSocket frames: cuts do not matter, the limit holds while reading, and every breach is named."""

from __future__ import annotations

import os
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.protocol.bounds import SAMPLE
from dragoman.protocol.lines import Discarded
from dragoman.protocol.websocket import Ended, Found, FrameReader, Opcode, Ping, Pong, close_payload, frame


def sent(code: int, payload: bytes, *, last: bool = True, length: bytes | None = None) -> bytes:
    """A frame as a server sends it, in the shortest form (RFC 6455, 5.2)."""
    size = len(payload)
    if length is None:
        length = bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big")
    return bytes(((0x80 if last else 0) | code,)) + length + payload


def read(chunks: list[bytes], limit: int = 100_000) -> list[Found]:
    reader = FrameReader(limit)
    return [bytes(one) if isinstance(one, bytearray) else one for chunk in chunks for one in reader.feed(chunk)]


def cut(data: bytes, places: list[int]) -> list[bytes]:
    borders = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[first:last] for first, last in pairwise(borders)]


MESSAGES = st.lists(st.lists(st.binary(max_size=300) | st.just(b"x" * 70_000), min_size=1, max_size=3), max_size=5)


@given(MESSAGES, st.lists(st.integers(0, 1 << 20), max_size=12), st.booleans())
def test_messages_arrive_whole_however_they_are_cut(messages: list[list[bytes]], places: list[int], between: bool) -> None:
    """RFC 6455, 5.4: a message in several frames, control frames between them, chunks of any size."""
    data, expected = b"", list[Found]()
    for parts in messages:
        for number, part in enumerate(parts):
            data += sent(Opcode.CONTINUATION if number else Opcode.TEXT, part, last=number == len(parts) - 1)
            if between:
                data += sent(Opcode.PING, b"p")
                if number < len(parts) - 1:
                    expected.append(Ping(b"p"))
        expected.append(b"".join(parts))
        if between:
            expected.append(Ping(b"p"))
    assert read(cut(data, places), limit=1 << 20) == expected


@pytest.mark.parametrize("parts", [1, 3])
def test_message_over_the_limit_is_lost_alone_and_told_with_both_ends(parts: int) -> None:
    """Our choice: other readers close the connection (1009), which costs every call in flight."""
    whole = b"<" + b"m" * 5998 + b">"
    size = len(whole) // parts
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    data = b"".join(sent(1 if not n else 0, piece, last=n == len(pieces) - 1) for n, piece in enumerate(pieces)) + sent(1, b"next")
    assert read([data], limit=5999) == [Discarded(whole[:SAMPLE], whole[-SAMPLE:], 6000), b"next"]
    assert read([data], limit=6000) == [whole, b"next"]
    assert read([bytes((byte,)) for byte in data], limit=5999) == [Discarded(whole[:SAMPLE], whole[-SAMPLE:], 6000), b"next"]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_no_bytes_of_a_server_raise_and_what_is_held_stays_within_the_limit(chunks: list[bytes]) -> None:
    """Whatever arrives is a message, a control frame or an end, and after an end there is nothing."""
    reader, ended = FrameReader(64), False
    for chunk in chunks:
        for found in reader.feed(chunk):
            assert not ended
            ended = isinstance(found, Ended)
            assert isinstance(found, Discarded | Ended | Ping | Pong) or len(found) <= 64


def test_memory_is_bounded_by_the_limit_not_by_what_a_frame_claims() -> None:
    """A head of ten bytes may claim eight exabytes; what follows it is thrown away as it comes."""
    reader = FrameReader(1 << 16)
    tracemalloc.start()
    try:
        assert reader.feed(b"\x81\x7f" + (1 << 62).to_bytes(8, "big")) == []
        chunk = bytes(1 << 16)
        for _ in range(200):
            assert reader.feed(chunk) == []
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xc1\x00", "a reserved bit is set, and no extension was agreed on"),
        (b"\x81\x80\x00\x00\x00\x00", "a frame of a server is masked"),
        (b"\x83\x00", "unknown opcode 3"),
        (b"\x09\x00", "a control frame is in parts or over 125 bytes"),
        (b"\x89\x7e\x00\x7e", "a control frame is in parts or over 125 bytes"),
        (b"\x80\x00", "a continuation of nothing"),
        (b"\x01\x01x\x81\x01y", "a message begins in the middle of another"),
        (b"\x88\x01x", "a close frame of one byte"),
    ],
)
def test_breach_of_the_framing_is_named_and_nothing_is_read_after_it(data: bytes, reason: str) -> None:
    """RFC 6455, 5.1 to 5.5: fail the connection; 1002."""
    assert read([data + sent(1, b"after"), sent(1, b"later")]) == [Ended(1002, reason, broken=True)]


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (b"", "1005 (no code)"),
        (close_payload(1000), "1000 (normal closure)"),
        (close_payload(1011, "out of beans"), "1011 (internal error): out of beans"),
        (close_payload(4001, "no"), "4001 (of its own): no"),
        (close_payload(1099), "1099 (unknown)"),
    ],
)
def test_close_codes_have_names(payload: bytes, said: str) -> None:
    """RFC 6455, 7.4; 4000 to 4999 belong to applications."""
    (ended,) = read([sent(8, payload)])
    assert isinstance(ended, Ended)
    assert not ended.broken
    assert str(ended) == said


def test_close_text_is_cut_to_what_a_frame_holds_at_a_whole_character() -> None:
    """RFC 6455, 5.5: 125 bytes, two of them the code."""
    payload = close_payload(1000, "é" * 100)
    assert payload[2:].decode() == "é" * 61


@given(st.binary(max_size=400) | st.just(b"y" * 65_535) | st.just(b"y" * 65_536))
def test_frame_of_ours_is_masked_and_can_be_read_back(payload: bytes) -> None:
    """RFC 6455, 5.3: the transformation is its own inverse."""
    mask = os.urandom(4)
    data = frame(Opcode.TEXT, payload, mask)
    assert data[1] & 0x80
    length = data[1] & 0x7F
    start = 2 + (2 if length == 126 else 8 if length == 127 else 0)
    assert data[start : start + 4] == mask
    plain = bytes(byte ^ mask[n % 4] for n, byte in enumerate(data[start + 4 :]))
    assert plain == payload
    assert read([sent(Opcode.TEXT, plain), sent(Opcode.PONG, b"!")]) == [payload, Pong(b"!")]
