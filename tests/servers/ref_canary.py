"""Tools whose schemas point outside: ref_canary.py PORT PATH puts $ref to http://127.0.0.1:PORT/ and to file://PATH into inputSchema
(tools by_http and by_file) and outputSchema (by_output). Without arguments: port 9, /nonexistent.

A good client neither fetches nor reads anything; the tools work without that schema, or their calls are refused with a reason.
"""

from __future__ import annotations

import sys

from _base import Json, answer, is_call, polite_legacy, serve, words

PORT, PATH = sys.argv[1:3] if len(sys.argv) > 2 else ("9", "/nonexistent/schema.json")
HTTP, FILE = {"$ref": f"http://127.0.0.1:{PORT}/schema.json"}, {"$ref": f"file://{PATH}"}
TOOLS: list[Json] = [
    {"name": "by_http", "inputSchema": {"type": "object", "properties": {"text": HTTP}}},
    {"name": "by_file", "inputSchema": {"type": "object", "properties": {"text": FILE}}},
    {"name": "by_output", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"a": HTTP, "b": FILE}}},
    {"name": "by_id", "inputSchema": {"$id": HTTP["$ref"], "$schema": HTTP["$ref"], "type": "object"}},
]


def on(message: Json) -> bool:
    if is_call(message):
        answer(message, words("called") | {"structuredContent": {"a": 1, "b": 2}})
        return True
    return False


serve(on, polite=lambda message: polite_legacy(message, tools=TOOLS))
