"""The engine over legacy HTTP: the session, the stream for what belongs to no request, and streams that are continued. No sockets."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.protocol.actions import HTTP, Listen, Resume, Send
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import (
    AskReceived,
    ErrorReceived,
    NoticeReceived,
    PeerViolation,
    RequestLost,
    ResultReceived,
    SessionLost,
)
from dragoman.protocol.handshake import Identity
from dragoman.protocol.streams import MAX_TRIES, STEADY_S, Position
from dragoman.transports.base import Received, Report, StreamEnded
from dragoman.wire.envelope import RequestId
from dragoman.wire.listing import Implementation
from tests.transports.fakes import Bench

REVISION = "2025-11-25"
VERSION = ("MCP-Protocol-Version", REVISION)
INITIALIZED: dict[str, Any] = {
    "protocolVersion": REVISION,
    "capabilities": {"tools": {}, "logging": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


def open_bench() -> Bench:
    bench = Bench(Connection(Role.CLIENT, Identity(Implementation("tester", "1"), {"roots": {}}), traits=HTTP, known="legacy"))
    bench.connection.begin()
    bench.pump()
    (init,) = bench.fake.streams
    bench.fake.answer(init, INITIALIZED)
    bench.fake.end(init)
    bench.take()
    return bench


def call(bench: Bench) -> RequestId:
    request_id = bench.connection.start_request("tools/call", {"name": "a", "arguments": {}})
    bench.pump()
    return request_id


def end(bench: Bench, via: RequestId | None, position: Position | None = None, **facts: Any) -> list[Any]:
    """End a stream; the events of that."""
    report: Report = StreamEnded(via, facts.pop("reason", "the stream ended"), position=position, **facts)
    bench._on_report(report)
    return bench.take()


def say(bench: Bench, message: bytes, via: RequestId | None = None, status: int | None = None) -> list[Any]:
    bench._on_report(Received(message, via, status))
    return bench.take()


def answer_to(request_id: RequestId) -> bytes:
    return f'{{"jsonrpc":"2.0","id":{request_id},"result":{{}}}}'.encode()


def resumed(bench: Bench) -> Resume:
    """What was asked for last, which must be to continue a stream."""
    action = bench.fake.gets[-1]
    assert isinstance(action, Resume)
    return action


# --- session and headers


def test_initialize_opens_the_session_and_carries_no_version_and_all_else_belongs_to_it() -> None:
    """MCP 2025-11-25 basic/transports#session-management and #protocol-version-header: on every message after initialize."""
    bench = open_bench()
    call(bench)
    bench.connection.notify("notifications/roots/list_changed")
    (ask,) = say(bench, b'{"jsonrpc":"2.0","id":"s1","method":"roots/list"}')
    bench.connection.answer(ask.request_id, {"roots": []})
    bench.pump()
    init, initialized, *rest = bench.fake.sent
    assert (init.session, init.headers) == ("opens", ())
    assert (initialized.session, initialized.headers) == ("confirms", (VERSION,))  # nothing may overtake it
    assert len(rest) == 3
    assert {(send.session, send.headers) for send in rest} == {("within", (VERSION,))}


