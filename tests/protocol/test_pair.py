"""Every message through both ends, in both eras: what one engine writes, the other one reads as it was meant."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.errors import LocalProtocolError, VersionMismatch
from dragoman.protocol.actions import Send
from dragoman.protocol.connection import Role
from dragoman.protocol.events import (
    AskCancelled,
    AskReceived,
    ConnectionEnded,
    ErrorReceived,
    HandshakeFailed,
    Negotiated,
    NoticeReceived,
    PeerViolation,
    ProgressReceived,
    RequestLost,
    ResultReceived,
)
from dragoman.testing.pair import ConnectionPair
from dragoman.wire.envelope import ErrorBody
from dragoman.wire.revisions import ALL, LEGACY, MODERN, era_of


@pytest.fixture(params=[LEGACY[0], MODERN[0]], ids=["legacy", "modern"])
def pair(request: pytest.FixtureRequest) -> ConnectionPair:
    return ConnectionPair.opened(request.param)


@pytest.mark.parametrize("theirs", ALL)
@pytest.mark.parametrize("ours", ALL)
def test_two_sides_with_one_revision_each_agree_or_say_why_not(ours: str, theirs: str) -> None:
    """MCP basic/versioning: both sides' versions are named, and who should upgrade."""
    pair = ConnectionPair(ours=(ours,), theirs=(theirs,))
    pair.begin()
    if ours == theirs:
        assert pair.client.state == "open"
        assert pair.client.peer is not None
        assert (pair.client.peer.revision, pair.client.peer.era) == (ours, era_of(ours))
        return
    (failure,) = [event for event in pair.client_events if isinstance(event, HandshakeFailed)]
    error = failure.error
    assert isinstance(error, VersionMismatch)
    assert (error.ours, error.theirs) == ((ours,), (theirs,))
    assert ours in str(error)
    assert theirs in str(error)
    allow = f"let this client speak {theirs} too (revision=)"  # it can: it was told not to
    assert error.hint == (f"upgrade the server, or {allow}" if theirs < ours else allow)


@pytest.mark.parametrize("theirs", ALL)
def test_a_client_that_speaks_all_finds_the_one_of_the_server(theirs: str) -> None:
    """Our choice: nobody has to configure a revision."""
    pair = ConnectionPair(theirs=(theirs,))
    pair.begin()
    assert pair.client.peer is not None
    assert pair.client.peer.revision == theirs
    assert pair.client.peer.info.name == "server"
    assert pair.client.peer.instructions == "be kind"


@pytest.mark.parametrize("ours", ALL)
def test_a_server_that_speaks_all_answers_in_the_one_of_the_client(ours: str) -> None:
    """MCP 2025-11-25 basic/lifecycle#version-negotiation."""
    pair = ConnectionPair(ours=(ours,))
    pair.begin()
    assert pair.client.peer is not None
    assert pair.client.peer.revision == ours


def test_a_legacy_client_is_known_to_the_server_after_the_handshake() -> None:
    pair = ConnectionPair.opened(LEGACY[0])
    assert pair.server.peer is not None
    assert (pair.server.peer.info.name, pair.server.peer.capabilities) == ("client", {"roots": {}})
    assert [message.get("method") for sender, message in pair.wire if sender is Role.CLIENT] == ["initialize", "notifications/initialized"]


def test_a_call_arrives_with_its_params_and_its_result_comes_back(pair: ConnectionPair) -> None:
    params = {"name": "größe", "arguments": {"a": [1, None, "读"], "b": 2**60}}
    request_id = pair.client.start_request("tools/call", params)
    _, (asked,) = pair.take()
    assert isinstance(asked, AskReceived)
    assert (asked.request_id, asked.method) == (request_id, "tools/call")
    received = msgspec.json.decode(asked.params)
    received.pop("_meta", None)
    assert received == params
    pair.server.answer(asked.request_id, {"content": [], "unknownMember": {"kept": True}})
    (result,), _ = pair.take()
    assert isinstance(result, ResultReceived)
    assert msgspec.json.decode(result.result)["unknownMember"] == {"kept": True}
    assert pair.client.open_requests == 0


