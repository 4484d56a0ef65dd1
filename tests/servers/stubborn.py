"""Answers well, but goes on living after end of file and SIGTERM. The tool `pids` names its process.

A good client waits a little, then uses SIGKILL; closing is bounded.
"""

from __future__ import annotations

import os
import signal
import time

from _base import ECHO, Json, answer, is_call, polite_legacy, serve, words

signal.signal(signal.SIGTERM, signal.SIG_IGN)


def on(message: Json) -> bool:
    if is_call(message, "pids"):
        answer(message, words(str(os.getpid())))
        return True
    return False


serve(on, polite=lambda message: polite_legacy(message, tools=[ECHO, {"name": "pids", "inputSchema": {"type": "object"}}]))
while True:
    time.sleep(1)
