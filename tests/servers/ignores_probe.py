"""A legacy server that drops what it does not know: server/discover gets no answer at all.

A good client sends initialize after a second, connects, and remembers the era for the next time.
"""

from __future__ import annotations

from _base import serve

KNOWN = ("initialize", "ping", "tools/list", "tools/call")

serve(lambda message: message.get("method") not in KNOWN)
