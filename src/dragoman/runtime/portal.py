"""One event loop in a thread of its own, for code that has none."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError as FutureCancelled
from concurrent.futures import Future
from typing import Any, TypeVar

from dragoman.errors import LocalProtocolError

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
            LocalProtocolError: Called from a callback on the loop itself, which would wait for ever.
        """
        loop = self._started()
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise LocalProtocolError(
                "a blocking call inside a callback would wait for itself",
                hint="use the async client there",
            )
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            try:
                future.result(_STOP_S)
            except (FutureCancelled, TimeoutError, Exception):
                pass
            raise

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():  # a forked child has the loop but not its thread
                loop = self._loop = asyncio.new_event_loop()
                self._pid = os.getpid()
                self._thread = threading.Thread(target=loop.run_forever, name="dragoman-portal", daemon=True)
                self._thread.start()
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
