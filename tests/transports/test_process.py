"""Starting a process, and ending it with everything it started."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.errors import SpawnFailed
from dragoman.transports import process
from dragoman.transports.process import Child, group_lives, spawn

PYTHON = [sys.executable, "-I", "-c"]
ENV = {"PATH": os.environ["PATH"]}
IGNORES_TERM = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"


async def readable(fd: int) -> None:
    """Wait until there is something to read."""
    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, ready.set)
    await asyncio.wait_for(ready.wait(), 20)
    loop.remove_reader(fd)


async def read_all(fd: int) -> bytes:
    """What arrives on a non-blocking pipe until its end."""
    found = b""
    async with asyncio.timeout(20):
        while True:
            try:
                chunk = os.read(fd, 65536)
            except BlockingIOError:
                await readable(fd)
                continue
            if not chunk:
                return found
            found += chunk


async def first_line(child: Child) -> bytes:
    """Wait until the child says something."""
    await readable(child.stdout)
    return os.read(child.stdout, 65536)


def wait_until_gone(pgid: int) -> None:
    """Bounded: signals are delivered at once, dying takes a moment."""
    limit = time.monotonic() + 10
    while group_lives(pgid):
        assert time.monotonic() < limit, f"group {pgid} still lives"
        time.sleep(0.01)


# --- starting ---------------------------------------------------------------------------------------------------------


async def test_child_gets_exactly_the_environment_arguments_and_folder_given(tmp_path: Path) -> None:
    """No shell in between; which names to pass is decided elsewhere, and a mark is added by which it is known."""
    program = "import os, sys; del os.environ['DRAGOMAN_SERVER']; print(sorted(os.environ), sys.argv[1:], os.getcwd())"
    child = spawn([*PYTHON, program, "$HOME", "a b; *"], env={"ONLY": "this", "LC_CTYPE": "C.UTF-8"}, cwd=tmp_path)
    assert await read_all(child.stdout) == f"['LC_CTYPE', 'ONLY'] ['$HOME', 'a b; *'] {tmp_path}\n".encode()
    await child.stop(5)


async def test_child_leads_a_session_of_its_own_and_inherits_three_descriptors() -> None:
    """Ctrl-C at our terminal is ours to handle; a descriptor that leaks keeps another server's pipe open."""
    other = spawn([*PYTHON, "input()"], env=ENV)
    program = "import os; print(os.getpid() == os.getsid(0) == os.getpgid(0), len(os.listdir('/proc/self/fd')) - 1)"
    child = spawn([*PYTHON, program], env=ENV)
    assert await read_all(child.stdout) == b"True 3\n"
    for one in (child, other):
        one.close_stdin()
        await one.stop(5)
    assert other.exit_code == 1  # EOFError: it saw the end of its input though `child` was started after it


@pytest.mark.parametrize(
    ("command", "said", "hint"),
    [
        (["no-such-program"], "'no-such-program': no such program in PATH", "is it installed? check the spelling, or give the full path"),
        (["npx", "server"], "'npx': no such program in PATH", "is it installed? install Node.js, which brings npx"),
        (["uvx", "server"], "'uvx': no such program in PATH", "is it installed? install uv, which brings uvx"),
        (["/no/such/file"], "'/no/such/file': there is no such file", "is it installed?"),
        (["python3 server.py"], "'python3 server.py': no such program in PATH", "separate items of the command"),
        (["a\0b"], "embedded null byte", None),
        ([], "must be a list that starts with a program, not []", '["python3", "server.py"]'),
    ],
)
def test_command_that_cannot_be_found_is_named_with_a_hint(command: list[str], said: str, hint: str | None, tmp_path: Path) -> None:
    """The first thing a new user gets wrong."""
    with pytest.raises(SpawnFailed) as caught:
        spawn(command, env={"PATH": str(tmp_path)})
    assert said in str(caught.value)
    assert (hint in (caught.value.hint or "")) if hint else caught.value.hint is None


def test_command_given_as_one_string_is_refused() -> None:
    """A string is a sequence of letters; running the first would be absurd."""
    with pytest.raises(SpawnFailed, match="must be a list"):
        spawn("python3 server.py", env=ENV)


def test_working_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """The system reports it like a missing program."""
    with pytest.raises(SpawnFailed, match=r"'/bin/sh': its working folder '.*/missing' is not a folder") as caught:
        spawn(["/bin/sh"], env=ENV, cwd=tmp_path / "missing")
    assert caught.value.hint == "create it, or correct cwd"


