"""Reading what peers really send: what strict reading refuses is mended, or ends just the request it was meant to answer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.protocol import inbound
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import NoticeReceived, ResponseUnreadable, ResultReceived
from dragoman.protocol.inbound import read_strictly, recover, response_id
from tests.protocol.peers import kinds, open_client, others

ANSWER = b'{"jsonrpc":"2.0","id":2,"result":{"text":"hi"}}'
NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'


def waiting(revision: str = "2025-11-25") -> Connection:
    """With request 2 open."""
    client = open_client(revision)
    client.start_request("tools/call", {"name": "t"})
    client.actions()
    return client


def test_well_formed_message_takes_the_short_road_without_a_violation() -> None:
    client = waiting()
    client.receive(ANSWER)
    (event,) = client.events()
    assert isinstance(event, ResultReceived)
    assert bytes(event.result) == b'{"text":"hi"}'


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"INFO took 3 ms " + ANSWER, "glued"),
        (ANSWER + b" INFO took 3 ms", "glued"),
        (b'INFO {ada} {} {"id": oops ' + ANSWER + b" end", "glued"),
        (b"\xef\xbb\xbf" + ANSWER, "bom"),
        (ANSWER.replace(b"hi", b"h\x97"), "bad-utf8"),
        (b"\x97 " + ANSWER, "bad-utf8"),
        (ANSWER.replace(b'"hi"', b"NaN"), "bad-json"),
        (ANSWER.replace(b'"hi"', b"[Infinity, -Infinity]"), "bad-json"),
        (ANSWER.replace(b'"id":2', b'"id":2.0'), "bad-json"),
    ],
)
def test_answer_that_is_not_quite_one_is_recovered_and_counted(line: bytes, kind: str) -> None:
    """Each of these has been seen; on most of them a naive client waits for ever."""
    client = waiting()
    client.receive(line)
    events = client.events()
    (event,) = others(events)
    assert isinstance(event, ResultReceived)
    assert event.request_id == 2
    assert kind in kinds(events)
    msgspec.json.decode(event.result)


@pytest.mark.parametrize("surrogate", [rb"\ud83d", rb"\udc00 x", rb"\ud83d\ud83d"])
def test_lone_surrogate_is_replaced_and_the_answer_can_be_read(surrogate: bytes) -> None:
    """Valid JSON by grammar, no Unicode text. The envelope may be read strictly; what counts is that the result decodes."""
    client = waiting()
    client.receive(ANSWER.replace(b"hi", b"half " + surrogate))
    (event,) = others(client.events())
    assert isinstance(event, ResultReceived | ResponseUnreadable)
    assert client.open_requests == 0


def test_two_messages_on_one_line_are_two_messages() -> None:
    client = waiting()
    client.receive(ANSWER + NOTE)
    assert [type(event) for event in others(client.events())] == [ResultReceived, NoticeReceived]


def test_message_inside_a_result_is_text_and_not_a_message() -> None:
    """A result may quote a whole conversation; only the outermost object counts."""
    client = waiting()
    inner = json.dumps({"quoted": ANSWER.decode(), "nested": {"id": 3, "result": {}}})
    client.start_request("tools/call", {"name": "u"})
    client.receive(b'log {"jsonrpc":"2.0","id":2,"result":' + inner.encode() + b"}")
    (event,) = others(client.events())
    assert isinstance(event, ResultReceived)
    assert event.request_id == 2


@pytest.mark.parametrize("last", [False, True], ids=["id-first", "id-last"])
def test_deep_nesting_ends_just_that_request(last: bool) -> None:
    """20,000 levels: no overflow, no silence."""
    client = waiting()
    client.start_request("tools/call", {"name": "other"})
    deep = b'{"x":' * 20_000 + b"1" + b"}" * 20_000
    client.receive(b'{"jsonrpc":"2.0","result":%b,"id":2}' % deep if last else b'{"jsonrpc":"2.0","id":2,"result":%b}' % deep)
    events = client.events()
    (event,) = others(events)
    assert isinstance(event, ResponseUnreadable)
    assert (event.request_id, event.reason) == (2, "it is nested too deeply")
    assert client.open_requests == 1


@pytest.mark.parametrize(
    ("head", "tail", "found"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"a', b'xxx"}}', 7),
        (b'{"id" : "s\\u0041-1" , "jsonrpc":"2.0", "error":{', b"", "sA-1"),
        (b'{"jsonrpc":"2.0","result":{"a', b'xxx"},"id":7}', 7),
        (b'{"result":{"a', b'xxx"}, "id": 7, "jsonrpc": "2.0" }\n', 7),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{', b"", None),
        (b'{"jsonrpc":"2.0","id":12345678901234567890123,"result":{', b"", None),
        (b'{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{', b"}}", None),
        (b'{"jsonrpc":"2.0","result":{"x":{"id":9', b'"id":9}}}', None),
        (b'{"jsonrpc":"2.0","result":{"x":"', b'say \\"id\\":9}', None),
        (b"a log line about id", b"", None),
        (b"", b"", None),
    ],
)
def test_id_of_a_response_is_read_from_its_edges(head: bytes, tail: bytes, found: Any) -> None:
    """Only before the result, or as the last member; text inside a result is never believed."""
    assert response_id(head, tail) == found


@pytest.mark.parametrize("position", ["first", "last"])
def test_oversized_answer_ends_just_its_request_wherever_the_id_stands(position: str) -> None:
    client = waiting()
    client.start_request("tools/call", {"name": "other"})
    head, tail = (
        (b'{"jsonrpc":"2.0","id":2,"result":{"x', b'x"}}') if position == "first" else (b'{"jsonrpc":"2.0","result":{"x', b'x"},"id":2}')
    )
    client.receive_oversized(head, tail, 200, 100)
    events = client.events()
    assert kinds(events) == ["oversized"]
    assert others(events) == [ResponseUnreadable(2, "the answer is 200 bytes, limit 100", 200)]
    assert client.open_requests == 1


def test_oversized_request_or_notice_settles_nothing() -> None:
    client = waiting()
    client.receive_oversized(b'{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage"', b"}}", 200, 100)
    assert others(client.events()) == []
    assert client.open_requests == 1


@pytest.mark.parametrize(("revision", "expected"), [("2025-03-26", []), ("2025-06-18", ["batch"]), ("2025-11-25", ["batch"])])
def test_batch_is_taken_apart_and_counted_only_where_there_are_none(revision: str, expected: list[str]) -> None:
    """MCP 2025-03-26: receiving is mandatory; 2025-06-18 removed them. No caller waits for ever."""
    client = waiting(revision)
    client.receive(b"[" + NOTE + b"," + ANSWER + b"," + NOTE + b"]")
    events = client.events()
    assert kinds(events) == expected
    assert [type(event) for event in others(events)] == [NoticeReceived, ResultReceived, NoticeReceived]


def test_every_unreadable_answer_in_a_batch_ends_its_request() -> None:
    client = waiting("2025-03-26")
    client.start_request("tools/call", {"name": "u"})
    client.receive(b'[{"jsonrpc":5,"id":2,"result":{}},{"jsonrpc":5,"id":3,"result":{}}]')
    assert [event.request_id for event in client.events() if isinstance(event, ResponseUnreadable)] == [2, 3]


@pytest.mark.parametrize("count", [5_000, 2_000_000])
def test_array_of_rubbish_is_reported_briefly_and_not_taken_apart_when_it_is_huge(count: int) -> None:
    """One line must not make a million events, nor objects."""
    client = waiting("2025-03-26")
    client.receive(b"[" + b"1," * count + ANSWER + b",[[]]]")
    events = client.events()
    assert [type(event) for event in others(events)] == [ResultReceived]
    assert set(kinds(events)) <= {"noise", "glued"}
    assert len(events) <= 20


@pytest.mark.parametrize("noise", [b"", b"  \t ", b"\r"])
def test_blank_lines_are_nothing(noise: bytes) -> None:
    client = waiting()
    client.receive(noise)
    assert client.events() == []


@pytest.mark.parametrize(
    "noise", [b"42", b"null", b'"ready"', b"[]", b"}", b"{}", b'{"level":"info"}', b"Starting...", b'{"id":5', b"\xff\xfe"]
)
def test_what_is_no_message_is_counted_and_skipped(noise: bytes) -> None:
    client = waiting()
    client.receive(noise)
    events = client.events()
    assert others(events) == []
    assert kinds(events)
    assert client.open_requests == 1


def test_line_made_of_false_starts_does_not_cost_its_length_squared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: each try goes over all the rest of the line, so there may be a few of them and not one for each start."""
    tries: list[int] = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
            tries.append(idx)
            return super().raw_decode(s, idx)

    monkeypatch.setattr("dragoman.protocol.inbound.json.JSONDecoder", Counting)
    line = (b'{"id": [' + b"1," * 100) * 60
    assert recover(line).messages == ()
    assert 1 <= len(tries) <= 8


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | json_values,
        "id": st.sampled_from([1, 2, 3, "2", None, 2.0]) | json_values,
        "method": st.sampled_from(["notifications/progress", "notifications/cancelled", "ping", "notifications/initialized"]) | json_values,
        "params": st.dictionaries(st.sampled_from(["progressToken", "progress", "requestId", "_meta"]), json_values) | json_values,
        "result": json_values,
        "error": st.fixed_dictionaries({}, optional={"code": json_values, "message": json_values, "data": json_values}) | json_values,
    },
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A message, or a batch, with some of its bytes changed, lost or put in."""
    value = draw(members | st.lists(members, max_size=3))
    data = bytearray(json.dumps(value, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass"))
    for _ in range(draw(st.integers(0, 3))):
        position = draw(st.integers(0, len(data)))
        match draw(st.integers(0, 2)):
            case 0:
                data[position : position + 1] = draw(st.binary(min_size=1, max_size=1))
            case 1:
                del data[position : position + draw(st.integers(1, 4))]
            case _:
                data[position:position] = draw(st.binary(max_size=4))
    return bytes(data)


def check_any(data: bytes, revision: str) -> None:
    client = waiting(revision)
    client.receive(data)
    settled = [event for event in client.events() if getattr(event, "request_id", None) == 2 and not hasattr(event, "progress")]
    assert client.open_requests == 1 or settled
    for action in client.actions():
        msgspec.json.decode(action.message)  # type: ignore[union-attr]  # a client that is open only sends
    client.receive(ANSWER)
    client.receive_eof("over")
    assert client.open_requests == 0


@given(st.binary(max_size=200), st.sampled_from(["2025-03-26", "2025-11-25", "2026-07-28"]))
@example(b'[{"id":2,"result":1}]', "2025-11-25")
def test_no_bytes_make_the_engine_raise_or_lose_a_request(data: bytes, revision: str) -> None:
    check_any(data, revision)


@given(mutated(), st.sampled_from(["2025-03-26", "2025-11-25", "2026-07-28"]))
@example(b'{"jsonrpc": "2.0", "id": "\x00", "error": {}}', "2025-03-26")
@example(b'{"jsonrpc": "2.0", "id": "\\q", "error": {}}', "2025-03-26")
@example(b'{"jsonrpc": "2.0", "id": "\xff", "error": {}}', "2025-11-25")
def test_no_damaged_message_makes_the_engine_raise_or_lose_a_request(data: bytes, revision: str) -> None:
    check_any(data, revision)


@given(mutated())
def test_what_is_recovered_can_be_decoded_strictly(data: bytes) -> None:
    """Nothing that comes after has to be as lenient again."""
    for envelope in recover(data).messages:
        assert read_strictly(msgspec.json.encode(envelope)) is not None


@given(members)
def test_server_engine_survives_any_message_too(message: dict[str, Any]) -> None:
    from dragoman.testing.pair import ConnectionPair

    pair = ConnectionPair.opened("2025-11-25")
    pair.server.receive(json.dumps(message).encode())
    pair.take()


@pytest.mark.parametrize("noise", [b"x", b"log text", "gr\u00fc\u00dfe".encode()])
def test_log_text_is_counted_without_being_searched_for_messages(noise: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server may write any amount of it: it costs one look for a bracket."""
    monkeypatch.delattr(inbound, "_objects")
    monkeypatch.delattr(inbound, "response_id")
    client = waiting()
    client.receive(noise)
    assert kinds(client.events()) == ["noise"]


def test_answer_that_lost_its_first_byte_still_ends_its_request() -> None:
    """A line without any bracket can hold an id."""
    client = waiting()
    client.receive(b'"jsonrpc":"2.0","id":2,"result":5}')
    assert [type(event) for event in others(client.events())] == [ResponseUnreadable]


def test_broken_answer_that_is_very_long_ends_its_request_and_is_not_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mending reads with Python's own reader: a hundred megabytes would stop everything else for half a minute."""
    monkeypatch.setattr(inbound, "_MAX_MENDED", 1_000)
    long = b'{"jsonrpc":"2.0","id":7,"result":[NaN, "' + b"x" * 1_000 + b'"]}'
    assert recover(long[:900] + b'"]}').messages
    found = recover(long)
    assert not found.messages
    assert [one.request_id for one in found.unreadable] == [7]
    assert "too long to be mended" in found.unreadable[0].reason
    assert recover(b"noise " * 1_000).notes == (("noise", "not a JSON-RPC message"),)
