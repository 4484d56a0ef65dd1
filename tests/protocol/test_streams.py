"""The engine over a transport with a stream for each request: three of them open at once, no sockets."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import VersionMismatch
from dragoman.protocol.actions import HTTP
from dragoman.protocol.connection import Connection, Role
from dragoman.protocol.events import (
    ErrorReceived,
    HandshakeFailed,
    Negotiated,
    NoticeReceived,
    PeerViolation,
    ProgressReceived,
    RequestLost,
    ResultReceived,
)
from dragoman.protocol.handshake import Identity
from dragoman.wire.envelope import RequestId
from dragoman.wire.listing import Implementation
from tests.transports.fakes import Bench

REVISION = "2026-07-28"
DISCOVERED: dict[str, Any] = {"supportedVersions": [REVISION], "capabilities": {"tools": {}, "prompts": {}, "resources": {}}}


def new_bench() -> Bench:
    bench = Bench(Connection(Role.CLIENT, Identity(Implementation("tester", "1")), traits=HTTP, known="modern"))
    bench.connection.begin()
    bench.pump()
    return bench


def open_bench() -> Bench:
    bench = new_bench()
    (probe,) = bench.fake.streams
    bench.fake.answer(probe, DISCOVERED)
    bench.fake.end(probe)
    assert [type(event) for event in bench.take()] == [Negotiated]
    return bench


def call(bench: Bench, name: str, **more: Any) -> RequestId:
    request_id = bench.connection.start_request("tools/call", {"name": name, "arguments": {}}, **more)
    bench.pump()
    return request_id


def three(bench: Bench) -> tuple[RequestId, RequestId, RequestId]:
    return call(bench, "a"), call(bench, "b"), call(bench, "c")


def headers_of(bench: Bench, request_id: RequestId) -> list[tuple[str, str]]:
    return list(bench.fake.streams[request_id].headers)


def test_answers_interleaved_over_three_streams_each_reach_their_own_request() -> None:
    """MCP 2026-07-28 streamable-http#receiving-messages: notifications of a request come on its stream, then its answer."""
    bench = open_bench()
    first, second, third = three(bench)
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": second, "progress": 1}}
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    bench.fake.deliver(second, progress)
    bench.fake.answer(third, {"from": "c"})
    bench.fake.deliver(first, note)
    bench.fake.answer(first, {"from": "a"})
    bench.fake.end(third)
    bench.fake.answer(second, {"from": "b"})
    bench.fake.end(first)
    bench.fake.end(second)
    events = bench.take()
    assert [(type(event), getattr(event, "request_id", None)) for event in events] == [
        (ProgressReceived, second),
        (ResultReceived, third),
        (NoticeReceived, None),
        (ResultReceived, first),
        (ResultReceived, second),
    ]
    results = {event.request_id: msgspec.json.decode(event.result)["from"] for event in events if isinstance(event, ResultReceived)}
    assert results == {first: "a", second: "b", third: "c"}


def test_an_answer_on_the_stream_of_another_request_settles_neither() -> None:
    """Our choice: what arrives on one request's stream may not settle another; a server could forge answers across callers."""
    bench = open_bench()
    first, second, third = three(bench)
    bench.fake.answer(third, {"forged": True}, as_id=first)
    (violation,) = bench.take()
    assert isinstance(violation, PeerViolation)
    assert violation.kind == "wrong-stream"
    assert bench.connection.open_requests == 3
    for request_id in (first, second, third):
        bench.fake.answer(request_id, {})
    assert [event.request_id for event in bench.take() if isinstance(event, ResultReceived)] == [first, second, third]


def test_a_stream_that_ends_without_an_answer_loses_its_own_request_only() -> None:
    """MCP 2026-07-28 streamable-http#receiving-messages: a stream that ends without the answer is a lost request."""
    bench = open_bench()
    first, second, third = three(bench)
    bench.fake.end(second, "cut")
    (lost,) = bench.take()
    assert isinstance(lost, RequestLost)
    assert (lost.request_id, lost.reason) == (second, "cut")
    bench.fake.answer(first, {})
    bench.fake.answer(third, {})
    assert [event.request_id for event in bench.take() if isinstance(event, ResultReceived)] == [first, third]
    assert bench.connection.state == "open"


def test_an_abandoned_request_closes_its_stream_and_sends_no_notice() -> None:
    """MCP 2026-07-28 basic/patterns/cancellation: on HTTP the closed stream is the cancellation; no notifications/cancelled."""
    bench = open_bench()
    first, second, third = three(bench)
    sent_before = len(bench.fake.sent)
    bench.connection.abandon(second, "no longer needed")
    bench.pump()
    assert bench.fake.closed_streams == [second]
    assert len(bench.fake.sent) == sent_before
    assert set(bench.fake.streams) == {first, third}
    assert bench.take() == []


