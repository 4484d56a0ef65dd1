"""`python -m dragoman`: the command line, for environments whose scripts are not on PATH."""

from __future__ import annotations

import sys

from dragoman.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