def test_an_error_comes_back_with_code_message_and_data(pair: ConnectionPair) -> None:
    request_id = pair.client.start_request("prompts/get", {"name": "x"})
    pair.take()
    pair.server.answer(request_id, ErrorBody(-32602, "no such prompt", {"near": ["y"]}))
    assert pair.take()[0] == [ErrorReceived(request_id, ErrorBody(-32602, "no such prompt", {"near": ["y"]}))]


def test_an_answer_that_is_no_json_becomes_an_error_for_the_peer(pair: ConnectionPair) -> None:
    """Our choice: never silence."""
    request_id = pair.client.start_request("tools/list")
    pair.take()
    pair.server.answer(request_id, {"x": object()})
    (event,), _ = pair.take()
    assert isinstance(event, ErrorReceived)
    assert event.error.code == -32603


def test_progress_finds_its_request(pair: ConnectionPair) -> None:
    request_id = pair.client.start_request("tools/call", {"name": "t"}, progress=True)
    _, (asked,) = pair.take()
    assert isinstance(asked, AskReceived)
    token = msgspec.json.decode(asked.params)["_meta"]["progressToken"]
    pair.server.state = "open"  # a stateless server has no handshake to wait for
    pair.server.notify("notifications/progress", {"progressToken": token, "progress": 1, "total": 2.5, "message": "half"})
    assert pair.take()[0] == [ProgressReceived(request_id, 1, 2.5, "half")]


def test_a_cancelled_call_is_forgotten_on_both_sides_and_its_late_answer_ignored(pair: ConnectionPair) -> None:
    """MCP basic/patterns/cancellation: a notice on stdio; the sender ignores what still arrives."""
    request_id = pair.client.start_request("tools/call", {"name": "t"})
    pair.take()
    pair.client.abandon(request_id, "changed my mind")
    pair.client.abandon(request_id, "twice does no harm")
    assert pair.take() == ([], [AskCancelled(request_id, "changed my mind")])
    assert pair.wire[-1][1]["params"] == {"requestId": request_id, "reason": "changed my mind"}
    pair.server.answer(request_id, {})
    assert pair.take() == ([], [])
    pair.client.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % int(request_id))
    assert pair.take() == ([], [])


@pytest.mark.sends_garbage(reason="the engine sends what its caller gives it, and this notice is of nobody")
def test_notices_go_both_ways(pair: ConnectionPair) -> None:
    pair.client.notify("notifications/x")
    pair.server.notify("notifications/message", {"level": "info", "data": 1})
    (theirs,), (ours,) = pair.take()
    assert isinstance(ours, NoticeReceived)
    assert isinstance(theirs, NoticeReceived)
    assert (ours.method, theirs.method) == ("notifications/x", "notifications/message")
    assert msgspec.json.decode(theirs.params) == {"level": "info", "data": 1}


def test_a_legacy_server_asks_and_the_ids_of_both_sides_are_independent() -> None:
    """Both count from 1; a cancellation of theirs never ends a request of ours with the same number."""
    pair = ConnectionPair.opened(LEGACY[0])
    mine = pair.client.start_request("tools/call", {"name": "t"})
    theirs = {pair.server.start_request("roots/list") for _ in range(3)}
    asks, _ = pair.take()
    assert mine in theirs
    assert {ask.request_id for ask in asks if isinstance(ask, AskReceived)} == theirs
    pair.client.answer(mine, {"roots": []})
    (result,) = [event for event in pair.take()[1] if isinstance(event, ResultReceived)]
    assert result.request_id == mine
    pair.client.receive(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % int(mine))
    assert pair.take() == ([], [])  # it came late: that ask is answered, and our own request of that number goes on
    assert pair.client.open_requests == 1


def test_a_modern_server_may_end_a_subscription_by_cancelling_it() -> None:
    """MCP 2026-07-28 basic/patterns/subscriptions, stdio."""
    pair = ConnectionPair.opened(MODERN[0])
    request_id = pair.client.start_request("subscriptions/listen", {"notifications": {}})
    pair.take()
    pair.client.receive(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % int(request_id))
    assert pair.take()[0] == [RequestLost(request_id, "cancelled by the server")]


