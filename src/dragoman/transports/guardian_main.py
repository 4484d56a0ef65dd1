"""The guardian's own program: ends the process groups of a host that died. Run by its path; it imports nothing of ours.

It reads lines on stdin, a pipe whose other end only the host holds: ``+ PGID START MARK`` for a group that was spawned, ``- PGID`` for one
that is gone. At end of file the host has ended, however it did, and what is still recorded is ended by the stop ladder, with what left its
group and has the mark in its environment.

Only ``os`` and ``time``: the process starts within 20 ms of CPU and stays below 10 MB.
"""

from __future__ import annotations

import os
import time

#: Their stdin ended with the host: most leave by themselves. Then SIGTERM, then SIGKILL, each with its time.
LEAVE_S = 0.5
TERM_S = 2.0
KILL_S = 1.0
_PAUSE_S = 0.02
_SIGTERM, _SIGKILL = 15, 9  # the module signal costs a third of the start
_MARK = b"DRAGOMAN_SERVER="

#: By number: when the leader started (0: not known), and the mark of what it starts.
Groups = dict[int, tuple[int, bytes]]


def listen(fd: int) -> Groups:
    """The groups that are left when the pipe ends."""
    groups: Groups = {}
    rest = b""
    while chunk := os.read(fd, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            words = line.split()
            if words[0] == b"+":
                groups[int(words[1])] = int(words[2]), words[3]
            else:
                groups.pop(int(words[1]), None)
    return groups


def end(groups: Groups) -> None:
    """The stop ladder, for all of them at once; bounded."""
    if left_after(groups, LEAVE_S):
        signal_all(groups, _SIGTERM)
        if left_after(groups, TERM_S):
            signal_all(groups, _SIGKILL)
            left_after(groups, KILL_S)


def left_after(groups: Groups, wait_s: float) -> bool:
    """Whether any of it still lives after that time, asked again and again until nothing does."""
    limit = time.monotonic() + wait_s
    while (left := bool(living(groups) or marked(groups))) and time.monotonic() < limit:
        time.sleep(_PAUSE_S)
    return left


def signal_all(groups: Groups, number: int) -> None:
    """Signal those that live, looked at once more just before: a number may belong to somebody else by now."""
    for group in living(groups):
        try:
            os.killpg(group, number)
        except OSError:
            pass
    for pid in marked(groups):
        try:
            os.kill(pid, number)
        except OSError:
            pass


def marked(groups: Groups) -> set[int]:
    """The processes with one of the marks in the environment they were started with, in their group or not."""
    marks = {mark for _, mark in groups.values()}
    found: set[int] = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if file.read().partition(_MARK)[2].partition(b"\0")[0] in marks:
                    found.add(int(name))
        except OSError:
            continue  # it has gone meanwhile, or is somebody else's
    return found


def living(groups: Groups) -> set[int]:
    """The recorded groups that have a member that is no zombie, and whose leader is, or was, the process that was recorded.

    While a group has members its number is given to no new process; a leader that started at another time leads a new group.
    """
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        names = []
    if not names:  # no such thing here: the number alone has to do
        return {group for group in groups if _exists(group)}
    found: set[int] = set()
    foreign: set[int] = set()
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it has gone meanwhile
        group = int(words[2])
        if group not in groups:
            continue
        if int(name) == group and groups[group][0] not in (0, int(words[19])):
            foreign.add(group)
        if int(words[3]) == group and words[0] not in (b"Z", b"X"):
            found.add(group)
    return found - foreign


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    end(listen(0))
    os._exit(0)  # nothing to tidy up, and the host may be waiting
