"""A person and a model that always give the same answers, and inboxes that a test can wait on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from dragoman import Elicitation, ElicitationAnswer

T = TypeVar("T")
WAIT_S = 15.0


class Inbox(Generic[T]):
    """What callbacks were given, in order; `until` waits for the first that fits."""

    def __init__(self) -> None:
        self.seen: list[T] = []
        self._news = asyncio.Event()

    def put(self, item: T) -> None:
        """For use as a callback."""
        self.seen.append(item)
        self._news.set()

    async def until(self, fits: Callable[[T], bool]) -> T:
        """The first item that fits, waited for at most `WAIT_S` seconds."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for item in self.seen:
                    if fits(item):
                        return item
                self._news.clear()
                await self._news.wait()


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait, at most `WAIT_S` seconds, until a question asked of a server is answered with yes."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if await holds():
                return
            await asyncio.sleep(0.01)


class Notices(Inbox[tuple[str, dict[str, Any]]]):
    """Notices of a server, for `on_notification`."""

    def note(self, method: str, params: dict[str, Any]) -> None:
        """For use as a callback."""
        self.put((method, params))

    async def of(self, method: str) -> dict[str, Any]:
        """The params of the first notice with this method."""
        return (await self.until(lambda notice: notice[0] == method))[1]


class Person:
    """Answers forms and remembers what was asked.

    Args:
        answers: What to fill in, by the name of the field; a form gets only what it has a field for.
        action: Whether to accept at all.
    """

    def __init__(self, action: Any = "accept", **answers: Any) -> None:
        self.asked: list[Elicitation] = []
        self._action = action
        self._answers = answers

    def __call__(self, ask: Elicitation) -> ElicitationAnswer:
        self.asked.append(ask)
        if self._action != "accept" or ask.mode == "url":
            return ElicitationAnswer(self._action)
        fields = (ask.schema or {}).get("properties", {})
        return ElicitationAnswer("accept", {name: self._answers[name] for name in fields if name in self._answers})


class Model:
    """Answers every sampling request with the same line."""

    def __init__(self, line: str = "roses are red") -> None:
        self.asked: list[dict[str, Any]] = []
        self._line = line

    def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(params)
        return {"role": "assistant", "content": {"type": "text", "text": self._line}, "model": "parrot-1", "stopReason": "endTurn"}
