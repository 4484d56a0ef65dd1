"""Puts a block of an unknown type and blocks that are broken (no text, wrong type, not an object) among good ones.

A good client keeps the good ones and the unknown one, and sets the broken ones aside.
"""

from __future__ import annotations

from _base import Json, answer, is_call, serve

BLOCKS = [
    {"type": "text", "text": "first"},
    {"type": "hologram", "beams": 3, "text": "new kind"},
    {"type": "text"},
    {"type": "text", "text": 5},
    {"type": "image", "mimeType": "image/png"},
    {"text": "no type"},
    "bare words",
    None,
    {"type": "text", "text": "last"},
]


def on(message: Json) -> bool:
    if is_call(message):
        answer(message, {"content": BLOCKS})
        return True
    return False


serve(on)
