"""Writes down that a call was asked for and how it ended, whatever happened in between; the outermost layer.

Hashing of records, disks and chains are the store's business; this builds two small values per call.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any, Final

from dragoman.clock import Clock
from dragoman.errors import (
    ApprovalDenied,
    ApprovalExpired,
    CallTimeout,
    ConnectionLost,
    DragomanError,
    InvalidArguments,
    Refused,
)
from dragoman.policy.bounds import look
from dragoman.policy.chain import Call, CallNext, Outcome, Spent
from dragoman.policy.digests import canonical
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.ports import AuditEvent, AuditSink, Redact, Resolved, Status
from dragoman.wire.results import ToolResult

#: Of the arguments, redacted, as JSON text.
KEPT_CHARS: Final = 4096
#: Longer texts are cut before redaction, which costs time by length; a secret on this edge is far beyond what is kept.
_REDACTED_CHARS: Final = 4 * KEPT_CHARS


class Audit:
    """Two records per call: *asked* before anything else, *ended* with exactly one status after everything else."""

    name = "audit"

    def __init__(self, sink: AuditSink, clock: Clock, flights: Flights, redact: Redact | None = None) -> None:
        self._sink, self._clock, self._flights, self._redact = sink, clock, flights, redact

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        flight = self._flights.of(call)
        started = self._clock.monotonic()
        await self._sink.append(self._record("asked", call, None, self._asked(call)))
        try:
            outcome = await call_next(call)
        except DragomanError as exc:
            await self._ended(flight, started, status_of(exc), _error(exc))
            raise
        except asyncio.CancelledError:
            await self._ended(flight, started, "cancelled", {"sent": flight.sent > 0})
            raise
        except BaseException as exc:
            kind = type(exc).__name__
            await self._ended(flight, started, "failed", {"error": kind, "message": self._cut(str(exc)), "sent": flight.sent > 0})
            raise
        flight.call = outcome.call
        result = outcome.result
        outcome.spent = Spent(self._clock.monotonic() - started, max(flight.sent, 1), outcome.spent.result_bytes)
        detail: dict[str, Any] = {}
        if result is not None:
            detail["result_bytes"] = memoryview(result.raw_json).nbytes
        if outcome.findings:
            detail["findings"] = [f"{found.scanner}: {found.message}" for found in outcome.findings]
        failed = isinstance(result, ToolResult) and result.is_error
        await self._ended(flight, started, "tool error" if failed else "ok", detail, outcome.notes)
        return outcome

    def _asked(self, call: Call) -> dict[str, Any]:
        detail: dict[str, Any] = {"kind": call.kind} if call.kind != "tool" else {}
        if call.adhoc:
            detail["adhoc"] = True
        if call.trace:
            detail["trace"] = call.trace
        seen = look(call.arguments)  # before anything writes them out
        if seen.flaw is not None or seen.foreign is not None:
            detail["arguments"] = f"not kept: {seen.flaw}" if seen.flaw is not None else f"no JSON: {seen.foreign}"
            return detail
        try:
            raw = canonical(call.arguments)
        except (TypeError, ValueError, OverflowError, RecursionError) as exc:
            detail["arguments"] = f"no JSON: {type(exc).__name__}"  # validate refuses it; its value must not get in here
            return detail
        detail["arguments_sha256"] = hashlib.sha256(raw).hexdigest()
        detail["arguments"] = self._cut(raw[:_REDACTED_CHARS].decode("utf-8", "replace"), len(raw))
        return detail

    def _cut(self, text: str, size: int | None = None) -> str:
        text = text[:_REDACTED_CHARS]
        if self._redact is not None:
            text = self._redact(text)
        size = len(text) if size is None else size
        return text if size <= KEPT_CHARS and len(text) <= KEPT_CHARS else f"{text[:KEPT_CHARS]}… ({size} bytes in all)"

    async def _ended(self, flight: Flight, started: float, status: Status, detail: dict[str, Any], notes: tuple[str, ...] = ()) -> None:
        detail["duration_ms"] = round((self._clock.monotonic() - started) * 1000, 3)
        if flight.detail:
            detail.update(flight.detail)
        if flight.notes or notes:
            detail["notes"] = [self._cut(note) for note in (*flight.notes, *notes)]
        if "message" in detail:
            detail["message"] = self._cut(detail["message"])
        try:
            await self._sink.append(self._record("ended", flight.call, status, detail))
        except DragomanError:
            # The call has ended and its caller must learn how; the sink reports its own failure. What was sent without an
            # *ended* shows as unknown, which is the truth of what the audit knows.
            pass

    def _record(self, event: Any, call: Call, status: Status | None, detail: dict[str, Any]) -> AuditEvent:
        return AuditEvent(
            at=self._clock.now(),
            event=event,
            call=call.id,
            turn=call.turn or None,
            principal=call.principal,
            server=call.server or None,
            tool=call.name if isinstance(call.name, str) else f"<{type(call.name).__name__}>",  # resolve refuses it
            tier=call.tier,
            attempt=call.attempt,
            status=status,
            detail=detail,
        )

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        return "writes asked and ended"


def status_of(exc: DragomanError) -> Status:
    """The one word for how a call ended that raised ``exc``."""
    if isinstance(exc, ApprovalDenied):
        return "denied"
    if isinstance(exc, ApprovalExpired):
        return "expired"
    if isinstance(exc, Refused):
        return "refused"
    if isinstance(exc, CallTimeout | ConnectionLost) and exc.maybe_ran == "perhaps":
        return "unknown"
    return "failed"


def _error(exc: DragomanError) -> dict[str, Any]:
    # Problems quote values; the paths alone say what was wrong without keeping what was written.
    message = f"{exc.reason} at {', '.join(p.path or '/' for p in exc.problems)}" if isinstance(exc, InvalidArguments) else str(exc)
    detail: dict[str, Any] = {"error": exc.kind, "message": message}
    if isinstance(exc, Refused):
        detail["layer"] = exc.layer
    else:
        detail["maybe_ran"] = exc.maybe_ran
    return detail
