"""Never answers a call. With the name of a file it ignores the end of its input and, but for a note in that file, SIGTERM, too.

A good client ends the call by its deadline, and the server by the means that are left.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from _base import is_call, serve

if sys.argv[1:]:
    signal.signal(signal.SIGTERM, lambda *_: Path(sys.argv[1]).write_text("SIGTERM"))
serve(lambda message: is_call(message))
while sys.argv[1:]:
    time.sleep(1)
