"""Whatever happens to a call, it is written down: that it was asked for, and one word for how it ended."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import (
    ApprovalDenied,
    ApprovalExpired,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidArguments,
    InvalidResult,
    LocalProtocolError,
    MalformedResponse,
    NotAllowed,
    Problem,
    ResultTooLarge,
    ServerError,
    ToolChanged,
    UnknownTool,
)
from dragoman.policy.audit import KEPT_CHARS, Audit
from dragoman.policy.chain import Finding, Outcome
from dragoman.policy.flights import Flights
from dragoman.testing.layers import ListSink, Spawned, spawn_layer, tool_result
from tests.policy.kit import call_of, tool


def _layer(answer: Any = None, redact: Any = None) -> tuple[Spawned, ListSink]:
    sink = ListSink()
    return spawn_layer(Audit(sink, FakeClock(), Flights(), redact), answer), sink


ENDINGS = [
    (tool_result(), "ok"),
    (tool_result(is_error=True), "tool error"),
    (UnknownTool("x"), "refused"),
    (InvalidArguments("t", [Problem("/a", "x")]), "refused"),
    (NotAllowed("x"), "refused"),
    (ToolChanged("x"), "refused"),
    (ApprovalDenied("x"), "denied"),
    (ApprovalExpired("x"), "expired"),
    (ConnectionLost("x"), "unknown"),
    (CallTimeout("x", 1.0), "unknown"),
    (ConnectionLost("x", maybe_ran="no"), "failed"),
    (CallTimeout("x", 1.0, maybe_ran="no"), "failed"),
    (ServerError(-32000, "x"), "failed"),
    (InvalidResult("x"), "failed"),
    (ResultTooLarge("x"), "failed"),
    (MalformedResponse("x"), "failed"),
    (ConnectFailed("x"), "failed"),
    (LocalProtocolError("x"), "failed"),
    (RuntimeError("a bug"), "failed"),
]


@pytest.mark.parametrize(("answer", "status"), ENDINGS, ids=lambda value: getattr(value, "kind", None) or str(value))
async def test_every_ending_has_one_word(answer: Any, status: str) -> None:
    """Our contract: the eight words of *ended*."""
    layer, sink = _layer(answer)
    (ended,) = await asyncio.gather(layer(call_of(tool(), {"a": 1})), return_exceptions=True)
    assert ended is answer or isinstance(ended, Outcome)
    assert sink.story == ["asked", f"ended: {status}"]
    if isinstance(answer, DragomanError):
        assert sink.events[1].detail["error"] == type(answer).__name__


async def test_cancelled_call_is_written_and_the_cancellation_goes_on() -> None:
    """Our contract: a cancelled call has an ending too."""
    layer, sink = _layer()
    await layer.cancelled(call_of(tool(), {}))
    assert sink.story == ["asked", "ended: cancelled"]


async def test_asked_is_written_before_anything_else_happens() -> None:
    """Our contract: nothing happens without a record."""
    layer, sink = _layer()
    layer.inside.answer = lambda call: Outcome(call=call, result=tool_result(sink.story[0]))
    outcome = await layer(call_of(tool(), {}))
    assert outcome.result is not None
    assert outcome.result.text == "asked"


async def test_a_call_that_cannot_be_written_down_is_not_made() -> None:
    """Our contract: no governed call without a record."""
    layer, sink = _layer()
    sink.failure = NotAllowed("the store is closed")
    assert await layer.refused(call_of(tool(), {})) is sink.failure


async def test_a_sink_that_fails_at_the_end_does_not_hide_the_result() -> None:
    """Our choice: the call has happened, and its caller must learn how."""
    sink = ListSink()

    def answer(call: Any) -> Outcome:
        sink.failure = NotAllowed("the disk is full")
        return Outcome(call=call, result=tool_result())

    assert (await spawn_layer(Audit(sink, FakeClock(), Flights()), answer)(call_of(tool(), {}))).ok


async def test_arguments_are_kept_redacted_and_as_a_digest() -> None:
    """Our contract: SHA-256 over canonical JSON; order of members does not matter."""
    layer, sink = _layer(redact=lambda text: text.replace("hunter22", "***"))
    await layer(call_of(tool(), {"b": "hunter22", "a": 1}))
    detail = sink.events[0].detail
    assert detail["arguments_sha256"] == hashlib.sha256(b'{"a":1,"b":"hunter22"}').hexdigest()
    assert detail["arguments"] == '{"a":1,"b":"***"}'


async def test_long_arguments_are_cut() -> None:
    """Our choice: 4 KB of them are kept."""
    layer, sink = _layer()
    await layer(call_of(tool(), {"a": "x" * 100_000}))
    assert len(sink.events[0].detail["arguments"]) < KEPT_CHARS + 50
    assert "100008 bytes in all" in sink.events[0].detail["arguments"]


async def test_arguments_that_are_no_json_do_not_stop_the_record() -> None:
    """Bad input: *validate* refuses them, *audit* only says so."""
    deep: dict[str, Any] = {}
    for _ in range(20_000):
        deep = {"a": deep}
    for bad in ("\ud800", object(), deep):
        layer, sink = _layer()
        await layer(call_of(tool(), {"a": bad}))
        assert sink.events[0].detail["arguments"].startswith(("no JSON: ", "not kept: "))


async def test_values_in_problems_and_secrets_in_messages_are_not_kept() -> None:
    """Our contract: no secrets in the audit."""
    layer, sink = _layer(InvalidArguments("t", [Problem("/pin", 'got the string "4711"')]))
    await asyncio.gather(layer(call_of(tool(), {})), return_exceptions=True)
    assert sink.events[1].detail["message"] == "arguments of t are not valid at /pin"
    layer, sink = _layer(ServerError(1, "bad key hunter22"), redact=lambda text: text.replace("hunter22", "***"))
    await asyncio.gather(layer(call_of(tool(), {})), return_exceptions=True)
    assert "hunter22" not in str(sink.events)


async def test_the_end_has_duration_size_and_findings() -> None:
    """Our contract."""
    clock, sink = FakeClock(), ListSink()
    result = tool_result("hi")

    def answer(call: Any) -> Outcome:
        clock.advance(0.25)
        return Outcome(call=call, result=result, findings=(Finding(scanner="s", level="mark", message="odd"),), notes=("noted",))

    await spawn_layer(Audit(sink, clock, Flights()), answer)(call_of(tool(), {}, turn="t1", trace="tr"))
    ended = sink.events[1]
    assert ended.detail == {"duration_ms": 250.0, "result_bytes": len(result.raw_json), "findings": ["s: odd"], "notes": ["noted"]}
    assert (ended.call, ended.turn, ended.principal, ended.server, ended.tool, ended.tier) == ("c1", "t1", "local", "math", "add", "L0")
