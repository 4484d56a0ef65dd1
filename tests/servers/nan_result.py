"""Writes NaN and Infinity into structuredContent, as Python's json does by default; JSON has no such numbers.

A good client fails just that request, saying why, or recovers; it never leaves the caller waiting. Text "fine" is answered well.
"""

from __future__ import annotations

from _base import Json, answer, argument, is_call, serve, words


def on(message: Json) -> bool:
    if not is_call(message) or argument(message) == "fine":
        return False
    answer(message, words("no number") | {"structuredContent": {"mean": float("nan"), "most": float("inf"), "least": float("-inf")}})
    return True


serve(on)