@pytest.mark.parametrize(
    ("content", "mode", "said", "hint"),
    [
        ("#!/bin/sh\n", 0o600, "Permission denied", "chmod +x"),
        ("#!/no/such/interpreter\n", 0o700, "No such file or directory", "installed interpreter"),
        ("print(1)\n", 0o700, "Exec format error", "installed interpreter"),
    ],
)
def test_file_that_cannot_be_run_is_explained(content: str, mode: int, said: str, hint: str, tmp_path: Path) -> None:
    """Three ways a script is not a program; all hold for root too."""
    script = tmp_path / "server"
    script.write_text(content)
    script.chmod(mode)
    with pytest.raises(SpawnFailed) as caught:
        spawn([str(script)], env=ENV)
    assert said in str(caught.value)
    assert hint in (caught.value.hint or "")


def test_running_out_of_descriptors_is_explained_and_leaks_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty servers take two hundred descriptors; some systems allow 256."""
    before, pipe = set(os.listdir("/proc/self/fd")), os.pipe
    made: list[tuple[int, int]] = []

    def scarce() -> tuple[int, int]:
        if len(made) == 2:
            raise OSError(errno.EMFILE, "Too many open files")
        made.append(pipe())
        return made[-1]

    monkeypatch.setattr(os, "pipe", scarce)
    with pytest.raises(SpawnFailed, match="too many open files") as caught:
        spawn(["/bin/sh"], env=ENV)
    assert "ulimit -n" in (caught.value.hint or "")
    assert set(os.listdir("/proc/self/fd")) == before


def test_without_any_descriptor_the_error_is_one_of_ours_and_passes_with_the_cause() -> None:
    """Not even the words for it can be read from disk then; and what was taken on the way must not make it last."""
    program = """
import asyncio, os, resource
from dragoman.errors import ConnectFailed, SpawnFailed
from dragoman.transports.process import spawn
from dragoman.transports.tcp import TcpTransport, tcp_address
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

def fill():
    held = []
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return held

async def main():
    held = fill()
    for left in (0, 1, 3, 5):
        for fd in [held.pop() for _ in range(left)]:
            os.close(fd)
        for _ in range(20):
            try:
                await spawn(["/bin/true"], env={}, guarded=False).stop(1.0)
            except SpawnFailed as exc:
                assert "ulimit -n" in exc.hint, exc.hint
        held += fill()
    try:
        await TcpTransport(tcp_address("tcp://127.0.0.1:9")).open(print)
    except ConnectFailed as exc:
        print(exc)
    for fd in held:
        os.close(fd)
    await spawn(["/bin/true"], env={}, guarded=False).stop(1.0)

asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "oo many open files" in done.stdout


