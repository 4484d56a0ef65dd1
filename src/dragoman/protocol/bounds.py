"""How long one message may become while it is read: the limit of its channel, or less where its beginning says what it is.

Readers of bytes hold one of these; what a beginning means is said by whoever hands in ``weigh`` (the engine).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

SAMPLE: Final = 4096
"""How many bytes of a discarded message are kept at either end, and how many of its beginning are looked at."""

LOOK: Final = 64 << 10
"""A message that grows beyond this is looked at, once; shorter ones cost nothing."""

Weigh = Callable[[bytes], int | None]
"""From the first bytes of a message to the most it may have; ``None``: as much as any."""


class Bound:
    """The bound of one message after the other.

    Args:
        limit: Most bytes of any message.
        weigh: Called once for each message that is longer than ``LOOK``, before more of it is kept.
    """

    __slots__ = ("_first", "_limit", "_looked", "_now", "_weigh")

    def __init__(self, limit: int, weigh: Weigh | None = None) -> None:
        self._limit, self._weigh = limit, weigh
        self._first = limit if weigh is None else min(LOOK, limit)
        self._now, self._looked = self._first, weigh is None

    def is_over(self, size: int, held: bytes | bytearray, more: bytes | bytearray | memoryview) -> bool:
        """Whether a message that begins with ``held`` and goes on with ``more`` is too long with ``size`` bytes."""
        if size <= self._now:
            return False
        if not self._looked and self._weigh is not None:
            self._looked = True
            known = self._weigh((bytes(held[:SAMPLE]) + bytes(more[:SAMPLE]))[:SAMPLE])
            self._now = self._limit if known is None else min(known, self._limit)
        return size > self._now

    def next(self) -> None:
        """The message ended; another one begins."""
        self._now, self._looked = self._first, self._weigh is None
