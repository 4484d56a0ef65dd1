"""One loop in a thread for code that has none: results, errors, Ctrl-C, and an end in good order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import CallFailed, LocalProtocolError
from dragoman.runtime.portal import Portal
from tests.runtime.fakes import odd, press_ctrl_c


@pytest.fixture
def portal() -> Iterator[Portal]:
    portal = Portal()
    yield portal
    portal.stop()


async def value(result: int) -> int:
    await asyncio.sleep(0)
    return result


def test_results_and_errors_come_back(portal: Portal) -> None:
    async def fail() -> None:
        raise ValueError("so")

    assert portal.run(value(5)) == 5
    with pytest.raises(ValueError, match="so"):
        portal.run(fail())


def test_several_threads_share_one_loop(portal: Portal) -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def note() -> None:
        loops.append(asyncio.get_running_loop())

    threads = [threading.Thread(target=lambda: portal.run(note())) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(loops) == 5
    assert len(set(loops)) == 1


def test_call_from_a_callback_on_the_loop_is_refused_and_does_not_hang(portal: Portal) -> None:
    async def callback() -> None:
        portal.run(value(1))

    with pytest.raises(LocalProtocolError, match="would wait for itself"):
        portal.run(callback())


def test_ctrl_c_cancels_waits_for_the_clean_up_and_is_raised(portal: Portal) -> None:
    """The call has ended when the caller sees it."""
    seen: list[str] = []

    async def slow() -> None:
        asyncio.get_running_loop().call_later(0.05, press_ctrl_c)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            seen.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        portal.run(slow())
    assert seen == ["cleaned up"]
    assert portal.run(value(1)) == 1


def test_stopping_cancels_what_runs_and_ends_the_thread(portal: Portal) -> None:
    started = threading.Event()
    outcome: list[BaseException] = []

    async def slow() -> None:
        started.set()
        await asyncio.Event().wait()

    def caller() -> None:
        try:
            portal.run(slow())
        except CallFailed as exc:
            outcome.append(exc)

    thread = threading.Thread(target=caller)
    thread.start()
    assert started.wait(10)
    portal.stop()
    thread.join(10)
    assert len(outcome) == 1
    portal.stop()
    assert portal.run(value(2)) == 2  # it starts anew when it is needed


def test_loop_ends_before_children_that_nobody_closed_are_killed(tmp_path: Path) -> None:
    """Otherwise it would see them die, and their descriptors closed under it, while the interpreter exits."""
    program = tmp_path / "program.py"
    program.write_text(
        "import dragoman.blocking\n"
        "from dragoman.runtime.portal import PORTAL\n"
        "from dragoman.transports import process\n"
        f"kept = dragoman.blocking.Client({odd('stubborn')!r}).open()\n"
        "kill = process._kill_and_reap\n"
        "def watched(*which):\n"
        "    print('the loop is gone' if PORTAL._loop is None else 'the loop runs', flush=True)\n"
        "    kill(*which)\n"
        "process._kill_and_reap = watched\n"
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("the loop is gone\n", "")
