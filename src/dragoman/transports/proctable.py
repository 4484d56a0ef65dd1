"""The processes of this machine as ``/proc`` tells of them; none where there is no ``/proc``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

MARK: Final = "DRAGOMAN_SERVER"
"""A variable of the environment of each server that we start, and so of what it starts: a process that left its group still has it."""


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


def marked(mark: str) -> list[int]:
    """The living processes of ours that were started with this mark; those with an environment of their own making are not seen."""
    wanted = f"{MARK}={mark}\0".encode()
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:  # as it was at its start; empty for a zombie
                    if wanted in file.read():
                        found.append(int(name))
            except OSError:  # it has gone meanwhile, or is somebody else's
                continue
    return found
