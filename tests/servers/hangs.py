"""Reads everything and answers nothing. With the argument `calls` it does the handshake and lists its tools, and hangs in calls only;
cancellation is ignored.

A good client ends by its deadline, tells the server that it no longer waits, and can close.
"""

from __future__ import annotations

import sys

from _base import is_call, serve

CALLS_ONLY = sys.argv[1:] == ["calls"]

serve(lambda message: is_call(message) if CALLS_ONLY else True)
