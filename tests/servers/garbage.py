"""Answers everything with a line that is no JSON at all, as a program does that does not speak MCP.

A good client's handshake ends at its deadline (or earlier) with an error that shows some of what was received.
"""

from __future__ import annotations

from _base import messages, raw

for _ in messages():
    raw("Unknown command. Type 'help' for help.\n")
