"""Sends N notifications (argument, default 20000) before it answers a call.

A good client hands over the answer at most half a second after it was written.
"""

from __future__ import annotations

import sys

from _base import Json, dumps, is_call, serve

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000


def on(message: Json) -> bool:
    if is_call(message):
        for number in range(COUNT):
            line = dumps({"method": "notifications/message", "params": {"level": "info", "data": f"line {number}"}})
            sys.stdout.buffer.write(line.encode() + b"\n")
    return False


serve(on)
