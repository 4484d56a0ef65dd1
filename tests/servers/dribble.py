"""Writes each message byte by byte, so that reads end inside of UTF-8 sequences and escapes.

A good client puts them together again.
"""

from __future__ import annotations

import os

from _base import dumps, messages, polite_legacy

for message in messages():
    if reply := polite_legacy(message):
        for byte in (dumps({"id": message["id"], **reply}) + "\n").encode():
            os.write(1, bytes([byte]))
