"""What the engine may and must put on the wire, message by message, and what it leaves alone of what comes in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import HTTP, STDIO, CloseStream, Send, Traits
from dragoman.protocol.asks import TOO_MANY
from dragoman.protocol.events import AskReceived, NoticeReceived, RequestLost, ResultReceived
from dragoman.protocol.stamp import Stamp
from dragoman.wire.envelope import ErrorBody
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import META_LOG_LEVEL
from dragoman.wire.revisions import ALL, LEGACY, MODERN
from tests.protocol.peers import feed, new_client, open_client, sent

UGLY = 'line\nbreak\r\u2028 größe 读取 "quoted"'


@pytest.mark.sends_garbage(reason="the engine sends what its caller gives it")
@pytest.mark.requirement("R-FRAME-01", "R-FRAME-02", "R-FRAME-11", "R-STDIO-02")
@pytest.mark.parametrize("revision", ALL)
def test_every_message_of_ours_is_one_line_of_json_rpc_with_an_id_that_is_a_number(revision: str) -> None:
    """R-FRAME-01, R-FRAME-02, R-FRAME-11, R-STDIO-02: MCP basic/index#messages; two requests at once are two messages."""
    client = open_client(revision)
    ids = [client.start_request("tools/call", {"name": UGLY}) for _ in range(2)]
    client.notify("notifications/x", {"text": UGLY})
    if revision in LEGACY:
        feed(client, {"id": "theirs", "method": "roots/list"})
        client.answer("theirs", {"roots": [{"uri": UGLY}]})
    lines = [bytes(action.message) for action in client.actions() if isinstance(action, Send)]
    assert len(lines) == (4 if revision in LEGACY else 3)
    for line in lines:
        assert b"\n" not in line
        assert b"\r" not in line
        message = msgspec.json.decode(line.decode("utf-8"))
        assert message["jsonrpc"] == "2.0"
        body = message.get("params") or message["result"]["roots"][0]
        assert UGLY in body.values()
    assert [type(one) for one in ids] == [int, int]
    assert [msgspec.json.decode(line).get("id") for line in lines[:2]] == ids


@pytest.mark.sends_garbage(reason="the engine sends what its caller gives it")
@pytest.mark.requirement("R-FRAME-06")
@pytest.mark.parametrize("outcome", [{}, {"roots": []}, ErrorBody(-32603, "no")])
def test_answer_of_ours_has_a_result_or_an_error_and_never_both(outcome: Any) -> None:
    """R-FRAME-06: MCP 2025-06-18 basic/index#responses."""
    client = open_client()
    feed(client, {"id": "q", "method": "roots/list"})
    client.answer("q", outcome)
    (message,) = sent(client)
    assert set(message) == {"jsonrpc", "id", "error" if isinstance(outcome, ErrorBody) else "result"}
    assert message["id"] == "q"


@pytest.mark.requirement("R-FRAME-08")
@pytest.mark.parametrize("revision", [LEGACY[0], MODERN[0]])
@pytest.mark.parametrize("method", ["notifications/harbour", "tools/call", "ping", "notifications/cancelled", "notifications/progress"])
def test_notice_is_never_answered_whatever_it_is_called(revision: str, method: str) -> None:
    """R-FRAME-08: MCP basic/index#notifications."""
    client = open_client(revision)
    events = feed(client, {"method": method, "params": {"a": 1}})
    assert client.actions() == []
    assert not any(isinstance(event, AskReceived) for event in events)  # nor handed on to be answered


@pytest.mark.requirement("R-FRAME-08")
def test_notice_of_ours_carries_no_id() -> None:
    """R-FRAME-08: MCP basic/index#notifications."""
    client = open_client()
    client.notify("notifications/x")
    assert "id" not in sent(client)[0]


@pytest.mark.requirement("R-FRAME-15", "R-FRAME-17")
def test_code_of_our_own_is_outside_of_what_is_reserved() -> None:
    """R-FRAME-17: MCP 2026-07-28 basic/index#error-codes."""
    assert not -32768 <= TOO_MANY <= -32000


def _legacy(known: bool = True) -> Any:
    client = new_client(known="legacy") if known else new_client(LEGACY)
    client.begin()
    return client


@pytest.mark.requirement("R-LIFE-01", "R-VER-01", "R-VER-02", "R-CAP-01", "R-SAMP-01")
@pytest.mark.parametrize("known", [True, False], ids=["all-revisions", "legacy-only"])
def test_initialize_comes_first_with_the_newest_legacy_revision_what_we_can_do_and_who_we_are(known: bool) -> None:
    """R-LIFE-01, R-VER-01, R-VER-02, R-CAP-01: MCP 2025-11-25 basic/lifecycle#initialization; younger revisions have no initialize."""
    (message,) = sent(_legacy(known))
    assert (message["method"], message["id"]) == ("initialize", 1)
    assert message["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "tester", "version": "1"},
    }


