"""A lenient legacy server: a method it does not know gets the result {}, server/discover too.

A good client does not take that for a modern server, since supportedVersions is missing.
"""

from __future__ import annotations

from _base import Json, polite_legacy, serve


def polite(message: Json) -> Json | None:
    reply = polite_legacy(message)
    return {"result": {}} if reply and "error" in reply else reply


serve(polite=polite)
