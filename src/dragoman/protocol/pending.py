"""The table of open requests: each one leaves it exactly once.

Ids are keys by value *and* type: 7 and "7" are different requests.
"""

from __future__ import annotations

import msgspec
from msgspec import UnsetType

from dragoman.wire.envelope import RequestId


class Entry(msgspec.Struct, gc=False):
    """An open request.

    Attributes:
        handshake: It belongs to the handshake and is settled there.
        max_bytes: The longest result that whoever asked wants; ``None``: any.
    """

    method: str
    handshake: bool = False
    max_bytes: int | None = None


class PendingTable:
    """Open requests by id."""

    __slots__ = ("_entries", "_next")

    def __init__(self) -> None:
        self._entries: dict[RequestId, Entry] = {}
        self._next = 1

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._entries

    def open(self, method: str, *, handshake: bool = False, max_bytes: int | None = None) -> int:
        """Mint the next id and note the request under it."""
        request_id = self._next
        self._next = request_id + 1
        self._entries[request_id] = Entry(method, handshake, max_bytes)
        return request_id

    def get(self, request_id: RequestId) -> Entry | None:
        """Look at an open request without taking it out."""
        return self._entries.get(request_id)

    def longest(self) -> int | None:
        """The most bytes that any result may have that is waited for; ``None`` where one may have any number."""
        most = 0
        for entry in self._entries.values():
            if entry.max_bytes is None:
                return None
            most = max(most, entry.max_bytes)
        return most

    def settle(self, request_id: RequestId | UnsetType | None) -> Entry | None:
        """Take the request out, or ``None`` if it is not open: the one way out of the table."""
        return self._entries.pop(request_id, None)  # type: ignore[arg-type]  # an absent id is no key, and finds none

    def alias(self, request_id: RequestId) -> RequestId | None:
        """The open request that an id of the wrong type can only mean: ``"7"`` or ``7.0`` for 7, and the reverse."""
        other: RequestId
        if isinstance(request_id, str):
            number = _number(request_id)
            if number is None:
                return None
            other = number
        else:
            other = str(request_id)
        return other if other in self._entries else None

    def minted(self, request_id: RequestId) -> bool:
        """Whether the id was ever ours, also written as a string: a late or second answer, rather than a foreign one."""
        number = _number(request_id) if isinstance(request_id, str) else request_id
        return number is not None and 0 < number < self._next

    def drain(self) -> list[tuple[RequestId, Entry]]:
        """Take everything out, oldest first."""
        entries = list(self._entries.items())
        self._entries.clear()
        return entries


def _number(text: str) -> int | None:
    return int(text) if len(text) <= 19 and text.isascii() and text.isdigit() else None
