"""Speaks both eras at any time: a request with the modern _meta is modern, everything else is legacy.

With the argument `legacy-only` its server/discover offers 2025-11-25 alone, as when the modern era was switched off.
A good client then goes on with initialize; without that argument it chooses the modern era.
"""

from __future__ import annotations

import sys

from _base import META, MODERN, Json, polite_legacy, polite_modern, serve

LEGACY_ONLY = sys.argv[1:] == ["legacy-only"]


def polite(message: Json) -> Json | None:
    if LEGACY_ONLY and message.get("method") == "server/discover":
        return {"result": {"supportedVersions": ["2025-11-25"], "capabilities": {"tools": {}}, "resultType": "complete"}}
    version = ((message.get("params") or {}).get("_meta") or {}).get(META + "protocolVersion")
    return polite_modern(message) if version == MODERN and not LEGACY_ONLY else polite_legacy(message)


serve(polite=polite)
