"""The end of the chain: checks the grant again, writes *sending*, hands the call to the connection, weighs the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dragoman.clock import Clock
from dragoman.errors import DragomanError, NotAllowed, ResultTooLarge
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.digests import arguments_sha256, definition_sha256
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.ports import AuditEvent, AuditSink, Resolved
from dragoman.wire.escape import escape_inline

#: Bytes of one result, by server; ``None`` is no limit.
ResultLimit = Callable[[str], int | None]

#: Says why a call that needs no durable record may not go without one: the audit has stopped; ``None``: it may.
Unrecorded = Callable[[Call], str | None]

DEFAULT_RESULT_BYTES: Final = 1_000_000
_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode


class Dispatch:
    """Everything above L1 needs a grant for exactly these bytes, and a record that survives a power cut, before it leaves."""

    name = "dispatch"

    def __init__(
        self,
        sink: AuditSink,
        clock: Clock,
        flights: Flights,
        result_limit: ResultLimit | None = None,
        unrecorded: Unrecorded | None = None,
    ) -> None:
        self._sink, self._clock, self._flights, self._unrecorded = sink, clock, flights, unrecorded
        self._limit = result_limit if result_limit is not None else _default_limit

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        flight = self._flights.of(call)
        tier = call.tier
        if tier == "L0" or tier == "L1" or (call.adhoc and tier is None):
            if self._unrecorded is not None and (why := self._unrecorded(call)) is not None:
                raise _not_recorded(call, why, "see to the disk of the state folder, then start again")
            await self._sink.append(self._sending(call, {}))
            outcome = await self._send(call, call_next, flight)
        else:
            outcome = await self._send_granted(call, call_next, flight)
        result = outcome.result
        if result is not None:  # most of what is too long is thrown away while it is read; this holds for whatever brought the rest
            limit, size = call.max_bytes if call.max_bytes is not None else self._limit(call.server), memoryview(result.raw_json).nbytes
            if limit is not None and size > limit:
                raise _too_large(call, size, limit)
        return outcome

    async def _send_granted(self, call: Call, call_next: CallNext, flight: Flight) -> Outcome:
        # A copy of our own: from here to the wire nobody else holds what was checked.
        call = msgspec.structs.replace(call, arguments=_snapshot(call.arguments))
        grant, flight.grant = flight.grant, None  # one call, one use
        shown = escape_inline(call.full_name)
        digest = arguments_sha256(call.arguments)
        if grant is None:
            raise NotAllowed(f"{shown} has no grant for this call; nothing was sent", layer=self.name, server=call.server)
        expected = (call.id, call.server, call.name, call.tier or "L2", digest, definition_sha256(call.definition))
        granted = (grant.call, grant.server, grant.tool, grant.tier, grant.arguments_sha256, grant.definition_sha256)
        if expected != granted:
            raise NotAllowed(
                f"{shown} is not what was approved: its arguments, its definition or its tier changed since; nothing was sent",
                layer=self.name,
                hint="make a new call, which is asked about anew",
                server=call.server,
            )
        detail = {"arguments_sha256": digest, "definition_sha256": grant.definition_sha256, "by": grant.by, "how": grant.how}
        try:
            await self._sink.append_durably(self._sending(call, detail))
        except DragomanError as exc:
            raise _not_recorded(call, str(exc), exc.hint or "see to the disk of the state folder, then call again") from exc
        try:
            return await self._send(call, call_next, flight)
        except DragomanError as exc:
            if exc.maybe_ran == "no":  # it provably never left: the same call may try again
                flight.grant = grant
            raise

    async def _send(self, call: Call, call_next: CallNext, flight: Flight) -> Outcome:
        flight.sent += 1
        try:
            return await call_next(call)
        except ResultTooLarge as exc:
            if exc.size is None or exc.max_bytes is None:
                raise
            raise _too_large(call, exc.size, exc.max_bytes) from exc

    def _sending(self, call: Call, detail: dict[str, Any]) -> AuditEvent:
        return AuditEvent(
            at=self._clock.now(),
            event="sending",
            call=call.id,
            turn=call.turn or None,
            principal=call.principal,
            server=call.server or None,
            tool=call.name,
            tier=call.tier,
            attempt=call.attempt,
            detail=detail,
        )

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        limit = self._limit(found.server)
        first = "sent" if found.tier in ("L0", "L1") else "sent after the grant was checked again and the record is on disk"
        return first if limit is None else f"{first}; results up to {megabytes(limit)}"


def _not_recorded(call: Call, why: str, hint: str) -> NotAllowed:
    shown = escape_inline(call.full_name)
    tier = call.tier or ("ad hoc" if call.adhoc else "L2")
    message = f"{shown} is {tier} and was not sent, because the audit cannot be written: {why}"
    return NotAllowed(message, layer=Dispatch.name, hint=hint, server=call.server)


def _default_limit(server: str) -> int:
    return DEFAULT_RESULT_BYTES


def _snapshot(arguments: Mapping[str, Any]) -> dict[str, Any]:
    # Not the sorted form: the server gets the members in the order they were written in.
    return _decode(msgspec.json.encode(arguments))


def megabytes(size: int) -> str:
    """A size in the words of the error messages: ``4.2 MB``, ``1 MB``, ``900 kB``."""
    if size < 1_000:
        return f"{size} bytes"
    value, unit = (size / 1_000_000, "MB") if size >= 1_000_000 else (size / 1_000, "kB")
    return f"{value:.1f}".removesuffix(".0") + f" {unit}"


def _too_large(call: Call, size: int, limit: int) -> ResultTooLarge:
    server, tool = escape_inline(call.server), escape_inline(call.name)
    sizes = (megabytes(size), megabytes(limit))
    first, second = sizes if sizes[0] != sizes[1] else (f"{size:,} bytes", f"{limit:,} bytes")
    message = f'result is {first}, limit {second} (server "{server}", {call.kind} "{tool}")'
    key = "limits.result_bytes" if call.max_bytes is None else f"tools.{tool}.result_bytes"
    message += "; ask for less" if call.adhoc else f"; raise servers.{server}.{key}"
    return ResultTooLarge(message, size, limit, server=call.server or None)