def test_a_modern_client_answers_no_requests() -> None:
    """MCP 2026-07-28: servers send responses and notifications only."""
    pair = ConnectionPair.opened(MODERN[0])
    pair.client.receive(b'{"jsonrpc":"2.0","id":1,"method":"roots/list"}')
    assert [event.kind for event in pair.take()[0] if isinstance(event, PeerViolation)] == ["ask"]
    assert pair.client.actions() == []


def test_a_request_in_an_unknown_modern_revision_is_refused_with_the_list() -> None:
    """MCP 2026-07-28 schema, UnsupportedProtocolVersionError."""
    pair = ConnectionPair.opened(MODERN[0])
    pair.server.receive(
        b'{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}'
    )
    (refusal,) = pair.server.actions()
    assert isinstance(refusal, Send)
    error = msgspec.json.decode(refusal.message)["error"]
    assert (error["code"], error["data"]) == (-32022, {"supported": list(ALL), "requested": "2099-01-01"})
    assert pair.server.events() == []


def test_what_was_not_declared_is_refused_before_anything_is_sent() -> None:
    """MCP basic/lifecycle#operation: only negotiated capabilities; unless forced."""
    pair = ConnectionPair.opened(LEGACY[0], capabilities={"tools": {}})
    with pytest.raises(LocalProtocolError, match="did not declare the capability 'prompts'"):
        pair.client.start_request("prompts/list")
    assert pair.client.actions() == []
    pair.client.start_request("prompts/list", force=True)
    assert len(pair.take()[1]) == 1


@pytest.mark.parametrize("bad", [{"x": object()}, {"x": "\ud800"}, {(1, 2): 3}], ids=["object", "surrogate", "key"])
def test_params_that_are_no_json_leave_nothing_open(pair: ConnectionPair, bad: dict[Any, Any]) -> None:
    with pytest.raises(LocalProtocolError, match="cannot be written as JSON"):
        pair.client.start_request("tools/call", bad)
    assert pair.client.open_requests == 0
    assert pair.client.actions() == []
    with pytest.raises(LocalProtocolError):
        pair.client.notify("notifications/x", bad)


def test_raw_params_are_forwarded_as_they_are() -> None:
    """For the gateway: big numbers and member order survive."""
    pair = ConnectionPair.opened(LEGACY[0])
    params = b'{"name":"t","arguments":{"z":1e400,"a":1}}'
    pair.client.start_request("tools/call", msgspec.Raw(params))
    (send,) = pair.client.actions()
    assert isinstance(send, Send)
    pair.server.receive(send.message)
    (asked,) = pair.server.events()
    assert isinstance(asked, AskReceived)
    assert bytes(asked.params) == params


def test_closing_one_end_loses_what_is_open_and_tells_the_other(pair: ConnectionPair) -> None:
    request_id = pair.client.start_request("tools/list")
    pair.take()
    pair.client.close("enough")
    pair.client.close("again")
    ours, theirs = pair.take()
    assert ours == [RequestLost(request_id, "enough"), ConnectionEnded("enough")]
    assert theirs == [AskCancelled(request_id), ConnectionEnded("enough")]
    with pytest.raises(LocalProtocolError, match="closed"):
        pair.client.start_request("tools/list")
    pair.client.notify("notifications/x")
    assert pair.client.actions() == []


def test_beginning_twice_is_a_mistake_of_ours(pair: ConnectionPair) -> None:
    with pytest.raises(LocalProtocolError, match="started before"):
        pair.client.begin()


def test_handshake_survives_what_a_server_sends_before_it() -> None:
    """Log notices and pings before the answer to initialize are seen in the wild."""
    pair = ConnectionPair(ours=(LEGACY[0],))
    pair.client.begin()
    pair.client.receive(b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}')
    pair.client.receive(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert [type(event) for event in pair.client.events()] == [NoticeReceived, AskReceived]
    pair.server.begin()
    pair.pump()
    assert [type(event) for event in pair.client_events] == [Negotiated]
