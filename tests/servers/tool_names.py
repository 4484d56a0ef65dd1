"""Tools with names that hosts stumble over: spaces, other scripts, dots, slashes, 200 characters, double underscores, the same name twice,
names that differ in case only, an empty one, control characters. Each tool answers with its own name.

A good client calls each by its exact name; the names it shows to a model are distinct, legal and can be turned back.
"""

from __future__ import annotations

from _base import Json, answer, is_call, polite_legacy, serve, words

NAMES = [
    "plain", "two words", "größe", "读取", "a.b.c", "a/b", "a__b", "a_b", "a-b", "A__B", "x" * 200, "x" * 199 + "y",
    "plain", "", "new\nline", "\x1b[31mred", "zero\u200bwidth", "__init__", "1st",
]  # fmt: skip


def on(message: Json) -> bool:
    if is_call(message):
        answer(message, words(message["params"]["name"]))
        return True
    return False


serve(on, polite=lambda message: polite_legacy(message, tools=[{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]))
