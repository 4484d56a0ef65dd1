"""Knows both eras but takes N seconds to start (argument, default 3). The first request decides: after server/discover it
refuses initialize with -32022, after initialize it refuses modern requests.

A good client ends up modern, since its probe was written first.
"""

from __future__ import annotations

import sys
import time

from _base import Json, polite_legacy, polite_modern, serve

era = ""


def polite(message: Json) -> Json | None:
    global era
    if not era and "id" in message:
        era = "legacy" if message["method"] == "initialize" else "modern"
    return polite_legacy(message) if era == "legacy" else polite_modern(message)


time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
serve(polite=polite)
