"""Notes in the audit: what a person changed about servers and tiers, who it was and how they said so. They belong to no call."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from dragoman.service.approving import parent_program
from dragoman.service.plumbing import person
from dragoman.store.base import AuditLog
from dragoman.store.records import AuditEntry

How = Literal["terminal", "--yes", "command"]


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """Who said yes, when, and by what way.

    Attributes:
        how: Asked and answered on a ``terminal``, agreed to beforehand with ``--yes``, or the ``command`` itself said it all.
        terminal: Whether a person could have been asked.
        parent: The program that started ours, e.g. ``bash``; empty where the system does not tell.
    """

    at: float
    by: str
    how: How
    terminal: bool
    parent: str


def agreement(how: How, *, terminal: bool) -> Agreement:
    """The person at the keyboard, now."""
    return Agreement(at=time.time(), by=person(), how=how, terminal=terminal, parent=parent_program() or "")


async def note(
    store: AuditLog,
    event: str,
    agreed: Agreement,
    *,
    server: str | None = None,
    tool: str | None = None,
    tier: str | None = None,
    **detail: Any,
) -> None:
    """Write down a change so that it survives a power cut.

    Raises:
        DragomanError: It could not be written.
    """
    await store.append_durably(
        AuditEntry(
            at=agreed.at,
            event=event,
            principal=agreed.by,
            server=server,
            tool=tool,
            tier=tier,
            detail={**detail, "how": agreed.how, "terminal": agreed.terminal, "parent": agreed.parent},
        )
    )
