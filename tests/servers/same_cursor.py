"""Gives the same nextCursor with every page of tools/list, for ever; with the argument `fresh`, a new one each time.

A good client notices the repetition, or stops at a limit, and says so.
"""

from __future__ import annotations

import itertools
import sys

from _base import ECHO, Json, answer, serve

pages = itertools.count(1)
FRESH = sys.argv[1:] == ["fresh"]


def on(message: Json) -> bool:
    if message.get("method") != "tools/list":
        return False
    number = next(pages)
    answer(message, {"tools": [ECHO | {"name": f"echo_{number}"}], "nextCursor": f"page-{number}" if FRESH else "again"})
    return True


serve(on)
