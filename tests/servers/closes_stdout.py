"""Closes its stdout at the first call, but goes on living and reading; with the argument `stdin`, it closes its stdin instead (and
answers that call).

A good client ends the call (and later ones) as lost at once, and the process when it closes.
"""

from __future__ import annotations

import os
import sys
import time

from _base import emit, is_call, messages, polite_legacy

for message in messages():
    if is_call(message) and sys.argv[1:] != ["stdin"]:
        os.close(1)
        time.sleep(60)
    if reply := polite_legacy(message):
        emit({"id": message["id"], **reply})
    if is_call(message):
        os.close(0)
        time.sleep(60)
