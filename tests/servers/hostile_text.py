"""Puts terminal escapes, bidirectional overrides, zero-width and tag characters, BEL and a window title into everything that a person might
see: its name, version, instructions, tool names, titles, descriptions, results, errors, log messages and stderr.

A good client shows them escaped everywhere.
"""

from __future__ import annotations

import sys

from _base import Json, answer, argument, fail, is_call, notify, serve, words

EVIL = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\u202c\u200b\U000e0041\x9b31m\r[bold]red[/bold]"


def on(message: Json) -> bool:
    method = message.get("method")
    if method == "initialize":
        info = {"name": f"evil{EVIL}", "version": EVIL}
        version = message["params"]["protocolVersion"]
        answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info, "instructions": EVIL})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string", "description": EVIL}}}
        echo = {"name": "echo", "title": EVIL, "description": EVIL, "inputSchema": schema}
        answer(message, {"tools": [echo, echo | {"name": f"t{EVIL}"}]})
    elif is_call(message):
        notify("notifications/message", {"level": "warning", "logger": EVIL, "data": EVIL})
        print(EVIL, file=sys.stderr, flush=True)
        if argument(message) == "error":
            fail(message, -32000, EVIL, EVIL)
        else:
            answer(message, words(EVIL))
    else:
        return False
    return True


sys.stderr.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
serve(on)
