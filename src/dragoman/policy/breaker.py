"""Leaves a server alone that failed too often in a row, tries it once after a while, and goes on when that went well.

Counted is what happens on the way: lost, timed out, not reached, answered with HTTP 5xx. An answer of the server's, even an error
or one with ``isError``, shows that it is there. A refusal of ours or a cancellation says nothing about it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from dragoman.clock import Clock
from dragoman.errors import (
    BreakerOpen,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidResult,
    MalformedResponse,
    ResultTooLarge,
    ServerError,
    SpawnFailed,
    TransportError,
)
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.ports import Resolved
from dragoman.wire.alerts import Alert, AlertSink
from dragoman.wire.escape import escape_inline
from dragoman.wire.span import span

_ANSWERED: Final = (ServerError, InvalidResult, ResultTooLarge, MalformedResponse)


class BreakerRule(msgspec.Struct, frozen=True):
    """When a server is left alone: after so many failures in a row, for so many seconds."""

    failures: int = 10
    open_s: float = 300.0


#: The rule of a server; ``None``: it has no breaker.
BreakerRuleOf = Callable[[str], BreakerRule | None]


class BreakerState(msgspec.Struct, frozen=True, kw_only=True):
    """How a breaker stands.

    Attributes:
        state: ``half-open``: the next call is a trial, or one is under way.
        failures: In a row, so far.
        since: When it opened, seconds since the epoch; ``None`` while it is closed.
        retry_at: When the trial may be made, seconds since the epoch; ``None`` while it is closed.
        last: The last failure, one line, escaped.
    """

    state: Literal["closed", "open", "half-open"] = "closed"
    failures: int = 0
    since: float | None = None
    retry_at: float | None = None
    last: str = ""


_CLOSED: Final = BreakerState()


class _Breaker:
    """One server's. Times are the clock's ``monotonic`` unless they say otherwise."""

    __slots__ = ("failures", "incidents", "last", "last_error", "open_until", "opened", "since", "trial")

    def __init__(self) -> None:
        self.failures = 0
        self.incidents = 0
        self.last = ""
        self.last_error: weakref.ref[DragomanError] | None = None
        self.opened = False
        self.open_until = 0.0
        self.since = 0.0  # since the epoch
        self.trial: str | None = None  # the id of the call that is the trial


class Breakers:
    """The breakers of all servers; those that never failed have none. Used from one event loop.

    Args:
        rule_of: The rule of a server.
        alert: Is told when one opens and when it closes again.
    """

    def __init__(self, clock: Clock, rule_of: BreakerRuleOf | None = None, alert: AlertSink | None = None) -> None:
        self._clock, self._alert = clock, alert
        self.rule_of: BreakerRuleOf = rule_of if rule_of is not None else _default_rule
        self._known: dict[str, _Breaker] = {}

    def state(self, server: str) -> BreakerState:
        """How the breaker of a server stands."""
        breaker = self._known.get(server)
        if breaker is None:
            return _CLOSED
        if not breaker.opened:
            return BreakerState(failures=breaker.failures, last=breaker.last)
        left_s = breaker.open_until - self._clock.monotonic()
        return BreakerState(
            state="open" if left_s > 0 else "half-open",
            failures=breaker.failures,
            since=breaker.since,
            retry_at=self._clock.now() + max(left_s, 0.0),
            last=breaker.last,
        )

    def obstacle(self, server: str) -> BreakerOpen | None:
        """Why a call would be refused right now; ``None`` if it would go on, perhaps as the trial."""
        breaker = self._known.get(server)
        if breaker is None or not breaker.opened:
            return None
        left_s = breaker.open_until - self._clock.monotonic()
        if left_s <= 0 and breaker.trial is None:
            return None
        shown, now = escape_inline(server), self._clock.now()
        times = f"{breaker.failures} time{'' if breaker.failures == 1 else 's'} in a row"
        since = f"since {_clock_time(breaker.since)} ({span(now - breaker.since)} ago)"
        if left_s > 0:
            then = f"the next call is let through as a trial at {_clock_time(now + left_s)} (in {span(left_s)})"
            hint = f"see what is wrong with it: dragoman status {shown}; or wait for the trial"
        else:
            then = "a trial is under way"
            hint = "call again in a moment; the trial shows whether it is back"
        return BreakerOpen(
            f"the server {shown} is left alone {since}, because calls of it failed {times}, the last one so: {breaker.last}; "
            f"nothing was sent; {then}",
            layer=Break.name,
            hint=hint,
            server=server,
            since=breaker.since,
            retry_after_s=max(left_s, 0.0),
        )

    def reset(self, server: str) -> None:
        """Forget all failures of a server: it was removed, or a person has started it anew."""
        breaker = self._known.pop(server, None)
        if breaker is not None and breaker.opened:
            self._tell("breaker closed", server, f"calls of the server {escape_inline(server)} are let through again")

    # --- what the layer tells -----------------------------------------------------------------------------------

    def enter(self, call: Call) -> int:
        """Before a call: the mark to give back with its ending.

        Raises:
            BreakerOpen: It is not to be made.
        """
        breaker = self._known.get(call.server)
        if breaker is None:
            return 0
        if breaker.opened:
            if (refusal := self.obstacle(call.server)) is not None:
                raise refusal
            breaker.trial = call.id
        return breaker.incidents

    def succeeded(self, call: Call) -> None:
        """The server answered."""
        breaker = self._known.get(call.server)
        if breaker is None:
            return
        if breaker.opened:
            if breaker.trial != call.id:
                return  # it was on its way since before; the trial will show
            breaker.opened, breaker.trial = False, None
            self._tell("breaker closed", call.server, f"the server {escape_inline(call.server)} answers again; its calls are let through")
        breaker.failures = 0

    def undecided(self, call: Call) -> None:
        """The call ended in a way that says nothing about the server: another one may be the trial."""
        breaker = self._known.get(call.server)
        if breaker is not None and breaker.trial == call.id:
            breaker.trial = None

    def failed(self, call: Call, error: DragomanError, mark: int) -> None:
        """The server was not reached, or gave no answer.

        Several calls that one loss ended are one failure: those that began before it was noted do not count again. Each time-out
        and each HTTP status speaks for itself.
        """
        rule = self.rule_of(call.server)
        if rule is None:
            return
        breaker = self._known.get(call.server)
        if breaker is None:
            breaker = self._known[call.server] = _Breaker()
        is_trial = breaker.trial == call.id
        if breaker.opened and not is_trial:
            return
        known = breaker.last_error() if breaker.last_error is not None else None
        news = isinstance(error, CallTimeout) or (_status(error) or 0) >= 500 or (mark == breaker.incidents and known is not error)
        if not (is_trial or news):
            return
        breaker.incidents += 1
        breaker.failures += 1
        breaker.last_error = weakref.ref(error)
        breaker.last = f"{error.kind}: {error.first_line}"
        if is_trial or breaker.failures >= rule.failures:
            self._open(call.server, breaker, rule)

    def _open(self, server: str, breaker: _Breaker, rule: BreakerRule) -> None:
        again = breaker.opened
        breaker.trial, breaker.opened = None, True
        breaker.open_until = self._clock.monotonic() + rule.open_s
        if again:
            return  # a trial that failed: it is told once
        breaker.since = self._clock.now()
        shown = escape_inline(server)
        self._tell(
            "breaker open",
            server,
            f"calls of the server {shown} are refused for {span(rule.open_s)}: {breaker.failures} in a row failed, "
            f"the last one so: {breaker.last}; see what is wrong with it: dragoman status {shown}",
        )

    def _tell(self, kind: Literal["breaker open", "breaker closed"], server: str, text: str) -> None:
        if self._alert is not None:
            self._alert(Alert(kind=kind, server=server, text=text, at=self._clock.now()))


class Break:
    """The layer: asks the server's breaker before, tells it after."""

    name = "breaker"

    def __init__(self, breakers: Breakers) -> None:
        self._breakers = breakers

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        breakers = self._breakers
        mark = breakers.enter(call) if breakers._known else 0
        try:
            outcome = await call_next(call)
        except DragomanError as exc:
            if is_fault(exc):
                breakers.failed(call, exc, mark)
            elif isinstance(exc, _ANSWERED):
                breakers.succeeded(call)
            else:
                breakers.undecided(call)
            raise
        except BaseException:
            breakers.undecided(call)
            raise
        if breakers._known:
            breakers.succeeded(call)
        return outcome

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        rule = self._breakers.rule_of(found.server)
        if rule is None:
            return "off"
        return f"opens after {rule.failures} failures in a row, for {span(rule.open_s)}"


def is_fault(error: DragomanError) -> bool:
    """Whether an ending speaks against the server, by news of its own: not reached, lost, timed out, or an answer of HTTP 5xx.

    A status from 300 to 499 is the answer of a server that is there.
    """
    if isinstance(error, TransportError) and not error.tried:
        return False  # somebody else looks after that
    status = _status(error)
    if status is not None and status >= 500:
        return True
    return isinstance(error, CallTimeout | ConnectionLost | SpawnFailed | ConnectFailed) and (status is None or status < 300)


def _status(error: DragomanError) -> int | None:
    """HTTP's, where the error came with one."""
    return error.status if isinstance(error, ConnectionLost | ServerError | ConnectFailed) else None


def _default_rule(server: str) -> BreakerRule:
    return BreakerRule()


def _clock_time(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
