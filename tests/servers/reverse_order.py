"""Collects N calls (argument, default 3) and answers them in reverse order.

A good client has several calls in flight and gives each its own answer.
"""

from __future__ import annotations

import sys

from _base import Json, emit, is_call, polite_legacy, serve

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 3
waiting: list[Json] = []


def on(message: Json) -> bool:
    if not is_call(message):
        return False
    waiting.append(message)
    if len(waiting) == COUNT:
        for one in reversed(waiting):
            emit({"id": one["id"], **(polite_legacy(one) or {})})
        waiting.clear()
    return True


serve(on)
