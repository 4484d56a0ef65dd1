"""Sends N times (argument, default 1000) notifications/tools/list_changed in one burst during each call. The tool `listed` says how often
tools/list was asked.

A good client coalesces: the call is answered at once, and a few listings follow, not a thousand.
"""

from __future__ import annotations

import sys

from _base import ECHO, Json, answer, dumps, is_call, polite_legacy, raw, serve, words

BURST = (dumps({"method": "notifications/tools/list_changed"}) + "\n") * (int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
listed = 0


def on(message: Json) -> bool:
    global listed
    listed += message.get("method") == "tools/list"
    if is_call(message, "listed"):
        answer(message, words(str(listed)))
        return True
    if is_call(message):
        raw(BURST)
    return False


serve(on, polite=lambda message: polite_legacy(message, tools=[ECHO, {"name": "listed", "inputSchema": {"type": "object"}}]))
