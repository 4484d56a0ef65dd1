"""Puts "error": null beside every result, as serializers do that know no optional members.

A good client takes the result.
"""

from __future__ import annotations

from _base import emit, messages, polite_legacy

for message in messages():
    if reply := polite_legacy(message):
        emit({"id": message["id"], "result": None, "error": None, **reply})
