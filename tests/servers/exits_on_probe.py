"""Dies (status 1) when its first message is anything but initialize, as some older servers do.

A good client starts it again and goes straight to initialize.
"""

from __future__ import annotations

import sys

from _base import emit, messages, polite_legacy

first = True
for message in messages():
    if first and message.get("method") != "initialize":
        print(f"unexpected first message {message.get('method')}", file=sys.stderr)
        sys.exit(1)
    first = False
    if reply := polite_legacy(message):
        emit({"id": message["id"], **reply})
