"""A dual-era server that starts N seconds late (argument, default 1.5), answers server/discover, but is switched to the handshake era by
an initialize that waits in its pipe: from then on modern requests get -32600.

A good client, whose probe was answered, restarts it once without initialize and works in the modern era.
"""

from __future__ import annotations

import sys
import time

from _base import META, Json, polite_legacy, polite_modern, serve

switched = False


def polite(message: Json) -> Json | None:
    global switched
    switched = switched or message.get("method") == "initialize"
    if not switched:
        return polite_modern(message)
    if message.get("method") != "initialize" and META + "protocolVersion" in ((message.get("params") or {}).get("_meta") or {}):
        return {"error": {"code": -32600, "message": "this connection is in the handshake era"}} if "id" in message else None
    return polite_legacy(message)


time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 1.5)
serve(polite=polite)
