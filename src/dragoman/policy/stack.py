"""THE order of the layers, a line of reason for each place, and the whole chain built from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dragoman.clock import Clock, SystemClock
from dragoman.errors import DragomanError
from dragoman.policy.approve import Approve, InVain
from dragoman.policy.audit import Audit
from dragoman.policy.chain import Call, CallNext, Layer, Outcome, compose
from dragoman.policy.dispatch import Dispatch, ResultLimit
from dragoman.policy.flights import Flights
from dragoman.policy.label import Label
from dragoman.policy.ports import Approver, AuditSink, Caller, Redact, Registry, Resolved
from dragoman.policy.resolve import Resolve
from dragoman.policy.schemas import Schemas
from dragoman.policy.validate import Validate

ORDER: Final = (
    ("audit", "outermost, so that nothing happens without a record, refusals included"),
    ("resolve", "everything further in needs the server, the tool as it was listed, and the tier"),
    ("label", "outside of all that looks at results, so that no result leaves without its label"),
    ("validate", "before anybody is asked: a person sees only arguments that can work, as they will be sent"),
    ("approve", "last of those who can refuse by rule or by will, so that a yes is for what really goes out"),
    ("dispatch", "innermost: nothing stands between the last check and the wire"),
)


class Row(NamedTuple):
    """One place of the chain: its number from 1, the layer, why it stands there, what it does with the tool asked about."""

    place: int
    layer: str
    why: str
    here: str


class Stack:
    """A composed chain. ``await stack(call)`` raises what happened to a call; ``await stack.run(call)`` never does."""

    def __init__(self, layers: list[Layer], endpoint: CallNext, flights: Flights) -> None:
        self.layers = tuple(layers)
        self.flights = flights
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
    extra: dict[str, list[Layer]] | None = None,
) -> Stack:
    """The chain of a host.

    Args:
        approver: ``None``: nobody is there to ask; L2 and L3 are denied.
        endpoint: What sends a call to its server.
        redact: Takes secrets out of what the audit keeps and problems quote.
        in_vain: Says why asking for approval is pointless now (a server that is down).
        result_limit: Bytes of one result by server; by default 1 MB for all.
        extra: Layers of the program's own, by the name of the layer that they stand right inside of.
    """
    clock = SystemClock() if clock is None else clock
    flights = Flights()
    made: dict[str, Any] = {
        "audit": Audit(sink, clock, flights, redact),
        "resolve": Resolve(registry, flights),
        "label": Label(),
        "validate": Validate(flights, schemas, redact),
        "approve": Approve(approver, clock, flights, timeout_s=approval_timeout_s, in_vain=in_vain),
        "dispatch": Dispatch(sink, clock, flights, result_limit),
    }
    layers: list[Layer] = []
    for name, _ in ORDER:
        layers.append(made[name])
        if name != "dispatch":
            layers.extend((extra or {}).get(name, ()))
    return Stack(layers, endpoint, flights)
