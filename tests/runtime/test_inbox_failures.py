"""Callbacks that raise cannot be used by a server to fill the log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from dragoman.runtime.inbox import Inbox


async def test_only_the_first_failures_of_callbacks_are_logged_and_the_rest_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    """Our choice: three tracebacks, then a count at close."""
    tasks: list[asyncio.Task[None]] = []

    def fail() -> None:
        raise ValueError("mine")

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.get_running_loop().create_task(work))
        return tasks[-1]

    inbox = Inbox("srv", spawn)
    with caplog.at_level(logging.ERROR, "dragoman"):
        for _ in range(50):
            inbox.put(fail)
        await asyncio.wait_for(asyncio.gather(*tasks), 5)
        inbox.close()
    assert len(caplog.records) == 4
    assert "50 callbacks failed" in caplog.records[-1].getMessage()
