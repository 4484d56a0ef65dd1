"""How much memory the processes of a server use, as the system tells it; nothing where it does not (no ``/proc``)."""

from __future__ import annotations

import os
from collections.abc import Collection

from dragoman.transports import proctable


def resident_bytes(leaders: Collection[int]) -> dict[int, int]:
    """Resident memory of every process in the group or the session of each leader; shared pages are counted by each.

    Reads one small file per process of the machine: for a thread, not for an event loop.
    """
    found: dict[int, int] = {}
    if not leaders:
        return found
    page = os.sysconf("SC_PAGE_SIZE")
    for row in proctable.rows():
        leader = row.group if row.group in leaders else row.session
        if leader in leaders:
            found[leader] = found.get(leader, 0) + row.pages * page
    return found
