"""Reads its stdin slowly: CHUNK bytes (default 65536) every PAUSE seconds (default 0.02), so that large arguments fill the pipe.

A good client waits for room without blocking anything else; the call is answered (with the length of its text) in the end.
"""

from __future__ import annotations

import json
import os
import sys
import time

from _base import answer, emit, is_call, polite_legacy, words

CHUNK = int(sys.argv[1]) if len(sys.argv) > 1 else 65536
PAUSE = float(sys.argv[2]) if len(sys.argv) > 2 else 0.02

parts: list[bytes] = []
while chunk := os.read(0, CHUNK):
    *ends, rest = chunk.split(b"\n")
    for end in ends:
        message = json.loads(b"".join([*parts, end]))
        parts = []
        if is_call(message):
            answer(message, words(str(len(message["params"]["arguments"].get("text", "")))))
        elif reply := polite_legacy(message):
            emit({"id": message["id"], **reply})
    parts.append(rest)
    time.sleep(PAUSE)
