"""Sends answers that nobody asked for: under id 99999, null, 1.5, [] and without an id. The real answer follows,
except for text "lost".

A good client ignores and counts them; the lost call ends by its deadline.
"""

from __future__ import annotations

from _base import Json, argument, emit, is_call, serve, words


def on(message: Json) -> bool:
    if is_call(message):
        strangers: tuple[object, ...] = (99999, None, 1.5, [])
        for foreign in strangers:
            emit({"id": foreign, "result": words("not yours")})
        emit({"result": words("not yours")})
        return bool(argument(message) == "lost")
    return False


serve(on)
