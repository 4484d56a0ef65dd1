"""Answers request 7 under the id "7", a string.

A good client gives the answer to the request that can only be meant, and counts a violation.
"""

from __future__ import annotations

from _base import emit, messages, polite_legacy

for message in messages():
    if reply := polite_legacy(message):
        emit({"id": str(message["id"]), **reply})
