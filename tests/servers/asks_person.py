"""Asks what its caller wants asked: `echo` with the params of an elicitation as JSON in `text`; the answer is the result.

A good client shows a person what is asked, all of it and harmless, and sends only what they said yes to.
"""

from __future__ import annotations

import json

from _base import Json, argument, dumps, emit, is_call, raw, serve, words

waiting: dict[str, Json] = {}


def on(message: Json) -> bool:
    if is_call(message, "echo"):
        waiting["ask"] = message
        raw(dumps({"id": "ask", "method": "elicitation/create", "params": json.loads(argument(message))}) + "\n")
        return True
    if message.get("id") == "ask" and "method" not in message:
        emit({"id": waiting["ask"]["id"], "result": words(json.dumps(message.get("result", message.get("error"))))})
        return True
    return False


serve(on)
