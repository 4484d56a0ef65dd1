"""What a turn may use up: so far this breaks loops, the same call that fails in the same way again and again.

Calls that belong to no turn are compared with nothing.
"""

from __future__ import annotations

import re
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import ApprovalPending, BudgetExhausted, DragomanError
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.digests import arguments_sha256
from dragoman.policy.ports import Resolved
from dragoman.policy.turns import Failing, Turns, TurnState
from dragoman.wire.escape import escape_inline
from dragoman.wire.results import ToolResult

#: So many equal failures are enough.
ENOUGH: Final = 3
#: After so long the world may have changed, and the call is let through again.
FORGOTTEN_S: Final = 300.0
_COMPARED_CHARS: Final = 500
_SHOWN_CHARS: Final = 200
_NUMBER: Final = re.compile(r"\d+")


class Budget:
    """The layer."""

    name = "budget"

    def __init__(self, turns: Turns, clock: Clock) -> None:
        self._turns, self._clock = turns, clock

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        if not call.turn or call.turn == call.id:
            return await call_next(call)
        state = self._turns.get(call.principal, call.turn)
        if state is not None and state.failing:
            self._break(call, state)
        try:
            outcome = await call_next(call)
        except DragomanError as exc:
            if not isinstance(exc, ApprovalPending):
                self._note(call, exc.kind, str(exc))
            raise
        result = outcome.result
        if isinstance(result, ToolResult) and result.is_error:
            self._note(call, "tool error", result.text)
        elif state is not None and state.failing:
            state.failing.pop(_key(call), None)
        return outcome

    def refused(self, call: Call, error: DragomanError) -> None:
        """Arguments were refused before this layer was reached: that is the loop that models are caught in most.

        Raises:
            BudgetExhausted: They were refused often enough.
        """
        if not call.turn or call.turn == call.id:
            return
        try:
            state = self._turns.get(call.principal, call.turn)
            if state is not None and state.failing:
                self._break(call, state)
            self._note(call, error.kind, str(error))
        except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON: there is nothing to know them by
            return

    def _break(self, call: Call, state: TurnState) -> None:
        key = _key(call)
        known = state.failing.get(key)
        if known is not None and known.times >= ENOUGH:
            if self._clock.monotonic() - known.at < FORGOTTEN_S:
                raise _looping(call, known)
            del state.failing[key]

    def _note(self, call: Call, kind: str, words: str) -> None:
        state = self._turns.of(call.principal, call.turn)
        key = _key(call)
        # Ids, times and counts differ from one failure to the next without making it another one.
        how = f"{kind}: {_NUMBER.sub('#', words[:_COMPARED_CHARS])}"
        known = state.failing.get(key)
        count = known.times + 1 if known is not None and known.how == how else 1
        shown = escape_inline(f"{kind}: {(words.splitlines() or [''])[0]}")[:_SHOWN_CHARS]
        state.note(key, Failing(how, shown, count, self._clock.monotonic()))

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        return f"the same call that failed {ENOUGH} times in the same way in one turn is refused"


def _key(call: Call) -> tuple[str, str, str, str]:
    return call.kind, call.server, call.name, arguments_sha256(call.arguments)


def _looping(call: Call, known: Failing) -> BudgetExhausted:
    return BudgetExhausted(
        f"{escape_inline(call.full_name)} with these arguments failed {known.times} times in this turn, each time so: {known.shown}; "
        "nothing was sent",
        layer=Budget.name,
        hint="do not repeat it as it is: change the arguments, use another tool, or ask the person",
        server=call.server,
    )
