"""Calls on their way, by id: what they look like now and what was noted about them. Layers share it; none of them owns it.

A layer that is used alone finds no flight and loses nothing but the notes.
"""

from __future__ import annotations

from typing import Any

from dragoman.policy.chain import Call
from dragoman.policy.ports import Resolved
from dragoman.policy.questions import Grant


class Flight:
    """One call on its way.

    Attributes:
        call: As it was last seen: resolved, coerced.
        notes: What layers did, one line each, for the outcome.
        detail: What they did, for the audit's *ended* record.
        found: What the register says about its tool, from *resolve*.
        grant: The yes that *approve* got, until *dispatch* takes it.
        sent: Attempts that were handed to the connection.
    """

    __slots__ = ("call", "detail", "found", "grant", "notes", "sent")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.notes: list[str] = []
        self.detail: dict[str, Any] = {}
        self.found: Resolved | None = None
        self.grant: Grant | None = None
        self.sent = 0


class Flights:
    """All of them. Used from one event loop."""

    __slots__ = ("_by_id",)

    def __init__(self) -> None:
        self._by_id: dict[str, Flight] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def open(self, call: Call) -> Flight:
        """Begin to follow a call.

        Raises:
            ValueError: A call of this id is on its way already; a grant must not serve two.
        """
        if call.id in self._by_id:
            raise ValueError(f"call id {call.id!r} is in use")
        flight = self._by_id[call.id] = Flight(call)
        return flight

    def of(self, call: Call) -> Flight:
        """The flight of a call; for one that nobody opened, a fresh one that nobody else sees."""
        return self._by_id.get(call.id) or Flight(call)

    def close(self, call: Call) -> None:
        """Forget it; unknown ids are ignored."""
        self._by_id.pop(call.id, None)
