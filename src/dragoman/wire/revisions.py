"""The protocol revisions this package speaks, newest first, and which era each belongs to.

Versions are opaque strings compared for equality against these lists; an unknown later date is never assumed compatible.

Source: MCP basic/versioning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

Era = Literal["legacy", "modern"]

MODERN: Final = ("2026-07-28",)
LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ALL: Final = MODERN + LEGACY


def era_of(revision: str) -> Era:
    """The era of a revision we speak."""
    return "modern" if revision in MODERN else "legacy"


def newest_mutual(ours: Iterable[str], theirs: Iterable[object]) -> str | None:
    """The first of ``ours`` (newest first) that ``theirs`` also lists, or ``None``."""
    offered = {item for item in theirs if isinstance(item, str)}
    return next((revision for revision in ours if revision in offered), None)
