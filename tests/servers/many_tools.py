"""Lists N tools (argument, default 1000) in pages of SIZE (second argument, default all on one page).

A good client takes them all, or up to its stated limit.
"""

from __future__ import annotations

import sys

from _base import Json, answer, serve

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
SIZE = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where"}, "limit": {"type": "integer"}},
    "required": ["path"],
}


def on(message: Json) -> bool:
    if message.get("method") != "tools/list":
        return False
    start = int((message.get("params") or {}).get("cursor") or 0)
    end = min(start + SIZE, COUNT)
    tools = [{"name": f"tool_{number}", "description": f"Tool number {number}.", "inputSchema": SCHEMA} for number in range(start, end)]
    answer(message, {"tools": tools} | ({"nextCursor": str(end)} if end < COUNT else {}))
    return True


serve(on)
