r"""Starts its output with a byte order mark and ends its lines with \r\n.

A good client works.
"""

from __future__ import annotations

from _base import dumps, messages, polite_legacy, raw

raw(b"\xef\xbb\xbf")
for message in messages():
    if reply := polite_legacy(message):
        raw(dumps({"id": message["id"], **reply}) + "\r\n")
