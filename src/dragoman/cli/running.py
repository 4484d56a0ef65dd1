"""Runs a use case in an event loop of its own, and ends it in order when a signal says so."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Coroutine
from types import FrameType
from typing import Any, Final, TypeVar

from dragoman.cli.errors import Terminated

R = TypeVar("R")

#: Keys bounce, and people press twice: what comes this soon after the first Ctrl-C is the same one.
SAME_WISH_S: Final = 1.0


def run(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of ``coroutine``. Ctrl-C cancels it, so that its servers are stopped, and is raised then.

    Once it was pressed, Ctrl-C is switched off when this returns: what is left to do is to say so.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Terminated: SIGTERM or SIGHUP.
    """
    caught: list[int] = []
    interrupts: list[float] = []
    before = signal.getsignal(signal.SIGINT)
    ours = False

    async def watched() -> R:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None

        def stop(signum: int) -> None:
            caught.append(signum)
            task.cancel()

        # Not asyncio's own: its second Ctrl-C breaks into whatever is just being put away, and its third into that.
        def interrupt(signum: int, frame: FrameType | None) -> None:
            now = time.monotonic()
            interrupts.append(now)
            if len(interrupts) == 1:
                task.cancel()
                loop.call_soon_threadsafe(_wake)
            elif now - interrupts[0] > SAME_WISH_S:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                raise KeyboardInterrupt

        if before is signal.default_int_handler:
            try:
                signal.signal(signal.SIGINT, interrupt)
            except ValueError:  # not the main thread: Ctrl-C is somebody else's
                pass
            else:
                nonlocal ours
                ours = True

        for signum in (signal.SIGTERM, signal.SIGHUP):
            try:
                loop.add_signal_handler(signum, stop, signum)
            except (NotImplementedError, RuntimeError, ValueError):  # no such thing here, or not the main thread
                pass
        return await coroutine

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if interrupts:
            raise KeyboardInterrupt from None
        if caught:
            raise Terminated(caught[0]) from None
        raise
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.SIG_IGN if interrupts else before)


def _wake() -> None:
    """Nothing: a loop that waits for its sockets has to look at the cancelled task."""
