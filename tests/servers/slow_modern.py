"""A modern-only server that takes N seconds to start (argument, default 3), then answers all that was written meanwhile.

A good client has sent server/discover and initialize by then; it takes the late answer to the first and ignores the
-32022 that the second gets.
"""

from __future__ import annotations

import sys
import time

from _base import polite_modern, serve

time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 3.0)
serve(polite=polite_modern)
