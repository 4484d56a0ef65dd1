"""Says on stderr why it cannot start, and exits with status 3 before it reads anything.

A good client fails within a second, with the status and that text in the error, and does not try for ever.
"""

from __future__ import annotations

import sys

print("fatal: HARBOUR_KEY is not set", file=sys.stderr)
sys.exit(3)
