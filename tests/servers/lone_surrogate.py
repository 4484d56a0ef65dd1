r"""Sends half a surrogate pair as the escape \ud83d in tool results: valid JSON by grammar, no Unicode text.

A good client replaces it or fails just that request, saying why, and goes on. The text "fine" is answered without it.
"""

from __future__ import annotations

from _base import Json, argument, dumps, is_call, raw, serve, words


def on(message: Json) -> bool:
    if not is_call(message) or argument(message) == "fine":
        return False
    raw(dumps({"id": message["id"], "result": words("half a ~ boat")}).replace("~", "\\ud83d") + "\n")
    return True


serve(on)