def test_probe_and_the_stateless_era_know_of_no_session() -> None:
    """MCP 2026-07-28 streamable-http#backward-compat."""
    bench = Bench(Connection(Role.CLIENT, Identity(Implementation("tester", "1")), traits=HTTP))
    bench.connection.begin()
    bench.pump()
    bench.fake.answer(1, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
    bench.take()
    call(bench)
    assert [send.session for send in bench.fake.sent] == ["none", "none"]
    assert bench.fake.gets == []
    assert end(bench, 2, Position("e1", 10)) == [RequestLost(2, "the stream ended")]  # nothing is continued either


def test_listening_starts_right_after_initialized_where_the_transport_can() -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server."""
    bench = open_bench()
    assert bench.fake.gets == [Listen((VERSION,))]
    plain = Connection(Role.CLIENT, Identity(Implementation("tester", "1")), known="legacy")
    plain.begin()
    plain.actions()
    plain.receive(b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}')
    assert [type(action) for action in plain.actions()] == [Send]


# --- requests whose stream ends


def test_clean_end_after_an_event_id_is_continued_after_the_time_asked_for_and_the_answer_counts() -> None:
    """MCP 2025-11-25 basic/transports#sending-messages: the server may close a stream at will, and the client polls."""
    bench = open_bench()
    request_id = call(bench)
    assert end(bench, request_id, Position("e1", 500)) == []
    assert resumed(bench) == Resume(request_id, "e1", 0.5)
    assert end(bench, request_id, Position()) == []  # the first continuation brought nothing
    assert resumed(bench) == Resume(request_id, "e1", 0.5)
    assert end(bench, request_id, Position("e2")) == []
    assert resumed(bench) == Resume(request_id, "e2", 0.5)  # the newest id
    answer = answer_to(request_id)
    (event,) = say(bench, answer, request_id)
    assert isinstance(event, ResultReceived)
    assert say(bench, answer, request_id) == []  # replayed
    assert end(bench, request_id, Position("e3")) == []
    assert len(bench.fake.gets) == 4


def test_stream_without_an_id_or_cut_before_its_first_event_loses_the_request() -> None:
    """MCP 2025-11-25 basic/transports#resumability-and-redelivery: there is nothing to name; a request is never repeated."""
    bench = open_bench()
    first, second = call(bench), call(bench)
    assert end(bench, first, Position("", 10)) == [RequestLost(first, "the stream ended")]
    assert end(bench, second, reason="reset") == [RequestLost(second, "reset")]
    assert len(bench.fake.gets) == 1


def test_continuing_is_given_up_after_some_tries_in_a_row_without_progress_and_may_have_run() -> None:
    """Our choice: five; also where the server cannot be reached, and then with longer and longer waits."""
    bench = open_bench()
    quiet, gone = call(bench), call(bench)
    end(bench, quiet, Position("e1"))
    waits = []
    for _ in range(MAX_TRIES):
        assert end(bench, quiet, Position("e1")) == []
        waits.append(resumed(bench).after_s)
    assert waits == [1, 2, 4, 8, 16]
    assert end(bench, quiet, Position("e1")) == [RequestLost(quiet, "its stream could not be continued: the stream ended")]
    end(bench, gone, Position("e1", 3000))
    waits = []
    for _ in range(MAX_TRIES):
        assert end(bench, gone, reason="refused", sent=False) == []
        waits.append(resumed(bench).after_s)
    assert waits == [3, 3, 4, 8, 16]
    # It was the continuation that never left; the request itself did long ago.
    assert end(bench, gone, reason="refused", sent=False) == [RequestLost(gone, "its stream could not be continued: refused", True)]


@pytest.mark.parametrize("position", [Position("e2"), Position("", None, STEADY_S)])
def test_progress_gives_all_tries_back(position: Position) -> None:
    """Our choice: a new id, or a stream that lasted."""
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1"))
    for _ in range(MAX_TRIES):
        end(bench, request_id, Position())
    assert end(bench, request_id, position) == []
    for _ in range(MAX_TRIES):
        assert end(bench, request_id, Position()) == []


def test_continuation_that_is_refused_ends_the_request_at_once() -> None:
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1"))
    assert end(bench, request_id, status=405) == [
        RequestLost(request_id, "its stream could not be continued: the stream ended", True, status=405)
    ]


def test_answer_on_another_stream_closes_the_continuation() -> None:
    """MCP 2025-11-25 basic/transports#resumability-and-redelivery: a resumed stream may carry the answer of an earlier POST."""
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1"))
    (event,) = say(bench, answer_to(request_id))
    assert isinstance(event, ResultReceived)
    assert bench.fake.closed_streams == [request_id]


def test_abandoned_request_is_cancelled_by_a_notice_and_its_stream_not_continued() -> None:
    """MCP 2025-11-25 basic/transports#sending-messages: a closed stream is no cancellation."""
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1"))
    bench.connection.abandon(request_id, "enough")
    assert bench.take() == []
    assert bench.fake.closed_streams == [request_id]
    assert b"notifications/cancelled" in bench.fake.sent[-1].message
    say(bench, b'{"jsonrpc":"2.0","method":"notifications/x"}')
    assert bench.fake.closed_streams == [request_id]  # once
    assert end(bench, request_id, Position("e2")) == []
    assert len(bench.fake.gets) == 2


@pytest.mark.parametrize(("retry_ms", "after_s"), [(0, 0.1), (250, 0.25), (10**15, 24 * 3600)])
def test_time_asked_for_is_kept_within_reason(retry_ms: int, after_s: float) -> None:
    """Our choice: a tenth of a second, so that it cannot spin, to a day."""
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1", retry_ms))
    assert resumed(bench).after_s == after_s


# --- what belongs to no request


def test_messages_of_no_request_arrive_on_the_listening_stream() -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server."""
    bench = open_bench()
    events = say(bench, b'{"jsonrpc":"2.0","id":"s1","method":"roots/list"}')
    events += say(bench, b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    assert [type(event) for event in events] == [AskReceived, NoticeReceived]


@pytest.mark.parametrize("status", [405, 200, 404, 401, 400])
def test_listening_stream_that_is_not_offered_is_asked_for_once(status: int) -> None:
    """MCP 2025-11-25 basic/transports#listening-for-messages-from-the-server: 405; and a page for people, whatever its status."""
    bench = open_bench()
    events = end(bench, None, status=status)
    assert all(isinstance(event, SessionLost) for event in events)
    assert len(bench.fake.gets) == 1
    assert end(bench, None, Position("e9")) == []  # none is open any more
    assert len(bench.fake.gets) == 1


def test_listening_stream_that_ends_is_opened_again_where_it_was_and_quietly_given_up() -> None:
    """MCP 2025-11-25 basic/transports#resumability-and-redelivery; five tries in a row without progress are our choice."""
    bench = open_bench()
    end(bench, None, Position("g1", 700))
    assert resumed(bench) == Resume(None, "g1", 0.7)
    for _ in range(MAX_TRIES):
        end(bench, None, Position())
    assert len(bench.fake.gets) == 2 + MAX_TRIES
    assert end(bench, None, Position()) == []
    assert len(bench.fake.gets) == 2 + MAX_TRIES
    call(bench)  # the rest goes on


@pytest.mark.parametrize("facts", [{"status": 503}, {"reason": "refused", "sent": False}])
def test_listening_is_tried_again_where_the_server_is_down(facts: dict[str, Any]) -> None:
    bench = open_bench()
    end(bench, None, **facts)
    assert resumed(bench) == Resume(None, "", 1.0)


# --- the session is gone


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session has been terminated"}}'),
        (404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
        (404, b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"?"}}'),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}'),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}'),
        (404, None),
        (400, "Invalid or missing session ID"),
    ],
)
def test_request_in_a_lost_session_was_not_run_and_the_loss_is_said_once(status: int, body: bytes | str | None) -> None:
    """MCP 2025-11-25 basic/transports#session-management: 404. Servers that lost their memory say 400 as well."""
    bench = open_bench()
    first, second = call(bench), call(bench)
    events: list[Any] = []
    for request_id in (first, second):
        if isinstance(body, bytes):
            events += say(bench, body, request_id, status)
        events += end(bench, request_id, status=status, body=body if isinstance(body, str) else "")
    assert [type(event) for event in events] == [SessionLost, RequestLost, RequestLost]
    assert [(event.request_id, event.sent) for event in events[1:]] == [(first, False), (second, False)]
    assert bench.connection.session_lost


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found"}}'),
        (400, b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"the argument session is missing"}}'),
        (400, b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32600,"message":"no such thing"}}'),
        (500, b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"session database is down"}}'),
    ],
)
def test_other_refusals_are_errors_of_their_request_and_no_more(status: int, body: bytes) -> None:
    bench = open_bench()
    request_id = call(bench)
    (event,) = say(bench, body % request_id, request_id, status)
    assert isinstance(event, ErrorReceived)
    assert not bench.connection.session_lost


