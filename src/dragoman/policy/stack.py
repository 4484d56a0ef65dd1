"""THE order of the layers, a line of reason for each place, and the whole chain built from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dragoman.clock import Clock, SystemClock
from dragoman.errors import DragomanError
from dragoman.policy.approve import Approve
from dragoman.policy.audit import Audit
from dragoman.policy.breaker import Break, BreakerRuleOf, Breakers
from dragoman.policy.budget import Budget
from dragoman.policy.bulkhead import TOTAL, Bulkhead, LaneRuleOf, Places
from dragoman.policy.chain import Call, CallNext, Layer, Outcome, compose
from dragoman.policy.dispatch import Dispatch, ResultLimit, Unrecorded
from dragoman.policy.flights import Flights
from dragoman.policy.label import Label
from dragoman.policy.ports import Approver, AuditSink, Caller, InVain, Redact, Registry, Resolved
from dragoman.policy.resolve import Resolve
from dragoman.policy.retry import Retry
from dragoman.policy.schemas import Schemas
from dragoman.policy.stale import Stale, StaleAnswers
from dragoman.policy.turns import RETRIES, Turns
from dragoman.policy.validate import Validate
from dragoman.wire.alerts import AlertSink

ORDER: Final = (
    ("audit", "outermost, so that nothing happens without a record, refusals included"),
    ("resolve", "everything further in needs the server, the tool as it was listed, and the tier"),
    ("label", "outside of all that looks at results, so that no result leaves without its label"),
    ("validate", "before anybody is asked: a person sees only arguments that can work, as they will be sent"),
    ("budget", "before anybody is asked: a loop must not wear out the person either"),
    ("approve", "last of those who can refuse by rule or by will, so that a yes is for what really goes out"),
    ("stale", "outside of all that can find the server down, inside of all that decides whether the call may be made"),
    ("retry", "outside of what counts and queues, so that each attempt is counted and waits its turn"),
    ("breaker", "before the queue: a call that is not made takes nobody's place"),
    ("bulkhead", "around the sending alone: a place is held while the server works, not while anybody waits"),
    ("dispatch", "innermost: nothing stands between the last check and the wire"),
)


class Row(NamedTuple):
    """One place of the chain: its number from 1, the layer, why it stands there, what it does with the tool asked about."""

    place: int
    layer: str
    why: str
    here: str


class Shared(NamedTuple):
    """What the layers of a chain remember from call to call."""

    breakers: Breakers
    places: Places
    turns: Turns
    stale: StaleAnswers

    def forget(self, server: str) -> None:
        """Forget a server that was removed."""
        self.breakers.reset(server)
        self.places.drop(server)
        self.stale.forget(server)


class Stack:
    """A composed chain. ``await stack(call)`` raises what happened to a call; ``await stack.run(call)`` never does."""

    def __init__(self, layers: list[Layer], endpoint: CallNext, flights: Flights, shared: Shared) -> None:
        self.layers = tuple(layers)
        self.flights = flights
        self.shared = shared
        self._chain: CallNext = compose(layers, endpoint)

    async def __call__(self, call: Call) -> Outcome:
        """Through all layers and back.

        Raises:
            DragomanError: What ended the call.
            ValueError: Its id is that of another call on its way.
        """
        flight = self.flights.open(call)
        try:
            outcome = await self._chain(call)
        finally:
            self.flights.close(call)
        if flight.notes:
            outcome.notes = (*flight.notes, *outcome.notes)
        return outcome

    async def run(self, call: Call) -> Outcome:
        """As calling it, with the error inside the outcome, next to the call as it was last seen. Cancellation is raised."""
        flight = self.flights.open(call)
        try:
            outcome = await self._chain(call)
        except DragomanError as exc:
            outcome = Outcome(call=flight.call, error=exc)
        finally:
            self.flights.close(call)
        if flight.notes:
            outcome.notes = (*flight.notes, *outcome.notes)
        return outcome

    def explain(self, found: Resolved | None = None) -> list[Row]:
        """The table of ``policy explain``: one row per layer, with what it does to calls of ``found``."""
        why = dict(ORDER)
        rows = []
        for place, layer in enumerate(self.layers, 1):
            tell: Callable[[Resolved], str] | None = getattr(layer, "explain", None)
            here = tell(found) if found is not None and tell is not None else ""
            rows.append(Row(place, layer.name, why.get(layer.name, "added by this program"), here))
        return rows


def build(
    *,
    sink: AuditSink,
    registry: Registry,
    approver: Approver | None,
    endpoint: Caller,
    clock: Clock | None = None,
    redact: Redact | None = None,
    schemas: Schemas | None = None,
    approval_timeout_s: float = 300.0,
    in_vain: InVain | None = None,
    result_limit: ResultLimit | None = None,
    unrecorded: Unrecorded | None = None,
    breaker_rule: BreakerRuleOf | None = None,
    lane_rule: LaneRuleOf | None = None,
    concurrent: int = TOTAL,
    retries_per_turn: int = RETRIES,
    alert: AlertSink | None = None,
    extra: dict[str, list[Layer]] | None = None,
) -> Stack:
    """The chain of a host.

    Args:
        approver: ``None``: nobody is there to ask; L2 and L3 are denied.
        endpoint: What sends a call to its server.
        redact: Takes secrets out of what the audit keeps and problems quote.
        in_vain: Says why asking for approval is pointless now (a server that is down).
        result_limit: Bytes of one result by server; by default 1 MB for all.
        unrecorded: Says why a call of L0 or L1 may not go while the audit cannot be written.
        breaker_rule, lane_rule: By server: when it is left alone, and how many calls of it are made at one time.
        concurrent: Calls at one time, over all servers.
        retries_per_turn: Over all servers.
        alert: Is told when a breaker opens or closes.
        extra: Layers of the program's own, by the name of the layer that they stand right inside of.
    """
    clock = SystemClock() if clock is None else clock
    flights = Flights()
    shared = Shared(
        breakers=Breakers(clock, breaker_rule, alert),
        places=Places(clock, lane_rule, concurrent),
        turns=Turns(retries_per_turn),
        stale=StaleAnswers(clock),
    )

    def pointless(call: Call) -> DragomanError | None:
        return (in_vain(call) if in_vain is not None else None) or shared.breakers.obstacle(call.server)

    budget = Budget(shared.turns, clock)
    made: dict[str, Any] = {
        "audit": Audit(sink, clock, flights, redact),
        "resolve": Resolve(registry, flights),
        "label": Label(),
        "validate": Validate(flights, schemas, redact, budget.refused),
        "budget": budget,
        "approve": Approve(approver, clock, flights, timeout_s=approval_timeout_s, in_vain=pointless),
        "stale": Stale(shared.stale, flights),
        "retry": Retry(shared.turns, flights, clock, in_vain=in_vain),
        "breaker": Break(shared.breakers),
        "bulkhead": Bulkhead(shared.places),
        "dispatch": Dispatch(sink, clock, flights, result_limit, unrecorded),
    }
    layers: list[Layer] = []
    for name, _ in ORDER:
        layers.append(made[name])
        if name != "dispatch":
            layers.extend((extra or {}).get(name, ()))
    return Stack(layers, endpoint, flights, shared)
