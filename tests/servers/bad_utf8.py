"""Puts the single byte 0x97, which is not UTF-8, into every tool result and into the instructions.

A good client replaces the byte or fails just that request, saying why, and goes on.
"""

from __future__ import annotations

from _base import Json, dumps, is_call, polite_legacy, raw, serve, words


def on(message: Json) -> bool:
    if message.get("method") == "initialize":
        reply = polite_legacy(message) or {}
        reply["result"]["instructions"] = "one~two"
    elif is_call(message):
        reply = {"result": words("before~after")}
    else:
        return False
    raw(dumps({"id": message["id"], **reply}).encode().replace(b"~", b"\x97") + b"\n")
    return True


serve(on)
