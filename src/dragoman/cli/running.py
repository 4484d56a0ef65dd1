"""Runs a use case in an event loop of its own, and ends it in order when a signal says so."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from dragoman.cli.errors import Terminated

R = TypeVar("R")


def run(coroutine: Coroutine[Any, Any, R]) -> R:
    """The result of ``coroutine``. Ctrl-C cancels it, so that its servers are stopped, and is raised then.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Terminated: SIGTERM or SIGHUP.
    """
    caught: list[int] = []

    async def watched() -> R:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None

        def stop(signum: int) -> None:
            caught.append(signum)
            task.cancel()

        for signum in (signal.SIGTERM, signal.SIGHUP):
            try:
                loop.add_signal_handler(signum, stop, signum)
            except (NotImplementedError, RuntimeError, ValueError):  # no such thing here, or not the main thread
                pass
        return await coroutine

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if caught:
            raise Terminated(caught[0]) from None
        raise
