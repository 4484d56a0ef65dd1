"""The event loop that something lives on: running a coroutine there, whichever loop is asked from, and its clock."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from dragoman.clock import SystemClock
from dragoman.errors import LocalProtocolError
from dragoman.runtime.failures import Failures

T = TypeVar("T")


async def run_on(loop: asyncio.AbstractEventLoop | None, coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of ``coroutine``, run on ``loop``; cancelling cancels it there.

    Args:
        loop: ``None`` stands for a host that was not opened.

    Raises:
        LocalProtocolError: The loop is not there, is over, or ends meanwhile.
    """
    if loop is None or loop.is_closed() or not loop.is_running():
        coroutine.close()
        what = "the host is not open" if loop is None else "the event loop that the host was opened on is over"
        raise LocalProtocolError(what, hint="use 'async with', or call open() first")
    if asyncio.get_running_loop() is loop:
        return await coroutine
    try:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise LocalProtocolError("the event loop that the host was opened on has ended") from None


async def on_loop(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, T], failures: Failures) -> T:
    """Run on the loop that a connection lives on, from another thread's loop.

    Raises:
        ConnectionLost: That loop has ended, or ends meanwhile.
    """
    if loop.is_closed() or not loop.is_running():
        coroutine.close()
        raise failures.lost(None, "the event loop that the client was opened on is over", maybe_ran="no")
    running = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return await asyncio.wrap_future(running)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise failures.lost(None, "the event loop that the client was opened on has ended", maybe_ran="perhaps") from None


class LoopTime(SystemClock):
    """The clock by which the event loop wakes, so that a time that has come for the one has come for the other."""

    def monotonic(self) -> float:
        try:
            return asyncio.get_running_loop().time()
        except RuntimeError:  # asked from another thread
            return super().monotonic()
