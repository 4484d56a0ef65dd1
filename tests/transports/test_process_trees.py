"""Whole trees of processes: launchers, daemons that left their group, and many that do not want to leave."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.transports import proctable
from dragoman.transports.process import Child, spawn
from tests.transports.test_guardian import lives, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what lives is read from /proc")

#: Forks twice and leads a session of its own, as daemons do; ``stubborn`` ignores SIGTERM, ``hidden`` drops its environment.
DAEMON = """
import os, signal, sys, time
how = sys.argv[1:]
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        if "stubborn" in how:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for fd in (0, 2):
            os.close(fd)
        print(os.getpid(), flush=True)
        os.close(1)
        if "hidden" in how:
            os.execve("/bin/sleep", ["sleep", "60"], {})
        time.sleep(60)
    os._exit(0)
sys.stdin.read()
"""


@contextmanager
def daemon(*how: str) -> Iterator[tuple[Child, int]]:
    """A server of ours behind two launchers, and the daemon it has started."""
    script = 'exec 3<&0; "$@" <&3 & wait'
    child = spawn(["sh", "-c", script, "sh", sys.executable, "-I", "-c", DAEMON, *how], env=dict(os.environ))
    os.set_blocking(child.stdout, True)
    pid = int(os.read(child.stdout, 100))
    try:
        yield child, pid
    finally:
        for one in {pid, *proctable.marked(child._mark)}:
            if lives(one):
                os.kill(one, signal.SIGKILL)


@pytest.mark.parametrize("how", [(), ("stubborn",)])
async def test_daemon_that_left_its_group_is_ended_with_its_server(how: tuple[str, ...]) -> None:
    """Our contract: nothing is left behind; it is known by the mark in the environment it got from its server."""
    with daemon(*how) as (child, pid):
        assert lives(pid)
        assert os.getpgid(pid) != child.pid
        child.close_stdin()
        await asyncio.wait_for(child.stop(1.0), 20)
        assert wait_for(lambda: not lives(pid))


async def test_daemon_that_made_an_environment_of_its_own_is_not_seen() -> None:
    """A known limit: who leaves the group and drops its environment is nobody's child any more."""
    with daemon("hidden") as (child, pid):
        assert wait_for(lambda: Path(f"/proc/{pid}/environ").read_bytes() == b"")
        child.close_stdin()
        await asyncio.wait_for(child.stop(1.0), 20)
        assert lives(pid)


async def test_other_servers_are_left_alone() -> None:
    """Each has a mark of its own."""
    with daemon() as (one, _), daemon() as (other, pid):
        one.close_stdin()
        await asyncio.wait_for(one.stop(1.0), 20)
        assert lives(other.pid)
        assert lives(pid)
        other.close_stdin()
        await asyncio.wait_for(other.stop(1.0), 20)


def test_interpreter_that_exits_without_closing_ends_daemons_too() -> None:
    """The finalizer does what ``stop`` would have done."""
    code = f"""
        import os, sys
        from dragoman.transports.process import spawn
        child = spawn([sys.executable, "-I", "-c", {DAEMON!r}], env=dict(os.environ))
        os.set_blocking(child.stdout, True)
        print(os.read(child.stdout, 100).decode())
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=30)
    pid = int(done.stdout)
    assert wait_for(lambda: not lives(pid)), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("how", ["", "stubborn"])
def test_killed_host_leaves_no_daemon(how: str, tmp_path: Path) -> None:
    """The guardian knows the marks; ``kill -9`` of the host."""
    code = f"""
        import asyncio, os, sys
        from dragoman.transports.process import spawn
        child = spawn([sys.executable, "-I", "-c", {DAEMON!r}, *sys.argv[1].split()], env=dict(os.environ))
        os.set_blocking(child.stdout, True)
        print(child.pid, os.read(child.stdout, 100).decode(), flush=True)
        sys.stdin.read()
    """
    host = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    server, pid = map(int, host.stdout.readline().split())
    assert lives(server)
    assert lives(pid)
    host.kill()
    host.communicate(timeout=20)
    assert wait_for(lambda: not lives(pid) and not lives(server))


@pytest.mark.slow
async def test_fifty_that_ignore_everything_are_stopped_side_by_side() -> None:
    """Our contract: one ``stop_s`` for all of them; one after the other they would take a minute here."""
    stubborn = ["sh", "-c", "trap '' TERM HUP INT; echo up; while :; do sleep 1000; done"]
    children = [spawn(stubborn, env={"PATH": os.environ["PATH"]}) for _ in range(50)]
    for child in children:
        os.set_blocking(child.stdout, True)
        os.read(child.stdout, 100)
        child.close_stdin()
    async with asyncio.timeout(20):
        await asyncio.gather(*(child.stop(1.0) for child in children))
    assert not any(lives(child.pid) for child in children)
    assert not any(proctable.marked(child._mark) for child in children)
