"""Reads the handshake (or the probe), complains on stderr and exits with status 0, answering nothing; argument: another status.

A good client fails at once, with the status and the text; status 0 is a failure too.
"""

from __future__ import annotations

import sys

from _base import messages

for message in messages():
    if message.get("method") == "initialize":
        print("cannot open the database", file=sys.stderr)
        sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
