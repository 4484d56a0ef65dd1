"""Answers a call with one text of SIZE bytes on a single line: big_line.py SIZE [first|last] (where the id stands; default first).

The tool `size` takes another size in its argument `bytes`; text "fine" is answered normally. A good client reads it at linear
cost up to its limit; above the limit just that request fails, wherever the id stands, and the next call works.
"""

from __future__ import annotations

import json
import sys

from _base import ECHO, Json, argument, is_call, polite_legacy, raw, serve

SIZE = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000
ID_LAST = sys.argv[2:] == ["last"]
BY_SIZE = {"name": "size", "inputSchema": {"type": "object", "properties": {"bytes": {"type": "integer"}}, "required": ["bytes"]}}


def on(message: Json) -> bool:
    if not is_call(message) or argument(message) == "fine":
        return False
    size = int(argument(message, "bytes", SIZE))
    number = b'"id": ' + json.dumps(message["id"]).encode()
    head = b'{"jsonrpc": "2.0", ' + (b"" if ID_LAST else number + b", ") + b'"result": {"content": [{"type": "text", "text": "'
    raw(head + b"x" * size + b'"}]}' + (b", " + number if ID_LAST else b"") + b"}\n")
    return True


serve(on, polite=lambda message: polite_legacy(message, tools=[ECHO, BY_SIZE]))
