"""Answers a call only after it was cancelled; text "fine" is answered at once.

A good client ignores the late answer and goes on.
"""

from __future__ import annotations

from _base import Json, answer, argument, is_call, serve, words


def on(message: Json) -> bool:
    if message.get("method") == "notifications/cancelled":
        answer({"id": message["params"]["requestId"]}, words("too late"))
        return True
    return is_call(message) and bool(argument(message) != "fine")


serve(on)
