"""Whole conversations from the first byte, in any order: one outcome of the handshake, one of every request, whatever streams do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dragoman.protocol.actions import HTTP, STDIO, Close, Resume, Send, SetTimer, Traits
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import (
    AskCancelled,
    AskReceived,
    ConnectionEnded,
    ErrorReceived,
    HandshakeFailed,
    Negotiated,
    PeerViolation,
    ProgressReceived,
    RequestLost,
    ResponseUnreadable,
    ResultReceived,
    SessionLost,
)
from dragoman.protocol.refusals import Refusal
from dragoman.protocol.streams import Position
from dragoman.wire.envelope import RequestId
from dragoman.wire.revisions import ALL, LEGACY, MODERN
from tests.protocol.peers import EVERYTHING, new_client

SETTLING = (ResultReceived, ErrorReceived, ResponseUnreadable, RequestLost)
INFO = {"name": "s", "version": "1"}
STATUSES = st.sampled_from([None, None, 200, 202, 400, 401, 404, 500])
RESULTS = st.sampled_from(
    [
        {"supportedVersions": [MODERN[0]], "capabilities": EVERYTHING},
        {"supportedVersions": ["2099-01-01"], "capabilities": {}},
        *(
            {"protocolVersion": revision, "capabilities": EVERYTHING, "serverInfo": INFO}
            for revision in (LEGACY[0], LEGACY[-1], "2099-01-01")
        ),
        *({}, [], None, "x", {"resultType": "input_required"}),
    ]
)
ERRORS = st.sampled_from(
    [
        {"code": -32601, "message": "no"},
        {"code": -32022, "message": "no", "data": {"supported": [LEGACY[0]], "requested": MODERN[0]}},
        *({"code": -32000, "message": "session"}, {"code": -32600, "message": ""}, "broken", None),
    ]
)


class AnyConversation(RuleBasedStateMachine):
    """A client engine that has just begun, and a peer that does anything at any time."""

    @initialize(
        revisions=st.sampled_from([ALL, MODERN, LEGACY, (LEGACY[0],)]),
        traits=st.sampled_from([STDIO, HTTP]),
        known=st.sampled_from([None, "legacy", "modern"]),
    )
    def connect(self, revisions: tuple[str, ...], traits: Traits, known: Any) -> None:
        self.connection: Connection = new_client(revisions, traits=traits, known=known)
        self.traits = traits
        self.sent: list[RequestId] = []
        self.started: list[RequestId] = []
        self.abandoned: set[RequestId] = set()
        self.counts: Counter[type] = Counter()
        self.settled: Counter[RequestId] = Counter()
        self.asks: list[RequestId] = []
        self.timers = 0
        self.connection.begin()
        self._drain()

    def _drain(self) -> None:
        for event in self.connection.events():
            self.counts[type(event)] += 1
            if isinstance(event, SETTLING):
                self.settled[event.request_id] += 1
            elif isinstance(event, ProgressReceived):
                assert event.request_id in self.started
                assert not self.settled[event.request_id], "progress after the end"
            elif isinstance(event, AskReceived):
                self.asks.append(event.request_id)
            elif isinstance(event, AskCancelled):
                assert event.request_id in self.asks
            elif isinstance(event, PeerViolation):
                assert event.kind
                assert len(event.sample) <= 200
        for action in self.connection.actions():
            if isinstance(action, Send):
                msgspec.json.decode(action.message)
                if action.request_id is not None:
                    self.sent.append(action.request_id)
            elif isinstance(action, SetTimer):
                self.timers += 1
            elif isinstance(action, Resume):
                assert self.traits.listen_stream
            elif isinstance(action, Close):
                assert self.connection.state == "closed"

    def _receive(self, message: Any, data: st.DataObject) -> None:
        via = data.draw(st.sampled_from([None, *self.sent[-4:]])) if self.traits.request_scoped_streams else None
        status = data.draw(STATUSES) if self.traits.request_scoped_streams else None
        self.connection.receive(message if isinstance(message, bytes) else msgspec.json.encode({"jsonrpc": "2.0", **message}), via, status)
        self._drain()

    @rule(data=st.data(), result=RESULTS)
    def answers(self, data: st.DataObject, result: Any) -> None:
        if self.sent:
            self._receive({"id": data.draw(st.sampled_from(self.sent)), "result": result}, data)

    @rule(data=st.data(), error=ERRORS, null=st.booleans())
    def refuses(self, data: st.DataObject, error: Any, null: bool) -> None:
        if self.sent:
            self._receive({"id": None if null else data.draw(st.sampled_from(self.sent)), "error": error}, data)

    @rule(
        data=st.data(),
        method=st.sampled_from(["notifications/progress", "notifications/cancelled", "notifications/tools/list_changed", "n"]),
    )
    def notifies(self, data: st.DataObject, method: str) -> None:
        which = data.draw(st.sampled_from([None, 1, "q", *self.sent[-3:]]))
        params = {"progressToken": which, "requestId": which, "progress": data.draw(st.sampled_from([1, 2.5, "x", None]))}
        self._receive({"method": method, "params": params}, data)

    @rule(data=st.data(), ask_id=st.sampled_from([1, "q", None]), method=st.sampled_from(["ping", "roots/list", "elicitation/create"]))
    def asks_us(self, data: st.DataObject, ask_id: Any, method: str) -> None:
        self._receive({"id": ask_id, "method": method}, data)

    @rule(
        data=st.data(),
        garbage=st.binary(max_size=12) | st.sampled_from([b"[]", b"null", b'{"id":1,', b'{"jsonrpc":"2.0","id":2,"result":{}}{}']),
    )
    def babbles(self, data: st.DataObject, garbage: bytes) -> None:
        self._receive(garbage, data)

    @rule(data=st.data(), status=STATUSES, sent=st.booleans(), last_id=st.sampled_from([None, "", "e1"]))
    def ends_a_stream(self, data: st.DataObject, status: int | None, sent: bool, last_id: str | None) -> None:
        via = data.draw(st.sampled_from([None, *self.sent[-4:]]))
        position = None if last_id is None else Position(last_id, 0, 1.0)
        self.connection.receive_stream_end(via, Refusal("ended", status=status, sent=sent), position)
        self._drain()

    @precondition(lambda self: self.timers)
    @rule()
    def timer_runs_out(self) -> None:
        self.timers -= 1
        self.connection.tick()
        self._drain()

    @precondition(lambda self: self.connection.state == "open")
    @rule(progress=st.booleans(), notice=st.booleans())
    def we_start(self, progress: bool, notice: bool) -> None:
        if notice:
            self.connection.notify("notifications/example")  # one that every revision lets through
        self.started.append(self.connection.start_request("tools/call", {"name": "x"}, progress=progress, force=True))
        self._drain()

    @precondition(lambda self: self.started)
    @rule(data=st.data())
    def we_abandon(self, data: st.DataObject) -> None:
        request_id = data.draw(st.sampled_from(self.started))
        if not self.settled[request_id] and self.connection.state == "open":
            self.abandoned.add(request_id)
        self.connection.abandon(request_id, "enough")
        self._drain()

    @precondition(lambda self: self.asks)
    @rule(data=st.data())
    def we_answer(self, data: st.DataObject) -> None:
        self.connection.answer(data.draw(st.sampled_from(self.asks)), {})
        self._drain()

    @rule()
    def ends(self) -> None:
        self.connection.receive_eof("exited")
        self._drain()

    @invariant()
    def handshake_has_one_outcome_at_most_and_one_before_anything_is_open(self) -> None:
        assert self.counts[Negotiated] + self.counts[HandshakeFailed] <= 1
        assert self.counts[SessionLost] <= 1
        assert self.connection.state != "open" or self.counts[Negotiated] == 1

    @invariant()
    def every_request_settles_once_at_most(self) -> None:
        for request_id in self.started:
            assert self.settled[request_id] + (request_id in self.abandoned) <= 1
        assert set(self.settled) <= set(self.started), "a request that nobody made was settled"
        assert self.counts[ConnectionEnded] == (self.connection.state == "closed")

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self.connection.receive_eof("the test is over")
            self._drain()
            assert self.connection.open_requests == 0
            assert len(self.settled) + len(self.abandoned) == len(self.started)


TestAnyConversation = pytest.mark.sends_garbage(reason="toy params and answers are enough here")(AnyConversation.TestCase)
TestAnyConversation.settings = settings(max_examples=settings().max_examples * 4 // 5, stateful_step_count=30)


def test_progress_of_the_handshake_is_a_violation_and_no_progress() -> None:
    """Our choice: it was never asked for, and its request is not the user's."""
    client = new_client()
    client.begin()
    client.receive(b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}')
    [violation] = client.events()
    assert isinstance(violation, PeerViolation)
    assert violation.kind == "stray-progress"
