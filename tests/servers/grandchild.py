"""A launcher, as npx is: the real server is its child, shares its pipes, and ignores end of file and SIGTERM. The tool `pids`
names both processes.

A good client ends the whole process group; neither is left.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from _base import ECHO, Json, answer, is_call, polite_legacy, serve, words

PIDS = {"name": "pids", "inputSchema": {"type": "object"}}


def on(message: Json) -> bool:
    if is_call(message, "pids"):
        answer(message, words(f"{os.getppid()} {os.getpid()}"))
        return True
    return False


if "real" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(on, polite=lambda message: polite_legacy(message, tools=[ECHO, PIDS]))
    while True:
        time.sleep(1)
sys.exit(subprocess.Popen([sys.executable, __file__, "real"]).wait())
