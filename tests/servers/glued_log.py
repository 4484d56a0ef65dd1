"""Writes log text on the same line as its messages: before them, after them, on both sides, and two messages on one line.

The tool says where: call it with text = front | back | both | two | braces (log text with braces of its own in front).
The handshake and the listing have text in front. A good client finds the message in the line; the caller never waits.
"""

from __future__ import annotations

from _base import Json, argument, dumps, is_call, messages, polite_legacy, raw

PATTERNS = {
    "front": "INFO took 3 ms {message}\n",
    "back": "{message} INFO took 3 ms\n",
    "both": "INFO start {message} INFO end\n",
    "two": '{message}{{"jsonrpc": "2.0", "method": "notifications/message", "params": {{"level": "info", "data": "glued"}}}}\n',
    "braces": "INFO user={{ada}} state={{}} {message}\n",
}


def line(message: Json, reply: Json) -> str:
    pattern = argument(message) if is_call(message) else "front"
    return PATTERNS.get(pattern, "{message}\n").format(message=dumps({"id": message["id"], **reply}))


for message in messages():
    if reply := polite_legacy(message):
        raw(line(message, reply))
