"""Which answer settles which request: ids by value and type, once, and never on another request's stream."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.protocol.actions import HTTP
from dragoman.protocol.connection import Connection
from dragoman.protocol.events import ErrorReceived, NoticeReceived, PeerViolation, ProgressReceived, ResponseUnreadable, ResultReceived
from dragoman.wire.envelope import RequestId
from dragoman.wire.revisions import MODERN
from tests.protocol.peers import feed, kinds, open_client, others


def waiting(count: int = 1, **more: Any) -> tuple[Connection, list[RequestId]]:
    client = open_client(**more)
    ids = [client.start_request("tools/call", {"name": "t"}, progress=True) for _ in range(count)]
    client.actions()
    return client, ids


def test_answer_settles_the_request_of_that_id_whatever_the_order() -> None:
    client, ids = waiting(3)
    for request_id in reversed(ids):
        (event,) = feed(client, {"id": request_id, "result": {"n": request_id}})
        assert isinstance(event, ResultReceived)
        assert (event.request_id, bytes(event.result)) == (request_id, b'{"n":%d}' % int(request_id))
    assert client.open_requests == 0


@pytest.mark.parametrize("spelled", [str, float])
def test_answer_whose_id_differs_only_in_type_settles_and_is_counted(spelled: type) -> None:
    """It could belong to no other open request; seen in the wild."""
    client, (request_id,) = waiting()
    events = feed(client, {"id": spelled(request_id), "result": {}})
    assert [event.request_id for event in events if isinstance(event, ResultReceived)] == [request_id]
    assert len(kinds(events)) == 1
    assert client.open_requests == 0


@pytest.mark.parametrize("foreign", [99, "99", "x", -1, 0, 2**63, "x" * 100_000])
def test_answer_to_a_foreign_id_settles_nothing_and_is_counted(foreign: Any) -> None:
    client, _ = waiting()
    (event,) = feed(client, {"id": foreign, "result": {}})
    assert isinstance(event, PeerViolation)
    assert event.kind == "foreign-id"
    assert len(event.detail) < 200
    assert len(event.sample) <= 200
    assert client.open_requests == 1


@pytest.mark.parametrize("strange", [None, 1.5, [], {}, True, [2], "absent"])
def test_answer_without_a_usable_id_settles_nothing(strange: Any) -> None:
    """1.5 is not 1, and true is not 1."""
    client, _ = waiting()
    client.start_request("tools/list")
    events = feed(client, ({} if strange == "absent" else {"id": strange}) | {"result": {}})
    assert others(events) == []
    assert len(kinds(events)) == 1
    assert client.open_requests == 2


def test_late_and_second_answers_are_ignored() -> None:
    """MCP basic/patterns/cancellation: the sender ignores what still arrives."""
    client, (first, second) = waiting(2)
    client.abandon(first, "enough")
    assert feed(client, {"id": first, "result": {}}) == []
    assert len(feed(client, {"id": second, "result": {}})) == 1
    assert feed(client, {"id": second, "result": {"other": True}}) == []
    assert feed(client, {"id": str(second), "error": {"code": 1, "message": "x"}}) == []


def test_null_error_beside_a_result_is_no_error() -> None:
    """Serializers that know no optional members."""
    client, (request_id,) = waiting()
    (event,) = feed(client, {"id": request_id, "result": {"a": 1}, "error": None})
    assert isinstance(event, ResultReceived)


def test_null_result_beside_an_error_is_an_error() -> None:
    client, (request_id,) = waiting()
    (event,) = feed(client, {"id": request_id, "result": None, "error": {"code": 5, "message": "m"}})
    assert isinstance(event, ErrorReceived)


def test_both_members_count_as_an_error_and_as_a_violation() -> None:
    client, (request_id,) = waiting()
    events = feed(client, {"id": request_id, "result": {}, "error": {"code": 5, "message": "m"}})
    assert kinds(events) == ["both"]
    assert [type(event) for event in others(events)] == [ErrorReceived]


def test_neither_member_ends_the_request_as_unreadable() -> None:
    client, (request_id,) = waiting()
    events = feed(client, {"id": request_id, "error": None})
    assert kinds(events) == ["empty"]
    assert others(events) == [ResponseUnreadable(request_id, "the answer has neither result nor error")]
    client, (request_id,) = waiting()
    assert [type(event) for event in others(feed(client, {"id": request_id}))] == [ResponseUnreadable]


@pytest.mark.parametrize("error", ["broke", {}, {"code": "E", "message": "m"}, [1], 5, {"code": 1, "message": ["x"]}])
def test_error_of_the_wrong_shape_still_ends_the_request_with_what_it_says(error: Any) -> None:
    client, (request_id,) = waiting()
    events = feed(client, {"id": request_id, "error": error})
    (event,) = others(events)
    assert isinstance(event, ErrorReceived)
    assert event.request_id == request_id
    assert kinds(events) == ["bad-error"]
    assert event.error.message


def test_error_without_an_id_on_a_stream_of_its_own_ends_the_request_of_that_stream() -> None:
    """HTTP refusals often lack the id."""
    client, (first, second) = waiting(2, revision=MODERN[0], traits=HTTP)
    (event,) = feed(client, {"id": None, "error": {"code": -32600, "message": "no"}}, via=second)
    assert isinstance(event, ErrorReceived)
    assert event.request_id == second
    assert kinds(feed(client, {"error": {"code": -32600, "message": "no"}})) == ["no-id"]
    assert client.open_requests == 1
    assert first != second


def test_answer_on_the_stream_of_another_open_request_is_ignored() -> None:
    """What arrives on request 7's stream may not settle request 9."""
    client, (first, second) = waiting(2, revision=MODERN[0], traits=HTTP)
    assert kinds(feed(client, {"id": first, "result": {}}, via=second)) == ["wrong-stream"]
    assert others(feed(client, {"id": str(first), "result": {}}, via=second)) == []
    assert client.open_requests == 2
    assert len(feed(client, {"id": first, "result": {}}, via=first)) == 1


@pytest.mark.parametrize("token", [str, int])
def test_progress_is_matched_as_answers_are(token: type) -> None:
    client, (request_id,) = waiting()
    note = {"method": "notifications/progress", "params": {"progressToken": token(request_id), "progress": 1}}
    assert feed(client, note) == [ProgressReceived(request_id, 1.0, None, None)]
    client.abandon(request_id, "x")
    (late,) = feed(client, note)  # late, or of a task whose request was answered: that is for others to know
    assert isinstance(late, NoticeReceived)


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({"progressToken": "nobody's", "progress": 1}, "stray-progress"),
        ({"progressToken": 99, "progress": 1}, "stray-progress"),
        ({"progressToken": True, "progress": 1}, "bad-progress"),
        ({"progressToken": 2, "progress": "six"}, "bad-progress"),
        ({}, "bad-progress"),
        (None, "bad-progress"),
    ],
)
def test_progress_that_fits_nothing_is_counted_and_dropped(params: Any, kind: str) -> None:
    client, _ = waiting()
    events = feed(client, {"method": "notifications/progress"} | ({} if params is None else {"params": params}))
    assert (kinds(events), others(events)) == ([kind], [])


@pytest.mark.parametrize("params", [{}, {"requestId": 1.5}, {"requestId": None}, {"requestId": [1]}, None])
def test_cancellation_that_cannot_be_read_is_counted(params: Any) -> None:
    client, _ = waiting()
    events = feed(client, {"method": "notifications/cancelled"} | ({} if params is None else {"params": params}))
    assert (kinds(events), others(events)) == (["bad-cancel"], [])
    assert client.open_requests == 1
