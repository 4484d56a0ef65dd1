"""Callbacks of the user's: in order, bounded, and one that fails hurts nobody."""

from __future__ import annotations

import asyncio
import logging

import pytest

from dragoman.runtime import inbox as module
from dragoman.runtime.inbox import Inbox
from tests.runtime.fakes import turns


def new() -> Inbox:
    return Inbox("fake", lambda coroutine: asyncio.get_running_loop().create_task(coroutine))


async def test_callbacks_run_later_in_order_plain_and_async_alike() -> None:
    seen: list[int] = []

    async def slow() -> None:
        await asyncio.sleep(0)
        seen.append(2)

    inbox = new()
    inbox.put(lambda: seen.append(1))
    inbox.put(slow)
    inbox.put(lambda: seen.append(3))
    assert seen == []
    await turns()
    assert seen == [1, 2, 3]


async def test_callback_that_fails_is_logged_and_the_next_one_runs(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[int] = []
    inbox = new()
    inbox.put(lambda: 1 // 0)
    inbox.put(lambda: seen.append(1))
    await turns()
    assert seen == [1]
    assert "a callback failed" in caplog.text


async def test_oldest_are_dropped_beyond_a_bound_and_counted(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Also small ones: each costs something."""
    monkeypatch.setattr(module, "MAX_BYTES", 3 * module._EACH)
    caplog.set_level(logging.WARNING)
    seen: list[int] = []
    inbox = new()
    for number in range(10):
        inbox.put(lambda number=number: seen.append(number))  # type: ignore[misc]  # a lambda with a default
    await turns()
    assert seen == [7, 8, 9]
    assert inbox.dropped == 7
    assert caplog.text.count("the oldest are dropped") == 1


async def test_oldest_are_dropped_beyond_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few huge notices must not fill the memory either; the newest is always kept."""
    monkeypatch.setattr(module, "MAX_BYTES", 100)
    monkeypatch.setattr(module, "_EACH", 0)
    seen: list[int] = []
    inbox = new()
    for number, size in enumerate((60, 60, 30, 500)):
        inbox.put(lambda number=number: seen.append(number), size)  # type: ignore[misc]  # a lambda with a default
    await turns()
    assert seen == [3]
    inbox.put(lambda: seen.append(4), 90)
    await turns()
    assert seen == [3, 4]


async def test_others_get_their_turn_between_many_plain_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BREATH_S", -1.0)  # every look at the clock finds that it is time
    inbox = new()
    seen: list[int] = []
    for number in range(1000):
        inbox.put(lambda number=number: seen.append(number))  # type: ignore[misc]  # a lambda with a default
    await turns(2)
    assert 0 < len(seen) < 1000
    await turns(20)
    assert len(seen) == 1000


async def test_closed_inbox_runs_nothing_more() -> None:
    seen: list[int] = []
    inbox = new()
    inbox.put(lambda: seen.append(1))
    inbox.close()
    await turns()
    assert seen == []
