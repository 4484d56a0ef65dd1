"""Writes N bytes (argument, default 1000000) to stderr before each answer; a pipe that nobody reads holds 64 KB.

A good client drains stderr at all times.
"""

from __future__ import annotations

import sys

from _base import Json, serve

SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000


def on(message: Json) -> bool:
    sys.stderr.write("a line of log that nobody asked for\n" * (SIZE // 36 + 1))
    sys.stderr.flush()
    return False


serve(on)