def test_an_error_without_an_id_settles_the_request_of_its_stream() -> None:
    """JSON-RPC 2.0 answers what it could not read with the id null; MCP servers put that in a 400, some leave the id out."""
    bench = open_bench()
    first, second, _ = three(bench)
    bench.fake.deliver(second, {"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "bad"}})
    bench.fake.end(second, "HTTP 400 Bad Request")
    bench.fake.deliver(first, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "worse"}})
    events = bench.take()
    assert [(event.request_id, event.error.code) for event in events if isinstance(event, ErrorReceived)] == [
        (second, -32602),
        (first, -32600),
    ]
    assert len(events) == 2


def test_headers_mirror_version_method_and_name_exactly() -> None:
    """MCP 2026-07-28 streamable-http#standard-request-headers."""
    bench = new_bench()
    (probe,) = bench.fake.streams
    assert headers_of(bench, probe) == [("MCP-Protocol-Version", REVISION), ("Mcp-Method", "server/discover")]
    bench.fake.answer(probe, DISCOVERED)
    start = bench.connection.start_request
    listing, tool, prompt, resource = (
        start("tools/list"),
        start("tools/call", {"name": "run_sql", "arguments": {}}),
        start("prompts/get", {"name": "a b"}),
        start("resources/read", {"uri": "file:///a%20b?x=1#y"}),
    )
    bench.pump()
    version = ("MCP-Protocol-Version", REVISION)
    assert headers_of(bench, listing) == [version, ("Mcp-Method", "tools/list")]
    assert headers_of(bench, tool) == [version, ("Mcp-Method", "tools/call"), ("Mcp-Name", "run_sql")]
    assert headers_of(bench, prompt) == [version, ("Mcp-Method", "prompts/get"), ("Mcp-Name", "a b")]
    assert headers_of(bench, resource) == [version, ("Mcp-Method", "resources/read"), ("Mcp-Name", "file:///a%20b?x=1#y")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("größe", "=?base64?Z3LDtsOfZQ==?="),
        ("天气", "=?base64?5aSp5rCU?="),
        (" lead", "=?base64?IGxlYWQ=?="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
        ("tab\there", "=?base64?dGFiCWhlcmU=?="),
        ("=?base64?Zm9v?=", "=?base64?PT9iYXNlNjQ/Wm05dj89?="),
        ("", ""),
    ],
)
def test_names_that_no_header_can_hold_are_sent_in_base64(name: str, value: str) -> None:
    """MCP 2026-07-28 streamable-http#value-encoding."""
    bench = open_bench()
    assert ("Mcp-Name", value) in headers_of(bench, call(bench, name))


def test_a_refusal_of_the_version_with_nothing_in_common_fails_the_handshake() -> None:
    """MCP 2026-07-28 streamable-http#protocol-version-header: 400 with -32022 lists what the server speaks."""
    bench = new_bench()
    (probe,) = bench.fake.streams
    error = {"code": -32022, "message": "no", "data": {"supported": ["2099-01-01"], "requested": REVISION}}
    bench.fake.deliver(probe, {"jsonrpc": "2.0", "id": None, "error": error})
    (failed,) = bench.take()
    assert isinstance(failed, HandshakeFailed)
    assert isinstance(failed.error, VersionMismatch)


@given(
    st.lists(st.tuples(st.sampled_from(["answer", "end", "forge", "abandon", "error"]), st.integers(0, 2), st.integers(0, 2)), max_size=20)
)
def test_every_request_settles_once_whatever_the_order(steps: list[tuple[str, int, int]]) -> None:
    """Property: each of three requests ends once, as a result, an error, a loss, or silently because we gave it up."""
    bench = open_bench()
    ids = three(bench)
    abandoned: set[RequestId] = set()
    for what, at, other in steps:
        via = ids[at]
        if via not in bench.fake.streams:
            continue
        match what:
            case "answer":
                bench.fake.answer(via, {})
            case "forge":
                bench.fake.answer(via, {}, as_id=ids[other])
            case "error":
                bench.fake.deliver(via, {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": ""}})
            case "end":
                bench.fake.end(via)
            case _:
                bench.connection.abandon(via, "enough")
                bench.pump()
                abandoned.add(via)
    for via in tuple(bench.fake.streams):
        bench.fake.end(via)
    settled = [event.request_id for event in bench.take() if isinstance(event, ResultReceived | ErrorReceived | RequestLost)]
    assert len(settled) == len(set(settled))
    assert set(settled) | abandoned == set(ids)
    assert bench.connection.open_requests == 0