# --- ending -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pidfd", [True, False])
@pytest.mark.parametrize(
    ("program", "exit_code"),
    [
        ("import sys; print(1, flush=True); sys.stdin.read(); sys.exit(3)", 3),
        ("import time; print(1, flush=True); time.sleep(600)", -signal.SIGTERM),
        (IGNORES_TERM + "import time; print(1, flush=True); time.sleep(600)", -signal.SIGKILL),
    ],
)
async def test_each_rung_of_the_ladder_ends_what_the_one_before_did_not(
    program: str, exit_code: int, pidfd: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCP 2025-11-25 basic/lifecycle#shutdown: close stdin, wait, SIGTERM, wait, SIGKILL; with pidfd and without."""
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    child = spawn([*PYTHON, program], env=ENV)
    exits: list[int | None] = []
    child.watch(lambda: exits.append(child.exit_code))
    await first_line(child)
    child.close_stdin()
    await child.stop(0.5 if exit_code < 0 else 5)
    assert (child.exited, child.exit_code, exits) == (True, exit_code, [exit_code])
    assert (child.stdin, child.stdout, child.stderr) == (-1, -1, -1)


LAUNCHER = """
import subprocess, sys
real = subprocess.Popen([sys.executable, "-I", "-c", sys.argv[1]], stdout=subprocess.PIPE)
real.stdout.readline()
print("both are up", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("ignores", ["", IGNORES_TERM])
async def test_launcher_that_leaves_takes_what_it_launched_along(ignores: str) -> None:
    """npx and friends exit on the end of input, the real server may not: SIGTERM, then SIGKILL, to the rest of the group."""
    child = spawn([*PYTHON, LAUNCHER, ignores + "import time; print(1, flush=True); time.sleep(600)"], env=ENV)
    await first_line(child)
    child.close_stdin()
    await child.stop(1)
    assert child.exit_code == 0
    assert not group_lives(child.pid)


async def test_what_a_launcher_leaves_behind_is_asked_before_it_is_killed(tmp_path: Path) -> None:
    """It may have files to close: SIGTERM comes first."""
    note = tmp_path / "note"
    real = f"import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(open({str(note)!r}, 'w').write('asked')))\n"
    child = spawn([*PYTHON, LAUNCHER, real + "print(1, flush=True); time.sleep(600)"], env=ENV)
    await first_line(child)
    child.close_stdin()
    await child.stop(10)
    assert note.read_text() == "asked"


async def test_many_tasks_may_stop_at_once_and_a_cancelled_one_stops_nothing() -> None:
    """One ladder, whoever asks; the impatient caller leaves it running."""
    child = spawn([*PYTHON, "import time; print(1, flush=True); time.sleep(600)"], env=ENV)
    child.watch(lambda: None)
    await first_line(child)
    impatient = asyncio.create_task(child.stop(0.5))
    others = [asyncio.create_task(child.stop(0.5)) for _ in range(3)]
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait_for(asyncio.gather(*others), 20)
    await child.stop(0.5)
    assert child.exit_code == -signal.SIGTERM
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_status_taken_by_somebody_else_is_unknown_not_an_error() -> None:
    """A program that reaps all its children must not break the ladder."""
    child = spawn([*PYTHON, "pass"], env=ENV)
    os.waitpid(child.pid, 0)  # noqa: ASYNC222  # the child ends by itself
    seen: list[int | None] = []
    child.watch(lambda: seen.append(child.exit_code))
    await asyncio.wait_for(child.stop(5), 20)
    assert (child.exited, child.exit_code, seen) == (True, None, [None])


def test_group_of_zombies_is_not_alive() -> None:
    """Where process 1 reaps no orphans a group of zombies stays for ever; waiting for it would cost the whole ladder each time."""
    zombie = subprocess.Popen([sys.executable, "-I", "-c", "pass"], start_new_session=True)
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    os.killpg(zombie.pid, 0)
    assert not group_lives(zombie.pid)
    zombie.wait()
    assert not group_lives(zombie.pid)


async def test_system_without_pidfd_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old kernels and strict sandboxes refuse the call, other systems do not have it."""

    def refused(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refused)
    child = spawn([*PYTHON, "raise SystemExit(4)"], env=ENV)
    gone = asyncio.Event()
    child.watch(gone.set)
    await asyncio.wait_for(gone.wait(), 20)
    await child.stop(5)
    assert child.exit_code == 4


# --- when nobody stops it ---------------------------------------------------------------------------------------------


async def test_forgotten_child_is_killed_when_its_object_is_collected() -> None:
    """A loop that went away without closing; the descriptors go too."""
    before = set(os.listdir("/proc/self/fd"))
    child = spawn([*PYTHON, "import time; time.sleep(600)"], env=ENV)
    pid = child.pid
    del child
    gc.collect()
    assert not group_lives(pid)
    assert set(os.listdir("/proc/self/fd")) == before


FORGETS = """
import asyncio, os, sys
from dragoman.transports.process import spawn
async def main():
    child = spawn([sys.executable, "-I", "-c", "import time; time.sleep(600)"], env=None)
    child.watch(lambda: None)
    globals()["kept"] = child
    print(child.pid, flush=True)
    HOW
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["raise KeyboardInterrupt", "sys.exit(1)", "return"])
def test_interpreter_that_exits_without_closing_kills_its_servers(how: str) -> None:
    """Nobody called close: the last chance is the interpreter's exit."""
    done = subprocess.run([sys.executable, "-c", FORGETS.replace("HOW", how)], capture_output=True, timeout=30, check=False)
    wait_until_gone(int(done.stdout))


async def test_fork_of_ours_leaves_our_servers_alone() -> None:
    """A forked worker runs the same exit handlers; the servers are not its own."""
    program = FORGETS.replace("HOW", "pass") + (
        "if os.fork() == 0:\n    sys.exit(0)\nos.wait()\n"
        "print('alive' if os.waitid(os.P_PID, kept.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None else 'dead', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30, check=False)
    pid, state = done.stdout.split()
    assert state == b"alive"
    wait_until_gone(int(pid))


def test_module_needs_nothing_of_linux_to_be_imported() -> None:
    """``doctor`` says what is weaker elsewhere; importing must work everywhere."""
    program = (
        "import asyncio, os, signal, shutil, subprocess\n"
        "for module, names in ((os, ('pidfd_open', 'waitid', 'killpg', 'set_blocking', 'P_PID', 'CLD_EXITED', 'WNOHANG', 'fchmod')),\n"
        "                      (signal, ('SIGKILL',))):\n"
        "    for name in names: delattr(module, name)\n"
        "import dragoman.transports.stdio, dragoman.transports.logfile\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_system_that_is_not_posix_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clear refusal with the way out, not an AttributeError."""
    monkeypatch.setattr(process, "os", type("Os", (), {"name": "nt"}))
    with pytest.raises(SpawnFailed, match="POSIX") as caught:
        spawn(["server"], env=ENV)
    assert caught.value.hint == "connect to the server by URL"
