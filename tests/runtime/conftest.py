"""For every test of the runtime: nothing left on the loop in disorder, and a clock that can be moved."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator

import pytest

from tests.runtime.fakes import LoopClock


@pytest.fixture(scope="module", autouse=True)
def garbage_of_these_tests_alone() -> None:
    """Set aside what is alive by now, so that the collection after every test looks at what the tests of this file made."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_complaints_of_asyncio(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail the test after which asyncio reports an exception that nobody saw, or a task that was forgotten."""
    yield
    gc.collect()
    records = [*caplog.get_records("call"), *caplog.get_records("teardown")]
    complaints = [record.getMessage() for record in records if record.name == "asyncio" and record.levelno >= logging.ERROR]
    assert complaints == []


@pytest.fixture
async def clock() -> LoopClock:
    """The time of the running loop, to be moved by hand."""
    return LoopClock(asyncio.get_running_loop())
