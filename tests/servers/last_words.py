"""Writes the answer to a call without a line end and exits (status 0).

A good client gives the caller that answer: at end of file the rest of the buffer is a line too.
"""

from __future__ import annotations

import sys

from _base import dumps, is_call, messages, polite_legacy, raw

for message in messages():
    if reply := polite_legacy(message):
        raw(dumps({"id": message["id"], **reply}) + ("" if is_call(message) else "\n"))
        if is_call(message):
            sys.exit(0)
