"""Sends progress for tokens that are unknown, of the wrong type, missing, going backwards, and for a call that has ended.

A good client drops what fits no running request and goes on; the callback of the call sees no token but its own.
"""

from __future__ import annotations

from _base import Json, answer, is_call, notify, serve, words


def progress(token: object, done: object) -> None:
    notify("notifications/progress", {"progressToken": token, "progress": done, "total": 10})


def on(message: Json) -> bool:
    if not is_call(message):
        return False
    mine = (message["params"].get("_meta") or {}).get("progressToken")
    for number, token in enumerate(("nobody's", {"a": 1}, None, True)):
        progress(token, number)
    notify("notifications/progress", {})
    notify("notifications/progress")
    if mine is not None:
        for done in (5, 2, "six"):
            progress(mine, done)
    answer(message, words("done"))
    if mine is not None:
        progress(mine, 10)
    return True


serve(on)
