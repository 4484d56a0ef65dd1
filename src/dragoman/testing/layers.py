"""A layer on its own, around an end that tests control: what it let through, what it refused, what it gave back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from dragoman.errors import DragomanError
from dragoman.policy.chain import Call, Layer, Outcome, Result
from dragoman.policy.ports import AuditEvent, Status
from dragoman.wire.results import ToolResult, decode_tool_result


def tool_result(text: str = "fine", *, structured: Any = None, is_error: bool = False) -> ToolResult:
    """A result as a server would have sent it; ``structured`` is left out when it is ``None``."""
    message: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if structured is not None:
        message["structuredContent"] = structured
    return decode_tool_result(msgspec.json.encode(message))


class Inside:
    """The end of a chain: keeps the calls that arrive, answers them, raises, or holds them until they are cancelled."""

    def __init__(self, answer: Result | BaseException | Callable[[Call], Outcome] | None = None) -> None:
        self.answer = answer
        self.calls: list[Call] = []
        self.holding = False
        self.arrived = asyncio.Event()

    async def __call__(self, call: Call) -> Outcome:
        self.calls.append(call)
        self.arrived.set()
        if self.holding:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        if callable(self.answer):
            return self.answer(call)
        return Outcome(call=call, result=tool_result() if self.answer is None else self.answer)


class Spawned:
    """A layer around an :class:`Inside`."""

    def __init__(self, layer: Layer, inside: Inside) -> None:
        self.layer, self.inside = layer, inside

    async def __call__(self, call: Call) -> Outcome:
        return await self.layer(call, self.inside)

    async def refused(self, call: Call) -> DragomanError:
        """The error that the layer refuses ``call`` with, having let nothing through.

        Raises:
            AssertionError: It let something through, or did not refuse.
        """
        before = len(self.inside.calls)
        try:
            await self.layer(call, self.inside)
        except DragomanError as exc:
            assert len(self.inside.calls) == before, f"{self.layer.name} refused the call after it had let it through"
            return exc
        raise AssertionError(f"{self.layer.name} did not refuse the call")

    async def cancelled(self, call: Call) -> None:
        """Cancel the call while it is inside; the cancellation must come out again.

        Raises:
            AssertionError: The layer swallowed it.
        """
        self.inside.holding = True
        task = asyncio.ensure_future(self(call))
        async with asyncio.timeout(10):
            await self.inside.arrived.wait()
            task.cancel()
            await asyncio.wait({task})
        assert task.cancelled(), f"{self.layer.name} swallowed a cancellation"


def spawn_layer(layer: Layer, answer: Result | BaseException | Callable[[Call], Outcome] | None = None) -> Spawned:
    """Put a layer around a fresh end that answers with ``answer``; a short text by default."""
    return Spawned(layer, Inside(answer))


class ListSink:
    """An audit sink that keeps events in a list; ``failure`` is raised by whatever is called next."""

    def __init__(self) -> None:
        self.events: list[AuditEvent] = []
        self.durable: list[AuditEvent] = []
        self.failure: DragomanError | None = None
        self.durable_failure: DragomanError | None = None

    async def append(self, event: AuditEvent) -> None:
        if self.failure is not None:
            raise self.failure
        self.events.append(event)

    async def append_durably(self, event: AuditEvent) -> None:
        if (failure := self.durable_failure or self.failure) is not None:
            raise failure
        self.events.append(event)
        self.durable.append(event)

    @property
    def story(self) -> list[str]:
        """The events in short: ``asked``, ``sending``, ``ended: ok``."""
        return [f"{event.event}: {event.status}" if event.status else event.event for event in self.events]

    @property
    def status(self) -> Status | None:
        """The status of the last event."""
        return self.events[-1].status
