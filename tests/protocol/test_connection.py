"""Every request settles exactly once, whatever happens in whatever order; and what the engine wants to be sent."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import HTTP, STDIO, CloseStream, Send, SetTimer, Traits
from dragoman.protocol.asks import MAX_OPEN_ASKS
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import (
    AskCancelled,
    AskReceived,
    ConnectionEnded,
    ErrorReceived,
    RequestLost,
    ResponseUnreadable,
    ResultReceived,
)
from dragoman.protocol.refusals import Refusal
from dragoman.wire.envelope import RequestId
from dragoman.wire.revisions import LEGACY, MODERN
from tests.protocol.peers import feed, kinds, new_client, open_client, sent

SETTLING = (ResultReceived, ErrorReceived, ResponseUnreadable, RequestLost)


class EveryRequestSettlesOnce(RuleBasedStateMachine):
    """Requests, answers of every sort, duplicates, garbage, cancellations, stream ends and the end, in any order."""

    @initialize(revision=st.sampled_from([LEGACY[0], "2025-03-26", MODERN[0]]), traits=st.sampled_from([STDIO, HTTP]))
    def connect(self, revision: str, traits: Traits) -> None:
        self.connection: Connection = open_client(revision, traits=traits)
        self.traits = traits
        self.started: list[RequestId] = []
        self.abandoned: set[RequestId] = set()
        self.settled: Counter[RequestId] = Counter()
        self.asks: list[RequestId] = []
        self.ended = 0

    def _drain(self) -> None:
        for event in self.connection.events():
            if isinstance(event, SETTLING):
                self.settled[event.request_id] += 1
            elif isinstance(event, AskReceived):
                self.asks.append(event.request_id)
            elif isinstance(event, ConnectionEnded):
                self.ended += 1
        for action in self.connection.actions():
            if isinstance(action, Send):
                msgspec.json.decode(action.message)

    def _via(self, data: st.DataObject, request_id: RequestId) -> RequestId | None:
        if not self.traits.request_scoped_streams:
            return None
        return data.draw(st.sampled_from([None, request_id, *self.started[-3:]]))

    @precondition(lambda self: self.connection.state == "open")
    @rule(method=st.sampled_from(["tools/call", "prompts/get", "server/discover"]), progress=st.booleans())
    def start(self, method: str, progress: bool) -> None:
        self.started.append(self.connection.start_request(method, {"name": "x"}, progress=progress))
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data(), member=st.sampled_from(["result", "error", "both", "neither", "odd"]), spelled=st.sampled_from([int, str, float]))
    def answer(self, data: st.DataObject, member: str, spelled: type) -> None:
        request_id = data.draw(st.sampled_from(self.started))
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": spelled(request_id)}
        if member in ("result", "both"):
            message["result"] = {"x": 1}
        if member in ("error", "both"):
            message["error"] = {"code": -1, "message": "no"}
        if member == "odd":
            message["error"] = "broken"
        self.connection.receive(msgspec.json.encode(message), self._via(data, request_id))
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def answer_that_cannot_be_read(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(self.started))
        head = b'{"jsonrpc":"2.0","id":%d,"result":{"a":' % int(request_id)
        if data.draw(st.booleans()):
            self.connection.receive_oversized(head, b"}}", 10**9, 10**6, self._via(data, request_id))
        else:
            self.connection.receive(head + b"oops", self._via(data, request_id))
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def batch(self, data: st.DataObject) -> None:
        ids = data.draw(st.lists(st.sampled_from(self.started), max_size=4))
        self.connection.receive(msgspec.json.encode([{"jsonrpc": "2.0", "id": one, "result": {}} for one in ids]))
        self._drain()

    @rule(garbage=st.binary(max_size=30) | st.sampled_from([b'{"id":2,"result":', b'{"id":null,"error":{}}', b'{"method":"n/x"}']))
    def receive_garbage(self, garbage: bytes) -> None:
        self.connection.receive(garbage)
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def abandon(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(self.started))
        if not self.settled[request_id] and self.connection.state == "open":
            self.abandoned.add(request_id)
        self.connection.abandon(request_id, "enough")
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data(), was_sent=st.booleans())
    def end_stream(self, data: st.DataObject, was_sent: bool) -> None:
        self.connection.receive_stream_end(data.draw(st.sampled_from(self.started)), Refusal("reset", sent=was_sent))
        self._drain()

    @rule(ask_id=st.integers(0, 4) | st.sampled_from(["a", "1"]), method=st.sampled_from(["ping", "roots/list", "x"]))
    def server_asks(self, ask_id: int | str, method: str) -> None:
        self.connection.receive(msgspec.json.encode({"jsonrpc": "2.0", "id": ask_id, "method": method}))
        self._drain()

    @precondition(lambda self: self.asks)
    @rule(data=st.data())
    def we_answer(self, data: st.DataObject) -> None:
        self.connection.answer(data.draw(st.sampled_from(self.asks)), {})
        self._drain()

    @rule(target_id=st.integers(0, 6))
    def server_cancels(self, target_id: int) -> None:
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": target_id}}
        self.connection.receive(msgspec.json.encode(message))
        self._drain()

    @rule(ours=st.booleans())
    def end(self, ours: bool) -> None:
        if ours:
            self.connection.close()
        else:
            self.connection.receive_eof("exited")
        self._drain()

    @invariant()
    def nothing_settles_twice(self) -> None:
        for request_id in self.started:
            assert self.settled[request_id] + (request_id in self.abandoned) <= 1, request_id
        assert set(self.settled) <= set(self.started)

    @invariant()
    def what_is_open_is_what_has_not_settled(self) -> None:
        done = len(self.settled) + len(self.abandoned)
        assert self.connection.open_requests == len(self.started) - done

    @invariant()
    def nothing_is_open_after_the_end(self) -> None:
        assert self.ended == (self.connection.state == "closed")
        assert self.connection.state == "open" or self.connection.open_requests == 0

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.receive_eof("the test is over")
            self._drain()
            assert len(self.settled) + len(self.abandoned) == len(self.started)


TestEveryRequestSettlesOnce = pytest.mark.sends_garbage(reason="toy params and answers are enough here")(EveryRequestSettlesOnce.TestCase)
TestEveryRequestSettlesOnce.settings = settings(max_examples=settings().max_examples * 3 // 5, stateful_step_count=30)


@pytest.mark.parametrize(
    ("revision", "traits", "expected"),
    [
        (LEGACY[0], STDIO, [Send]),
        (MODERN[0], STDIO, [Send]),
        (LEGACY[0], HTTP, [CloseStream, Send]),
        (MODERN[0], HTTP, [CloseStream]),
    ],
)
def test_cancelling_is_a_notice_or_a_closed_stream_as_era_and_transport_want(revision: str, traits: Traits, expected: list[type]) -> None:
    """MCP basic/patterns/cancellation."""
    client = open_client(revision, traits=traits)
    request_id = client.start_request("tools/call", {"name": "t"})
    client.actions()
    client.abandon(request_id, "r" * 500)
    actions = client.actions()
    assert [type(action) for action in actions] == expected
    if isinstance(actions[-1], Send):
        assert msgspec.json.decode(actions[-1].message)["params"] == {"requestId": request_id, "reason": "r" * 200}


def test_handshake_requests_never_show_as_requests_of_the_user() -> None:
    client = new_client()
    client.begin()
    client.receive_eof("gone")
    assert client.events() == [ConnectionEnded("gone")]


def test_timer_is_asked_for_and_ticking_late_does_no_harm() -> None:
    client = new_client()
    client.begin()
    assert [type(action) for action in client.actions()] == [Send, SetTimer]
    client.tick()
    assert [message["method"] for message in sent(client)] == ["initialize"]
    client.receive_eof("gone")
    client.tick()
    assert client.actions() == []


def test_nothing_may_be_sent_before_the_handshake_is_over() -> None:
    client = new_client()
    client.begin()
    with pytest.raises(LocalProtocolError, match="handshaking"):
        client.start_request("tools/list")


def test_too_many_asks_at_once_are_refused_and_the_others_kept() -> None:
    """A server must not make us hold any number of its questions."""
    client = open_client()
    for number in range(MAX_OPEN_ASKS + 3):
        feed(client, {"id": number, "method": "roots/list"})
    refused = [message["id"] for message in sent(client)]
    assert refused == [MAX_OPEN_ASKS, MAX_OPEN_ASKS + 1, MAX_OPEN_ASKS + 2]
    client.answer(0, {"roots": []})
    assert [type(event) for event in feed(client, {"id": "next", "method": "roots/list"})] == [AskReceived]


def test_ask_under_an_id_that_is_in_use_is_counted_and_not_taken() -> None:
    client = open_client()
    feed(client, {"id": 1, "method": "roots/list"})
    assert kinds(feed(client, {"id": 1, "method": "roots/list"})) == ["twice"]


def test_ask_is_answered_once_and_not_after_it_was_cancelled() -> None:
    client = open_client()
    feed(client, {"id": "a", "method": "roots/list"})
    assert feed(client, {"method": "notifications/cancelled", "params": {"requestId": "a"}}) == [AskCancelled("a")]
    client.answer("a", {})
    client.answer("never asked", {})
    assert client.actions() == []


def test_request_with_a_null_id_is_counted_and_its_name_cut() -> None:
    client = open_client()
    (event,) = feed(client, {"id": None, "method": "m" * 10_000})
    assert kinds([event]) == ["null-id"]
    assert len(repr(event)) < 600


def test_messages_after_the_end_change_nothing() -> None:
    client = open_client()
    client.receive_eof("gone")
    client.events()
    client.receive(b'{"jsonrpc":"2.0","id":2,"method":"roots/list"}')
    client.receive_eof("again")
    client.close()
    assert (client.events(), client.actions()) == ([], [])


def test_modern_requests_over_http_carry_their_headers() -> None:
    client = open_client(MODERN[0], traits=HTTP)
    client.start_request("tools/call", {"name": "größe"}, headers=(("Mcp-Param-Region", "eu"),))
    (send,) = client.actions()
    assert isinstance(send, Send)
    assert dict(send.headers) == {
        "MCP-Protocol-Version": MODERN[0],
        "Mcp-Method": "tools/call",
        "Mcp-Name": "=?base64?Z3LDtsOfZQ==?=",
        "Mcp-Param-Region": "eu",
    }
