"""Answers every request twice, the second time with other content.

A good client takes the first and counts the second.
"""

from __future__ import annotations

from _base import emit, messages, polite_legacy, words

for message in messages():
    if reply := polite_legacy(message):
        emit({"id": message["id"], **reply})
        emit({"id": message["id"], "result": words("again") | {"tools": []}})
