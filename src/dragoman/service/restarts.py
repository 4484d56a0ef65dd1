"""Tells hosts in other processes that a person wants a server restarted: a file in the state folder, which they look at now and then.

A wish is for one server of one configuration: its file is ``SCOPE.NAME``, see :mod:`dragoman.service.scopes`.
"""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Final

from dragoman.service.context import Context

log = logging.getLogger("dragoman")

_FOLDER: Final = "restart"


def ask(context: Context, server: str) -> None:
    """Have every host that runs over this state folder and this configuration restart ``server``."""
    folder = context.home / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{context.scope}.{server}"
    path.touch(mode=0o600)
    now_ns = time.time_ns()  # the file system's own clock may be some milliseconds behind, before a host that has just begun to look
    os.utime(path, ns=(now_ns, now_ns))


class Wishes:
    """What was asked for since a host began to look; call it now and then.

    Args:
        home: The state folder.
        scope: The configuration whose servers are meant.
    """

    def __init__(self, home: Path, scope: str) -> None:
        self._folder, self._beginning = home / _FOLDER, f"{scope}."
        self._since_ns = time.time_ns()
        self._seen: dict[str, int] = {}

    def __call__(self) -> list[str]:
        """The servers that somebody wants restarted, each told once."""
        wanted: list[str] = []
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(self._beginning):
                        continue
                    asked_ns = entry.stat(follow_symlinks=False).st_mtime_ns
                    if asked_ns > self._seen.get(entry.name, self._since_ns):
                        self._seen[entry.name] = asked_ns
                        wanted.append(entry.name.removeprefix(self._beginning))
        except FileNotFoundError:
            pass  # nobody ever asked
        except OSError as exc:
            log.debug("wishes for restarts cannot be read: %s", exc)
        return wanted
