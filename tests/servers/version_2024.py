"""Answers initialize with the revision given as argument (default 2024-11-05), whatever was offered.

A good client accepts each legacy revision that it knows and refuses any other, naming both.
"""

from __future__ import annotations

import sys

from _base import polite_legacy, serve

REVISION = sys.argv[1] if len(sys.argv) > 1 else "2024-11-05"

serve(polite=lambda message: polite_legacy(message, revision=REVISION))
