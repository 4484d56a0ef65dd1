"""Answers a call with both a result and an error; with text "neither": with neither; with text "fine": well.

A good client ends just that request with a typed error, and goes on.
"""

from __future__ import annotations

from _base import Json, argument, emit, is_call, serve, words


def on(message: Json) -> bool:
    if not is_call(message) or argument(message) == "fine":
        return False
    both = {"result": words("done"), "error": {"code": -32000, "message": "not done"}}
    emit({"id": message["id"]} | ({} if argument(message) == "neither" else both))
    return True


serve(on)