@pytest.mark.requirement("R-LIFE-14", "R-LIFE-15")
@pytest.mark.parametrize("code", [-32700, *range(-32603, -32599), *range(-32019, -31999), -32042, -32023, -32099, -1, 0, 1, 404])
def test_no_single_code_is_what_a_legacy_server_is_known_by(code: int) -> None:
    """R-LIFE-14, R-LIFE-15: MCP 2026-07-28 basic/transports/stdio#backward-compatibility."""
    client = new_client()
    client.begin()
    feed(client, {"id": 1, "error": {"code": code, "message": "no"}})
    assert [message["method"] for message in sent(client)] == ["server/discover", "initialize"]


@pytest.mark.requirement("R-LIFE-02")
def test_initialized_is_sent_before_anything_else() -> None:
    """R-LIFE-02: MCP 2025-11-25 basic/lifecycle#initialization."""
    client = _legacy()
    client.actions()
    feed(client, {"id": 1, "result": {"protocolVersion": LEGACY[0], "capabilities": {"tools": {}}, "serverInfo": {"name": "s"}}})
    client.start_request("tools/list")
    assert [message["method"] for message in sent(client)] == ["notifications/initialized", "tools/list"]


@pytest.mark.requirement("R-LIFE-03")
def test_nothing_of_ours_but_answers_goes_out_before_initialize_is_answered() -> None:
    """R-LIFE-03: MCP 2025-11-25 basic/lifecycle#initialization."""
    client = _legacy()
    client.actions()
    with pytest.raises(LocalProtocolError, match="handshaking"):
        client.start_request("ping", force=True)
    client.notify("notifications/x")
    assert client.actions() == []


@pytest.mark.requirement("R-LIFE-05")
@pytest.mark.parametrize("traits", [STDIO, HTTP])
def test_initialize_is_never_cancelled(traits: Traits) -> None:
    """R-LIFE-05: MCP 2025-11-25 basic/utilities/cancellation; who gives up closes the connection."""
    client = new_client(LEGACY, traits=traits)
    client.begin()
    client.actions()
    client.abandon(1, "too slow")
    client.close()
    assert sent(client) == []


@pytest.mark.requirement("R-PING-01")
@pytest.mark.parametrize("when", ["before", "after"])
def test_ping_reaches_whoever_answers_it_also_before_the_handshake_is_over(when: str) -> None:
    """R-PING-01: MCP 2025-11-25 basic/utilities/ping."""
    client = _legacy() if when == "before" else open_client()
    client.actions()
    feed(client, {"id": "p", "method": "ping"})
    client.answer("p", {})
    assert sent(client) == [{"jsonrpc": "2.0", "id": "p", "result": {}}]


@pytest.mark.requirement("R-CANCEL-06")
@pytest.mark.parametrize(("method", "ends"), [("subscriptions/listen", True), ("tools/call", False)])
def test_modern_server_cancels_subscriptions_and_nothing_else_of_ours(method: str, ends: bool) -> None:
    """R-CANCEL-06: MCP 2026-07-28 basic/patterns/cancellation."""
    client = open_client(MODERN[0])
    request_id = client.start_request(method, {"name": "t", "notifications": {}})
    events = feed(client, {"method": "notifications/cancelled", "params": {"requestId": request_id}})
    assert any(isinstance(event, RequestLost) for event in events) is ends
    answered = feed(client, {"id": request_id, "result": {}})
    assert any(isinstance(event, ResultReceived) for event in answered) is not ends


@pytest.mark.requirement("R-CANCEL-04")
@pytest.mark.parametrize("revision", [LEGACY[0], MODERN[0]])
def test_cancellation_of_what_nobody_knows_is_ignored(revision: str) -> None:
    """R-CANCEL-04: MCP basic/patterns/cancellation: it may cross the answer on its way."""
    client = open_client(revision)
    for request_id in (99, "gone", 1):
        assert feed(client, {"method": "notifications/cancelled", "params": {"requestId": request_id}}) == []
    assert client.actions() == []


@pytest.mark.requirement("R-CANCEL-01")
def test_what_is_answered_already_is_not_cancelled() -> None:
    """R-CANCEL-01: MCP 2025-11-25 basic/utilities/cancellation: only what is in flight, and only our own."""
    client = open_client()
    request_id = client.start_request("tools/call", {"name": "t"})
    feed(client, {"id": request_id, "result": {}})
    client.actions()
    for one in (request_id, 99, "theirs"):
        client.abandon(one, "late")
    assert client.actions() == []


