"""The guardian: when the host is killed with -9, every process group of its servers is ended, and nobody else's."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.transports import guardian, guardian_main
from dragoman.transports.guardian import GUARDIAN, Guardian
from dragoman.transports.process import spawn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what lives is read from /proc")

#: A launcher as npx is one: what it started ignores the end of its input and SIGTERM, and outlives it.
LAUNCHER = """
import os, signal, subprocess, sys, time
if sys.argv[1:] == ["grandchild"]:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(os.getpid(), flush=True)
    while True:
        time.sleep(60)
subprocess.run([sys.executable, __file__, "grandchild"])
"""

HOST = """
import asyncio, json, os, subprocess, sys
from dragoman.transports.guardian import GUARDIAN
from dragoman.transports.process import spawn

async def main():
    children = [spawn([sys.executable, sys.argv[1]], env=dict(os.environ)) for _ in range(int(sys.argv[2]))]
    pids = []
    for child in children:
        os.set_blocking(child.stdout, True)
        pids.append(int(os.read(child.stdout, 100)))
    print(json.dumps({"servers": [child.pid for child in children], "grandchildren": pids, "guardian": GUARDIAN.pid}), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


def lives(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(true: Callable[[], bool]) -> bool:
    limit = time.monotonic() + 20
    while not true():
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def host(tmp_path: Path, servers: int, code: str = HOST) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    (tmp_path / "launcher.py").write_text(LAUNCHER)
    (tmp_path / "host.py").write_text(textwrap.dedent(code))
    command = [sys.executable, str(tmp_path / "host.py"), str(tmp_path / "launcher.py"), str(servers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def put_away(process: subprocess.Popen[bytes], known: dict[str, Any] | None = None) -> None:
    for group in known["servers"] if known is not None else ():  # where the ladder is not what is tested, it need not be waited for
        os.killpg(group, signal.SIGKILL)
    process.kill()
    process.communicate(timeout=20)


@pytest.mark.slow
def test_killed_host_leaves_nothing_of_its_servers(tmp_path: Path) -> None:
    """Our choice: PR_SET_PDEATHSIG reaches only the direct child; the launcher's child ignores the end of its input and SIGTERM."""
    process, known = host(tmp_path, 2)
    everybody = [*known["servers"], *known["grandchildren"]]
    try:
        assert all(map(lives, [*everybody, known["guardian"]]))
        for pid in known["grandchildren"]:
            os.kill(pid, signal.SIGTERM)  # which they ignore, as was said
    finally:
        put_away(process)
    assert wait_for(lambda: not any(map(lives, everybody))), "a server outlived its host"
    assert wait_for(lambda: not lives(known["guardian"])), "the guardian outlived its work"


@pytest.mark.slow
def test_guardian_that_was_killed_is_replaced_when_it_is_looked_after_and_knows_all(tmp_path: Path) -> None:
    """Else everything that runs would be unguarded until the next server is started, perhaps never."""
    code = HOST.replace(
        "    await asyncio.Event().wait()",
        """
    os.kill(GUARDIAN.pid, 9)
    before = GUARDIAN.pid
    while GUARDIAN.pid == before:
        GUARDIAN.look()
    print(GUARDIAN.pid, flush=True)
    GUARDIAN.look()
    await asyncio.Event().wait()""",
    )
    process, known = host(tmp_path, 1, code)
    try:
        assert process.stdout is not None
        successor = int(process.stdout.readline())
        assert successor != known["guardian"]
        assert lives(successor)
        assert not Path(f"/proc/{known['guardian']}").exists(), "a zombie is left"
    finally:
        process.kill()
        process.communicate(timeout=20)
    assert wait_for(lambda: not any(map(lives, [*known["servers"], *known["grandchildren"], successor])))


def test_ctrl_c_of_the_host_is_not_the_guardians(tmp_path: Path) -> None:
    """It is in a session of its own, where no terminal reaches it."""
    process, known = host(tmp_path, 1)
    try:
        assert os.getsid(known["guardian"]) == known["guardian"]
    finally:
        put_away(process, known)
    assert wait_for(lambda: not lives(known["guardian"]))


def test_servers_do_not_hold_its_pipe(tmp_path: Path) -> None:
    """Else it would never see the end of the host."""
    process, known = host(tmp_path, 2)
    try:
        pipe = os.readlink(f"/proc/{known['guardian']}/fd/0")
        assert pipe.startswith("pipe:")
        for pid in (*known["servers"], *known["grandchildren"]):
            held = {os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()}
            assert pipe not in held
    finally:
        put_away(process, known)
    assert wait_for(lambda: not any(map(lives, known["servers"])))


def guarding() -> int | None:
    """The guardian's process number, as it is now."""
    return GUARDIAN.pid


async def ended(*children: Any) -> None:
    for child in children:
        child.close_stdin()
        await child.stop(2.0)


async def test_it_comes_with_the_first_server_and_goes_with_the_last() -> None:
    """Our choice: nothing of ours runs while nothing is guarded; one serves all."""
    assert guarding() is None
    first, second = (spawn(["cat"], env=dict(os.environ)) for _ in range(2))
    pid = guarding()
    assert pid is not None
    await ended(first)
    assert guarding() == pid
    await ended(second)
    assert guarding() is None
    assert wait_for(lambda: not Path(f"/proc/{pid}").exists()), "not waited for"


async def test_guardian_that_somebody_killed_is_replaced_and_told_of_all(tmp_path: Path) -> None:
    """Our choice: the next server brings a new one."""
    first = spawn(["cat"], env=dict(os.environ))
    old = guarding()
    assert old is not None
    os.kill(old, signal.SIGKILL)
    assert wait_for(lambda: not lives(old))
    second = spawn(["cat"], env=dict(os.environ))
    try:
        assert guarding() not in (None, old)
        assert set(GUARDIAN._groups) == {first.pid, second.pid}
    finally:
        await ended(first, second)


async def test_servers_started_from_several_threads_share_it() -> None:
    """One process, whoever starts first."""
    seen: list[int | None] = []
    children: list[Any] = []

    def start() -> None:
        children.append(spawn(["cat"], env=dict(os.environ)))
        seen.append(GUARDIAN.pid)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(set(seen)) == 1
    assert seen[0] is not None
    await asyncio.gather(*(ended(child) for child in children))
    assert guarding() is None


def _forked(queue: Any) -> None:
    queue.put((GUARDIAN.pid, GUARDIAN._pipe, len(GUARDIAN._groups)))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
async def test_fork_of_us_does_not_keep_it_from_seeing_our_end() -> None:
    """A forked child lets go of the pipe, and knows of no servers: they are not its own."""
    child = spawn(["cat"], env=dict(os.environ))
    try:
        context = multiprocessing.get_context("fork")
        queue = context.SimpleQueue()
        process = context.Process(target=_forked, args=(queue,))
        process.start()
        assert queue.get() == (None, -1, 0)
        process.join(20)
    finally:
        await ended(child)


@pytest.mark.parametrize("program", ["", "/opt/app/host", None])
async def test_server_starts_without_it_where_it_cannot_run(program: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedded interpreter has no program to run it with, and a frozen one would start the whole application once more."""
    if program is None:
        monkeypatch.setattr(sys, "frozen", True, raising=False)
    else:
        monkeypatch.setattr(sys, "executable", program)
    child = spawn(["cat"], env=dict(os.environ))
    assert guarding() is None
    await ended(child)
    assert GUARDIAN._groups == {}


def test_number_that_belongs_to_somebody_else_by_now_is_left_alone() -> None:
    """Process numbers come back: a leader that started at another time leads another group."""
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)
    try:
        started = guardian.start_time(process.pid)
        assert guardian_main.living({process.pid: (started, b"m")}) == {process.pid}
        assert guardian_main.living({process.pid: (started - 1, b"m")}) == set()
        assert guardian_main.living({process.pid: (0, b"m")}) == {process.pid}
        guardian_main.signal_all({process.pid: (started - 1, b"m")}, signal.SIGKILL)
        assert process.poll() is None
    finally:
        process.communicate(timeout=20)
    assert guardian_main.living({process.pid: (started, b"m")}) == set()


def test_what_has_ended_is_not_ended_again() -> None:
    """The program's side of the two lines."""
    read, write = os.pipe()
    os.write(write, b"+ 10 111 a\n+ 11 222 b\n- 10\n- 99\n+ 12 0 c\n")
    os.close(write)
    assert guardian_main.listen(read) == {11: (222, b"b"), 12: (0, b"c")}
    os.close(read)


async def test_it_is_small() -> None:
    """Our choice: at most 20 ms of CPU for its start, and 10 MB."""
    child = spawn(["cat"], env=dict(os.environ))
    try:
        status = Path(f"/proc/{GUARDIAN.pid}/status")
        assert wait_for(lambda: b"guardian_main" in Path(f"/proc/{GUARDIAN.pid}/cmdline").read_bytes())
        assert wait_for(lambda: "State:\tS" in status.read_text())
        most_kb = int(status.read_text().partition("VmHWM:")[2].split()[0])
        assert most_kb < 10 * 1024
        ticks = sum(map(int, Path(f"/proc/{GUARDIAN.pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
        assert ticks / os.sysconf("SC_CLK_TCK") <= 0.05  # the clock ticks in 10 ms, and other work counts in part
    finally:
        await ended(child)


def test_forgetting_what_was_never_watched_does_nothing() -> None:
    """Clients may opt out."""
    lone = Guardian()
    lone.forget(1)
    assert lone.pid is None
