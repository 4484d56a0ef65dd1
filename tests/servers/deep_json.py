"""Nests a tool result N levels deep (argument, default 20000); text "fine" is answered normally.

A good client fails just that request with a typed error and does not overflow its stack; the next call works.
"""

from __future__ import annotations

import sys

from _base import Json, argument, dumps, is_call, raw, serve

DEPTH = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000


def on(message: Json) -> bool:
    if not is_call(message) or argument(message) == "fine":
        return False
    shell = dumps({"id": message["id"], "result": {"content": [], "structuredContent": "~"}})
    raw(shell.replace('"~"', '{"x":' * DEPTH + "1" + "}" * DEPTH) + "\n")
    return True


serve(on)
