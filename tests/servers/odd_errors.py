"""Error members of the wrong shape; text = bare (a string), code (code as a string), nothing (no members), huge (a code beyond 64 bits),
list (data is a list), no_id (an error without an id, then nothing).

A good client ends that call with an error that carries what can be understood; for no_id, by the deadline at the latest.
"""

from __future__ import annotations

from _base import Json, argument, emit, is_call, serve

ERRORS: dict[str, object] = {
    "bare": "it broke",
    "code": {"code": "E_BROKEN", "message": "it broke"},
    "nothing": {},
    "huge": {"code": 10**30, "message": "it broke"},
    "list": {"code": -32603, "message": ["it", "broke"], "data": [1, 2]},
}


def on(message: Json) -> bool:
    if not is_call(message):
        return False
    if argument(message) == "no_id":
        emit({"error": {"code": -32603, "message": "it broke"}})
        return True
    if argument(message) not in ERRORS:
        return False
    emit({"id": message["id"], "error": ERRORS[argument(message)]})
    return True


serve(on)
