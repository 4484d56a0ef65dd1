"""Which era a server answered in last time, so that the next connection need not find out again.

Only an answer is remembered, never a timeout or an exit; for seven days; dropped when contradicted.
"""

from __future__ import annotations

from typing import Final, Protocol

from dragoman.clock import Clock, SystemClock
from dragoman.wire.revisions import Era

KEEP_S: Final = 7 * 24 * 3600.0


class EraMemory(Protocol):
    """Remembers eras by a key: the argv of a process, the origin of a URL."""

    async def recall(self, key: str) -> Era | None:
        """The era, or ``None`` if it is unknown or too old."""
        ...

    async def remember(self, key: str, era: Era) -> None:
        """The server answered in this era."""
        ...


class RememberedEras:
    """The memory of this process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._eras: dict[str, tuple[Era, float]] = {}

    async def recall(self, key: str) -> Era | None:
        found = self._eras.get(key)
        if found is None or self._clock.now() - found[1] > KEEP_S:
            return None
        return found[0]

    async def remember(self, key: str, era: Era) -> None:
        self._eras[key] = (era, self._clock.now())


PROCESS_MEMORY: Final = RememberedEras()
