"""The program: `dragoman`, and `python -m dragoman` where scripts are not on PATH."""

from __future__ import annotations

import signal
import sys


def run() -> int:
    """Run the command line; its exit code. Ctrl-C while it is being loaded ends it at once, without a traceback."""
    loading = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if loading:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from dragoman.cli.main import main

    if loading:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return main()


if __name__ == "__main__":
    sys.exit(run())
