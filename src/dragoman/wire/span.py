"""How long something is, in words for a person."""

from __future__ import annotations


def span(seconds: float) -> str:
    """In one unit, two of it at least: ``40 s``, ``5 min``, ``3 h``, ``2 days``; less than nothing is nothing."""
    for least, size, unit in ((172_800.0, 86_400.0, "days"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min")):
        if seconds >= least:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"
