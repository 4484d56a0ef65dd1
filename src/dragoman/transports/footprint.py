"""How much memory the processes of a server use, as the system tells it; nothing where it does not (no ``/proc``)."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")


def resident_bytes(leaders: Collection[int]) -> dict[int, int]:
    """Resident memory of every process in the group or the session of each leader; shared pages are counted by each.

    Reads one small file per process of the machine: for a thread, not for an event loop.
    """
    found: dict[int, int] = {}
    if not leaders:
        return found
    page = os.sysconf("SC_PAGE_SIZE")
    try:
        names = [name for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:
        return found
    for name in names:
        try:
            # The command, in parentheses, may hold anything; behind it, pgrp and session are third and fourth, rss the 22nd (proc(5)).
            fields = (_PROC / name / "stat").read_bytes().rpartition(b")")[2].split()
            group, session, pages = int(fields[2]), int(fields[3]), int(fields[21])
        except (OSError, IndexError, ValueError):  # it ended while we looked
            continue
        leader = group if group in leaders else session
        if leader in leaders:
            found[leader] = found.get(leader, 0) + pages * page
    return found
