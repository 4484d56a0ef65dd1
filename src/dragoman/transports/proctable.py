"""The processes of this machine as ``/proc`` tells of them, a row each; no rows where there is no ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """One process; ``group`` and ``session`` are numbers of their leaders, ``pages`` is how much of it is resident."""

    pid: int
    state: bytes
    group: int
    session: int
    pages: int

    @property
    def lives(self) -> bool:
        """It is no zombie: those stay for ever where process 1 does not reap orphans."""
        return self.state not in (b"Z", b"X")


def rows() -> Iterator[Row]:
    """One small file is read for each process. Who ends meanwhile is left out."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The command, in parentheses, may hold anything; behind it, pgrp and session are third and fourth, rss the 22nd (proc(5)).
                fields = file.read().rpartition(b")")[2].split()
            yield Row(int(name), fields[0], int(fields[2]), int(fields[3]), int(fields[21]))
        except (OSError, IndexError, ValueError):
            continue
