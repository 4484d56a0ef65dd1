"""What the calls of one turn share: the retries that are left, and which calls failed in the same way again and again.

A turn is known from its first retry or failure on, and forgotten when it ends; of turns that nobody ends, the oldest go.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

RETRIES: Final = 5
MAX_TURNS: Final = 1_000
MAX_FAILURES: Final = 64


class Failing(NamedTuple):
    """A call that failed: how, in words and as they are compared, how often in a row, and when last (the clock's ``monotonic``)."""

    how: str
    shown: str
    times: int
    at: float


class TurnState:
    """One turn.

    Attributes:
        retries_left: Over all servers.
        failing: By server, tool and digest of the arguments; at most 64, the oldest go.
    """

    __slots__ = ("failing", "retries_left")

    def __init__(self, retries: int) -> None:
        self.retries_left = retries
        self.failing: OrderedDict[tuple[str, str, str, str], Failing] = OrderedDict()

    def note(self, key: tuple[str, str, str, str], failing: Failing) -> None:
        """Remember a call that failed."""
        self.failing[key] = failing
        self.failing.move_to_end(key)
        if len(self.failing) > MAX_FAILURES:
            self.failing.popitem(last=False)


class Turns:
    """All turns that there is something to remember of. Used from one event loop.

    Args:
        retries: For each turn.
    """

    def __init__(self, retries: int = RETRIES) -> None:
        self.retries = retries
        self._known: OrderedDict[tuple[str, str], TurnState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, principal: str, turn: str) -> TurnState | None:
        """What is known of a turn; ``None``: nothing worth remembering happened in it."""
        return self._known.get((principal, turn)) if self._known else None

    def of(self, principal: str, turn: str) -> TurnState:
        """What is known of a turn, from now on if nothing was."""
        key = (principal, turn)
        state = self._known.get(key)
        if state is None:
            state = self._known[key] = TurnState(self.retries)
            if len(self._known) > MAX_TURNS:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return state

    def end(self, principal: str, turn: str) -> None:
        """Forget a turn; unknown ones are ignored."""
        self._known.pop((principal, turn), None)
