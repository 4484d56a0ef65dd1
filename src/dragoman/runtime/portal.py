"""One event loop in a thread of its own, for code that has none."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Coroutine
from typing import Any, TypeVar

from dragoman.errors import CallFailed, LocalProtocolError

T = TypeVar("T")
_STOP_S = 10.0


class Portal:
    """Runs coroutines on its loop and waits for them. Started at first use; shared by all blocking faces of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of ``coroutine``. Ctrl-C cancels it, waits for its end, and is raised again.

        Raises:
            CallFailed: The loop was ended meanwhile, e.g. because the interpreter exits.
            LocalProtocolError: Called from a callback on the loop itself, which would wait for ever.
        """
        loop = self._started()
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise LocalProtocolError(
                "a blocking call inside a callback would wait for itself",
                hint="use the async client there",
            )
        ended = threading.Event()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(loop.create_task(coroutine))
            tasks[0].add_done_callback(lambda _: ended.set())

        try:
            loop.call_soon_threadsafe(start)
            ended.wait()
        except RuntimeError:  # stopped by another thread just now
            coroutine.close()
            raise CallFailed("the event loop of the blocking clients has ended", maybe_ran="no") from None
        except BaseException:  # not a Future: a cancelled one is done at once, and we would leave before the call has cleaned up
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            ended.wait(_STOP_S)
            raise
        if tasks[0].cancelled():
            raise CallFailed("the event loop of the blocking clients has ended meanwhile")
        return tasks[0].result()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():  # a forked child has the loop but not its thread
                loop = self._loop = asyncio.new_event_loop()
                self._pid = os.getpid()
                self._thread = threading.Thread(target=loop.run_forever, name="dragoman-portal", daemon=True)
                self._thread.start()
                # Exit hooks run in reverse order. Children that nobody closed are killed by finalizers: their hook must be there before
                # ours, or the loop would see them die, and its descriptors closed, while it still runs.
                weakref.finalize(self, int).detach()
                atexit.register(self.stop)
            return self._loop

    def stop(self) -> None:
        """End the loop: at exit, or in tests."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            atexit.unregister(self.stop)
        if loop is None or thread is None or self._pid != os.getpid():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).add_done_callback(lambda _: loop.call_soon_threadsafe(loop.stop))
        thread.join(_STOP_S)
        if not thread.is_alive():
            loop.close()


async def _cancel_all() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_STOP_S / 2)


PORTAL = Portal()
