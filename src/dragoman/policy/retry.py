"""Tries again what provably never left, and reads that were lost on the way; never a write that perhaps ran.

The person's configuration may say that a tool is idempotent; what its server says of it does not count. All attempts share the
deadline of the call, and all calls of a turn share one budget. Each attempt leaves its own *sending* in the audit.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from dragoman.clock import Clock
from dragoman.errors import (
    AuthRequired,
    CallFailed,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    EgressDenied,
    Refused,
    ServerError,
    SpawnFailed,
    TransportError,
)
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.flights import Flight, Flights
from dragoman.policy.ports import InVain, Resolved
from dragoman.policy.turns import Turns

#: Of each call, after the first attempt.
RETRIES: Final = 2
_FIRST_S: Final = 0.25
_LEAST_S: Final = 0.05
#: A call without a deadline of its own waits no longer than this for its next attempt, whatever its server asks for.
_LONGEST_S: Final = 30.0
#: A server that turns a request away unread with one of these wants it later: too early, too many, or it waited too long for it.
_LATER: Final = frozenset({408, 425, 429})


class Retry:
    """The layer.

    Args:
        turns: The budgets.
        in_vain: Says why the server cannot be reached right now, without trying.
        sleep, jitter: Waiting, and a number from 0 to 1; tests have their own.
    """

    name = "retry"

    def __init__(
        self,
        turns: Turns,
        flights: Flights,
        clock: Clock,
        *,
        in_vain: InVain | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._turns, self._flights, self._clock = turns, flights, clock
        self._in_vain, self._sleep, self._jitter = in_vain, sleep, jitter

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        began = self._clock.monotonic()
        try:
            return await call_next(call)
        except (CallFailed, TransportError) as exc:
            flight = self._flights.of(call)
            _mark(exc, call, flight)
            if not may_be_sent_again(call, exc, flight.found):
                raise
            first = exc
        return await self._again(call, call_next, began, first, flight)

    async def _again(self, call: Call, call_next: CallNext, began: float, first: DragomanError, flight: Flight) -> Outcome:
        told = error = first
        whole_s, most_s = call.timeout_s, call.max_timeout_s
        for attempt in range(2, RETRIES + 2):
            if isinstance(self._obstacle(call), Refused):
                break  # it was stopped or removed, by us
            wait_s = _FIRST_S * 2.0 ** (attempt - 2) * (0.5 + self._jitter() / 2)
            wait_s = max(wait_s, error.retry_after_s or 0.0)
            spent_s = self._clock.monotonic() - began
            said = f"{error.kind}: {error.first_line}"
            if whole_s is not None and whole_s - spent_s - wait_s < _LEAST_S:
                flight.notes.append(f"not tried again: no time is left for it ({said})")
                break
            if whole_s is None and wait_s > _LONGEST_S:
                flight.notes.append(f"not tried again: the server wants to be left alone for {wait_s:g} s ({said})")
                break
            if not self._take(call):
                flight.notes.append(f"not tried again: the turn has used up its {self._turns.retries} retries ({said})")
                break
            await self._sleep(wait_s)
            if self._obstacle(call) is not None:
                break
            spent_s = self._clock.monotonic() - began
            left_s = None if whole_s is None else max(whole_s - spent_s, _LEAST_S)
            left_most_s = None if most_s is None or left_s is None else max(most_s - spent_s, left_s)
            call = flight.call = msgspec.structs.replace(call, attempt=attempt, timeout_s=left_s, max_timeout_s=left_most_s)
            flight.notes.append(f"tried again after {said}")
            try:
                return await call_next(call)
            except (CallFailed, TransportError) as exc:
                _mark(exc, call, flight)
                # What is told must say whether it may have run: an attempt that never left does not undo one that perhaps arrived.
                told = told if told.maybe_ran != "no" and exc.maybe_ran == "no" else exc
                if exc is error or not may_be_sent_again(call, exc, flight.found):
                    break  # the very same error: nothing was tried at all
                error = exc
            except DragomanError as exc:
                if isinstance(exc, Refused) or told.maybe_ran != "no":
                    raise told from exc  # how the attempt ended that was made, not why there was no other
                raise
        raise told

    def _obstacle(self, call: Call) -> DragomanError | None:
        return self._in_vain(call) if self._in_vain is not None else None

    def _take(self, call: Call) -> bool:
        """Take one retry from the turn's budget; false if there is none left."""
        if not call.turn or call.turn == call.id:  # a turn of its own
            return call.attempt <= self._turns.retries
        state = self._turns.of(call.principal, call.turn)
        if state.retries_left <= 0:
            return False
        state.retries_left -= 1
        return True

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        budget = f"{self._turns.retries} retries a turn"
        if found.tier == "L0":
            return f"a read: tried up to {RETRIES} times more when it is lost; {budget}"
        if found.tier == "L1" and found.idempotent:
            return f"idempotent: tried up to {RETRIES} times more when it is lost; {budget}"
        return f"a write: tried up to {RETRIES} times more only where it provably never left; {budget}"


def may_be_sent_again(call: Call, error: DragomanError, found: Resolved | None) -> bool:
    """Whether a call that ended so may go out once more."""
    if call.adhoc or isinstance(error, AuthRequired | EgressDenied) or (isinstance(error, TransportError) and not error.tried):
        return False
    status = error.status if isinstance(error, ConnectionLost | ConnectFailed | ServerError) else None
    if status is not None and 300 <= status < 500 and status not in _LATER:
        return False  # it would get the same answer
    if isinstance(error, SpawnFailed) and error.exit_code is None:
        return False  # there is no such program
    if error.maybe_ran == "no":
        return True
    if error.maybe_ran == "yes" or not isinstance(error, ConnectionLost) or (status is not None and status >= 500):
        return False  # it was answered, or its time is over; behind a 5xx it may have run
    return is_repeatable(call, found)


def is_repeatable(call: Call, found: Resolved | None) -> bool:
    """Whether running a call twice is the same as once: a read, or what a person said of a small write."""
    return call.tier == "L0" or (call.tier == "L1" and found is not None and found.idempotent)


def _mark(error: DragomanError, call: Call, flight: Flight) -> None:
    """Let the error know whether its call may be repeated, so that it can say so."""
    if isinstance(error, CallFailed):
        error.repeatable = is_repeatable(call, flight.found)
