"""Agrees on 2025-03-26 and sends every answer to a call in a JSON array, between two notifications; argument: another revision.

A good client takes batches in 2025-03-26; in the others it may refuse them, but no caller waits for ever.
"""

from __future__ import annotations

import json
import sys

from _base import Json, is_call, polite_legacy, raw, serve

REVISION = sys.argv[1] if len(sys.argv) > 1 else "2025-03-26"


def polite(message: Json) -> Json | None:
    return polite_legacy(message, revision=REVISION)


def on(message: Json) -> bool:
    reply = polite(message)
    if not is_call(message) or not reply:
        return False
    note = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "in a batch"}}
    raw(json.dumps([note, {"jsonrpc": "2.0", "id": message["id"], **reply}, note]) + "\n")
    return True


serve(on, polite)
