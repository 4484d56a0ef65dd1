"""Says a last word on stderr and exits with status 7 in the middle of a call; text "fine" is answered.

A good client ends that call as lost (perhaps it ran), with the status and the last word; it does not repeat it.
"""

from __future__ import annotations

import os
import sys

from _base import Json, argument, is_call, serve


def on(message: Json) -> bool:
    if is_call(message) and argument(message) != "fine":
        print("assertion failed: hull == whole", file=sys.stderr, flush=True)
        os._exit(7)
    return False


serve(on)
