"""What holds for every test: a state folder of its own, no process left behind, only valid messages sent, property tests without clocks."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.outgoing import Outgoing

CHILD_GRACE_S = 5.0

# No deadline: no test asserts elapsed time. No database: the checkout may belong to another user. On CI the examples are the same each run.
settings.register_profile("dragoman", deadline=None, database=None, print_blob=True, derandomize="CI" in os.environ)
settings.load_profile("dragoman")
# For `make quick`, which is run often; `make test` makes up as many examples as Hypothesis does.
settings.register_profile("quick", settings.get_profile("dragoman"), max_examples=40)

# What a shell starts in the background ignores Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

OUTGOING = Outgoing()
OUTGOING.install()


def pytest_collection_finish() -> None:
    """Set aside what is there for good: tests that collect garbage then look at their own, a tenth of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def only_valid_messages_are_sent(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that sends what the schema of its revision does not allow: in to us may come what likes, out goes what is right.

    `@pytest.mark.sends_garbage(reason="…")` is for tests that have the engine send what its caller gave it.
    """
    OUTGOING.complaints.clear()
    yield
    found = list(dict.fromkeys(OUTGOING.complaints))
    OUTGOING.complaints.clear()
    if found and request.node.get_closest_marker("sends_garbage") is None:
        pytest.fail(f"{len(found)} messages that were sent are not valid, the first of them:\n" + "\n".join(found[:5]), pytrace=False)


@pytest.fixture(autouse=True)
def dragoman_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state folder of this one test, and no configuration of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DRAGOMAN_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "xdg-state"))
    monkeypatch.delenv("DRAGOMAN_CONFIG", raising=False)
    return home / "state"


def children() -> set[int]:
    """Process ids of our direct children, the exited ones that nobody has waited for included."""
    ids: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            ids.update(int(word) for word in task.read_text().split())
        except OSError:  # a thread that ended while we looked
            continue
    return ids


def describe(pid: int) -> str:
    """The command line of a process, or its name where it has exited."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return f"{pid}: {words or Path(f'/proc/{pid}/comm').read_text().strip() + ' (exited, not waited for)'}"
    except OSError:
        return f"{pid}: gone"


@pytest.fixture(autouse=True)
def no_process_left_behind() -> Iterator[None]:
    """Fail the test that leaves a child process, running or unreaped. Servers of wider fixtures were there before and do not count."""
    before = children()
    yield
    limit = time.monotonic() + CHILD_GRACE_S
    while left := children() - before:
        if time.monotonic() > limit:
            pytest.fail("left behind: " + "; ".join(describe(pid) for pid in sorted(left)))
        time.sleep(0.01)
