"""Answers initialize with an error: -32602 with supported and requested versions; with the argument `plain`, -32000 and no data.

A good client shows the server's own words; with the list of versions it may offer one of them.
"""

from __future__ import annotations

import sys

from _base import Json, fail, serve


def on(message: Json) -> bool:
    if message.get("method") != "initialize":
        return False
    wanted = message["params"]["protocolVersion"]
    if sys.argv[1:] == ["plain"]:
        fail(message, -32000, "licence expired")
    elif wanted == "2024-11-05":
        return False
    else:
        fail(message, -32602, "Unsupported protocol version", {"supported": ["2024-11-05"], "requested": wanted})
    return True


serve(on)
