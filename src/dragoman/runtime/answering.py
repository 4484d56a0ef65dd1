"""Asks of a server under way: each is handled in a task of its own, so that a handler may call the server back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from dragoman.protocol.events import AskReceived
from dragoman.runtime.inbox import Spawn
from dragoman.wire.envelope import INTERNAL_ERROR, ErrorBody, RequestId

log = logging.getLogger("dragoman")


class Answering:
    """The asks of one connection that are being handled.

    Args:
        handle: Method and params to a result or an :class:`ErrorBody`.
        answer: Sends one back.
        spawn: Starts a task.
    """

    def __init__(self, handle: Callable[[str, Raw], Awaitable[Any]], answer: Callable[[RequestId, Any], None], spawn: Spawn) -> None:
        self._handle = handle
        self._answer = answer
        self._spawn = spawn
        self._open: dict[RequestId, asyncio.Task[None]] = {}

    def start(self, ask: AskReceived) -> None:
        """Handle an ask; whatever becomes of the handler, the server gets an answer."""
        self._open[ask.request_id] = self._spawn(self._run(ask))

    def cancel(self, request_id: RequestId) -> None:
        """The server no longer wants it."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()

    async def _run(self, ask: AskReceived) -> None:
        task = asyncio.current_task()
        answer: Any
        try:
            answer = await self._handle(ask.method, ask.params)
        except asyncio.CancelledError:
            if task is None or task.cancelling():
                raise
            answer = ErrorBody(INTERNAL_ERROR, "the client could not answer: it was cancelled")  # by something inside the handler
        except Exception as exc:
            log.exception("the handler of %s failed", ask.method)
            answer = ErrorBody(INTERNAL_ERROR, f"the client could not answer: {type(exc).__name__}")
        # A handler may have slept through its cancellation, and the server may have used the id again since.
        if self._open.get(ask.request_id) is task:
            del self._open[ask.request_id]
            self._answer(ask.request_id, answer)