def test_nothing_is_continued_in_a_lost_session() -> None:
    bench = open_bench()
    request_id = call(bench)
    end(bench, request_id, Position("e1"))
    assert [type(event) for event in end(bench, None, status=404)] == [SessionLost]
    assert end(bench, request_id, Position("e2")) == [RequestLost(request_id, "its stream could not be continued: the stream ended")]


@pytest.mark.parametrize(
    ("status", "sent"), [(400, False), (401, False), (403, False), (413, False), (307, False), (502, True), (None, True)]
)
def test_request_that_was_turned_away_unread_was_not_run(status: int | None, sent: bool) -> None:
    """RFC 9110 section 15.5: with 4xx the server says that it did not act on it; behind 5xx it may have."""
    bench = open_bench()
    request_id = call(bench)
    (lost,) = end(bench, request_id, status=status)
    assert isinstance(lost, RequestLost)
    assert (lost.request_id, lost.reason, lost.sent, lost.status) == (request_id, "the stream ended", sent, status)
    assert lost.wants_credential is (status in (401, 403))
    assert (lost.hint is None) is (status is None)  # whoever saw that one says what to do


def test_error_under_a_word_for_an_id_belongs_to_the_request_it_answers() -> None:
    """Seen in the wild: refusals with the id "server-error"; without a status, that is a foreign id."""
    bench = open_bench()
    request_id = call(bench)
    refusal = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Not Acceptable"}}'
    assert [type(event) for event in say(bench, refusal, request_id)] == [PeerViolation]
    (event,) = say(bench, refusal, request_id, 406)
    assert isinstance(event, ErrorReceived)
    assert event.request_id == request_id
