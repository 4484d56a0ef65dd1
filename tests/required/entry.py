"""One requirement: what it wants, where it stands, and how this project meets it."""

from __future__ import annotations

from typing import Literal, NamedTuple

State = Literal["shown", "open", "not ours"]


class Req(NamedTuple):
    """One requirement of the specification for a client.

    Attributes:
        id: Group and number, e.g. ``R-FRAME-02``.
        level: ``MUST``, ``SHOULD`` or ``MAY``; with a star where it follows from the text and does not stand in it in those words.
        revisions: The first and the last that has it, or the extension or guidance it comes from.
        wants: What it wants, in our words.
        page: Where it stands, below the revision's pages.
        tests: Tests that fail when it is not met, as ``tests/…/test_x.py::test_name``; one with parameters is named without them.
        open: What is missing; the tests, if any, show the rest.
        na: Why it is none of a client's duties here.
    """

    id: str
    level: str
    revisions: str
    wants: str
    page: str
    tests: tuple[str, ...] = ()
    open: str = ""
    na: str = ""

    @property
    def group(self) -> str:
        """The word in the middle of the id."""
        return self.id.split("-")[1]

    @property
    def state(self) -> State:
        """What the entry comes to."""
        return "not ours" if self.na else "open" if self.open or not self.tests else "shown"