@pytest.mark.requirement("R-PROG-01")
def test_tokens_of_open_requests_differ() -> None:
    """R-PROG-01: MCP basic/utilities/progress."""
    client = open_client()
    for _ in range(3):
        client.start_request("tools/call", {"name": "t", "_meta": {"progressToken": "mine"}}, progress=True)
    tokens = [message["params"]["_meta"]["progressToken"] for message in sent(client)]
    assert len(set(tokens)) == 3


@pytest.mark.requirement("R-HTTPM-22", "R-HTTPM-26")
def test_request_of_the_stateless_era_has_neither_session_nor_position_among_its_headers() -> None:
    """R-HTTPM-22, R-HTTPM-26: MCP 2026-07-28 streamable-http#backward-compat; the action tells the transport not to add any."""
    client = open_client(MODERN[0], traits=HTTP)
    client.start_request("tools/call", {"name": "t"})
    (action,) = client.actions()
    assert isinstance(action, Send)
    assert action.session == "none"
    assert {name.lower() for name, _ in action.headers} == {"mcp-protocol-version", "mcp-method", "mcp-name"}


@pytest.mark.requirement("R-META-01")
@pytest.mark.parametrize("key", ["/x", "1a/x", "a-/x", "a..b/x", "-x", "x_", "a b", "größe", "a/b/c"])
def test_key_of_meta_that_breaks_the_grammar_is_refused(key: str) -> None:
    """R-META-01: MCP 2026-07-28 basic/index#_meta."""
    stamp = Stamp(MODERN[0], modern=True, info=Implementation("t", "1"), capabilities={}, headers=False)
    with pytest.raises(LocalProtocolError, match="is no key for _meta"):
        stamp.params({}, None, {key: 1})


@pytest.mark.sends_garbage(reason="names are looked at, and the value is the same for all")
@pytest.mark.requirement("R-META-01")
@pytest.mark.parametrize("key", ["x", "a-b_c.d", "com.example/x", "com.ex-ample.a1/x-1", "com.example/", META_LOG_LEVEL, "traceparent"])
def test_key_of_meta_that_keeps_to_the_grammar_is_sent(key: str) -> None:
    """R-META-01: MCP 2026-07-28 basic/index#_meta: the name may be empty where there is a prefix."""
    client = open_client(MODERN[0])
    client.start_request("tools/call", {"name": "t"}, meta={key: 1})
    assert sent(client)[0]["params"]["_meta"][key] == 1


@pytest.mark.sends_garbage(reason="_meta is looked at, and the other params are the same for all")
@pytest.mark.requirement("R-META-02")
@pytest.mark.parametrize("revision", ALL)
def test_keys_of_ours_in_meta_are_those_that_the_protocol_defines(revision: str) -> None:
    """R-META-02: MCP 2026-07-28 basic/index#_meta: reserved prefixes are not ours to extend."""
    client = open_client(revision)
    for method in ("tools/list", "tools/call"):
        client.start_request(method, {"name": "t"}, progress=True)
    own = {"progressToken"}
    if revision in MODERN:
        own |= {f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities")}
    assert [set(message["params"]["_meta"]) for message in sent(client)] == [own, own]


@pytest.mark.requirement("R-LIFE-09", "R-CAP-02", "R-META-04")
@pytest.mark.parametrize("method", ["tools/list", "server/discover", "prompts/list"])
def test_request_without_params_has_a_meta_all_the_same_in_the_stateless_era(method: str) -> None:
    """R-META-04: MCP 2026-07-28 basic/index#_meta."""
    client = open_client(MODERN[0])
    client.start_request(method)
    meta = sent(client)[0]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == MODERN[0]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


@pytest.mark.requirement("R-FRAME-21", "R-META-03")
def test_notice_is_handed_on_with_everything_in_it() -> None:
    """R-FRAME-21, R-META-03: members and reserved keys that we do not know are kept and mean nothing to us."""
    params = {"level": "info", "data": [1], "future": {"x": 1}, "_meta": {"io.modelcontextprotocol/new": {"a": [1]}}}
    (event,) = feed(open_client(MODERN[0]), {"method": "notifications/message", "params": params})
    assert isinstance(event, NoticeReceived)
    assert msgspec.json.decode(event.params) == params


@pytest.mark.requirement("R-CANCEL-02")
def test_stream_that_is_closed_is_the_only_sign_of_a_cancellation_over_modern_http() -> None:
    """R-CANCEL-02: MCP 2026-07-28 basic/patterns/cancellation."""
    client = open_client(MODERN[0], traits=HTTP)
    request_id = client.start_request("tools/call", {"name": "t"})
    client.actions()
    client.abandon(request_id, "enough")
    assert client.actions() == [CloseStream(request_id)]
