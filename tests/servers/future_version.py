"""Knows only 2099-01-01: answers initialize with it. With the argument `modern` it refuses every request with -32022 and lists it.

A good client says which version each side has and that the client is the older one, and stops the process.
"""

from __future__ import annotations

import sys

from _base import polite_legacy, polite_modern, serve

if sys.argv[1:] == ["modern"]:
    serve(polite=lambda message: polite_modern(message, supported=("2099-01-01",)))
else:
    serve(polite=lambda message: polite_legacy(message, revision="2099-01-01"))
