"""Something wrong in what a peer sent that was set aside, so that the rest could be used."""

from __future__ import annotations

from typing import NamedTuple


class Flaw(NamedTuple):
    """Where (a JSON pointer, ``""`` for the root), and what was wrong there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message
