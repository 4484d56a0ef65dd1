"""A server on pipes: writing, reading, the end in all its forms, nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LocalProtocolError, SpawnFailed
from dragoman.protocol.actions import STDIO, CloseStream, Send
from dragoman.testing.transports import PEER_PROGRAM, Reports, request, respond
from dragoman.transports.base import Closed, Oversized, Received
from dragoman.transports.logfile import LogFile
from dragoman.transports.process import group_lives
from dragoman.transports.stdio import StdioTransport, name_of

ENV = {"PATH": os.environ["PATH"]}


def child(program: str, *arguments: str, **options: Any) -> StdioTransport:
    """A transport to ``python -c program``."""
    return StdioTransport([sys.executable, "-I", "-u", "-c", program, *arguments], env=ENV, **options)


async def opened(program: str, **options: Any) -> tuple[StdioTransport, Reports]:
    transport, reports = child(program, **options), Reports()
    await transport.open(reports)
    return transport, reports


async def ended(transport: StdioTransport, reports: Reports) -> Closed:
    """Wait for the end, clean up, and see that nothing of the group is left."""
    await reports.until(reports.closed, "Closed")
    await transport.close()
    assert transport.pid is not None
    assert not group_lives(transport.pid)
    [closed] = reports.closed()
    assert reports.all[-1] is closed
    return closed


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize(("method", "params"), [("echo", {"a": [1]}), ("many", {"n": 2}), ("big", {"size": 500}), ("note", {})])
async def test_peer_program_answers_as_respond_says(method: str, params: dict[str, Any]) -> None:
    """The two descriptions of the conformance peer are one."""
    transport, reports = await opened(PEER_PROGRAM)
    action = request(5, method, **params)
    await transport.perform(action)
    want = respond(action.message)
    assert want is not None
    await reports.until(lambda: len(reports.all) == len(want), "the answers")
    assert reports.messages() == [json.loads(line) for line in want]
    await transport.close()


# --- writing ----------------------------------------------------------------------------------------------------------


async def test_lone_call_is_one_write_and_one_callback(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write through when alone: no turn of the loop between the caller and the pipe, and only the reader comes back."""
    transport, reports = await opened(PEER_PROGRAM)
    ran: list[str] = []
    original = asyncio.events.Handle._run

    def counting(handle: Any) -> None:
        ran.append(repr(handle))
        original(handle)

    for number in range(5):
        await transport.perform(request(number, "echo"))
        await reports.until(lambda number=number: len(reports.answers()) == number + 1, "an answer")  # type: ignore[misc]
    monkeypatch.setattr(asyncio.events.Handle, "_run", counting)
    await transport.perform(request(9, "echo"))
    await reports.until(lambda: len(reports.answers()) == 6, "the counted answer")
    monkeypatch.undo()
    assert sum("LinePipe" in handle for handle in ran) == 1
    await transport.close()


async def test_messages_of_one_turn_share_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Coalesce when others are pending: 64 calls started together are two system calls."""
    transport, reports = await opened(PEER_PROGRAM)
    written: list[int] = []
    original = os.write

    def counting(fd: int, data: Any) -> int:
        sent = original(fd, data)
        written.append(sent)
        return sent

    monkeypatch.setattr(os, "write", counting)
    await asyncio.gather(*(transport.perform(request(number, "echo")) for number in range(64)))
    await reports.until(lambda: len(reports.answers()) == 64, "64 answers")
    monkeypatch.undo()
    assert len(written) == 2
    assert reports.answers() == list(range(64))
    await transport.close()


READS_WHEN_TOLD = r"""
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("up", flush=True)
signal.sigwait({signal.SIGUSR1})
count = 0
while chunk := os.read(0, 65536):
    count += len(chunk)
print(count, flush=True)
"""


async def test_backpressure_waits_and_a_cancelled_writer_tears_nothing() -> None:
    """The pipe is full: performing waits, the cancelled message is written all the same, then the waiting ends."""
    transport, reports = await opened(READS_WHEN_TOLD)
    await reports.until(lambda: reports.all, "the server")
    big = b"x" * 1_000_000
    impatient = asyncio.create_task(transport.perform(Send(big)))
    patient = asyncio.create_task(transport.perform(Send(big)))
    await asyncio.sleep(0)
    assert not patient.done()
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    assert not patient.done()
    assert transport.pid is not None
    os.kill(transport.pid, signal.SIGUSR1)
    await asyncio.wait_for(patient, 10)
    await transport.perform(Send(b"last"))
    await transport.close()
    await reports.until(reports.closed, "Closed")


async def test_message_of_a_cancelled_writer_is_written_whole(tmp_path: Path) -> None:
    """Half a message would make the next one unreadable too."""
    out = tmp_path / "count"
    program = READS_WHEN_TOLD.replace("print(count, flush=True)", f"open({str(out)!r}, 'w').write(str(count))")
    transport, reports = await opened(program)
    await reports.until(lambda: reports.all, "the server")
    writer = asyncio.create_task(transport.perform(Send(b"x" * 1_000_000)))
    await asyncio.sleep(0)
    writer.cancel()
    assert transport.pid is not None
    os.kill(transport.pid, signal.SIGUSR1)
    await transport.close()
    assert (await ended(transport, reports)).exit_code == 0
    assert out.read_text() == "1000001"


async def test_writer_that_waits_is_released_when_the_server_dies() -> None:
    """A broken pipe is not raised; the end is reported, with the status."""
    transport, reports = await opened("import sys, time\nsys.stdin.buffer.read(100000)\nsys.exit(7)")
    await asyncio.wait_for(transport.perform(Send(b"x" * 5_000_000)), 10)
    await transport.perform(Send(b"{}"))
    closed = await ended(transport, reports)
    assert (closed.reason, closed.exit_code) == ("exited with status 7", 7)


async def test_waiting_writer_is_released_by_close() -> None:
    """Somebody else may close while a caller waits for a server that reads nothing."""
    transport, reports = await opened("import time\ntime.sleep(600)", stop_s=0.2)
    writer = asyncio.create_task(transport.perform(Send(b"x" * 5_000_000)))
    await asyncio.sleep(0)
    await transport.close()
    await asyncio.wait_for(writer, 10)
    assert (await ended(transport, reports)).exit_code == -15


async def test_what_was_queued_before_close_still_arrives(tmp_path: Path) -> None:
    """The notice that cancels a call and the end of the connection often come together."""
    out = tmp_path / "got"
    transport, _reports = await opened(f"import sys, time\nopen({str(out)!r}, 'wb').write(sys.stdin.buffer.read())")
    for number in range(3):
        await transport.perform(Send(b"%d" % number))
    await transport.perform(Send(b"x" * 200_000))
    await transport.close()
    assert out.read_bytes() == b"0\n1\n2\n" + b"x" * 200_000 + b"\n"


# --- reading ----------------------------------------------------------------------------------------------------------


async def test_long_line_arrives_whole_and_a_longer_one_is_discarded() -> None:
    """The sizes of the wire's habit of one message a line: 8 MB fits, 20 MB is over a limit of 10."""
    program = "import sys\nw = sys.stdout.buffer.write\nw(b'a' * 8_000_000 + b'\\n' + b'b' * 20_000_000 + b'\\nnext\\n')"
    transport, reports = await opened(program, frame_limit=10_000_000)
    closed = await ended(transport, reports)
    assert closed.exit_code == 0
    assert len(reports.all[0].message) == 8_000_000  # type: ignore[union-attr]
    assert reports.all[1] == Oversized(b"b" * 4096, b"b" * 4096, 20_000_000, 10_000_000)
    assert reports.all[2] == Received(b"next")


async def test_stderr_is_drained_kept_and_never_blocks_the_server(tmp_path: Path) -> None:
    """1 MB of log before each answer: an unread pipe would stop the server at 64 KB."""
    program = (
        "import sys\nfor line in sys.stdin.buffer:\n"
        "    sys.stderr.buffer.write(b'noise\\n' * 170_000 + b'last words\\n')\n    sys.stdout.buffer.write(line)\n"
    )
    log = LogFile(tmp_path / "server.log", max_bytes=1 << 30)
    transport, reports = await opened(program, stderr_sink=log.write)
    for number in range(3):
        await transport.perform(Send(b"%d" % number))
        await reports.until(lambda number=number: len(reports.all) == number + 1, "an answer")  # type: ignore[misc]
    await transport.close()
    log.close()
    closed = await ended(transport, reports)
    assert len(closed.detail) == 4096
    assert closed.detail.endswith("noise\nlast words\n")
    assert (tmp_path / "server.log").stat().st_size == 3 * (6 * 170_000 + 11)


async def test_sink_that_fails_is_dropped_and_the_server_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    """A full disk is no reason to lose a server."""

    def full(_data: bytes) -> None:
        raise OSError(28, "No space left on device")

    program = "import sys\nprint('a', file=sys.stderr)\ninput()\nprint('b', file=sys.stderr)\nprint('ok')"
    transport, reports = await opened(program, stderr_sink=full)
    await transport.perform(Send(b"go"))
    closed = await ended(transport, reports)
    assert reports.all[0] == Received(b"ok")
    assert closed.detail == "a\nb\n"
    assert [record.message for record in caplog.records].count(caplog.records[0].message) == 1
    assert "No space left" in caplog.text


# --- the end ----------------------------------------------------------------------------------------------------------


async def test_all_that_was_written_before_the_exit_is_read_before_the_end() -> None:
    """The answer and the exit may come in one turn of the loop; so may the last line without its newline."""
    transport, reports = await opened("import os, sys\nos.write(1, b'x\\n' * 20_000 + b'last')\nos.write(2, b'why\\n')\nos._exit(3)")
    assert await ended(transport, reports) == Closed("exited with status 3", "why\n", 3)
    assert len(reports.all) == 20_002
    assert reports.all[-2] == Received(b"last")


async def test_death_by_signal_is_named() -> None:
    """The out-of-memory killer leaves no other trace."""
    transport, reports = await opened("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert await ended(transport, reports) == Closed("killed by signal SIGKILL", "", -9)


async def test_server_that_closes_its_output_but_lives_is_reported_and_stopped() -> None:
    """Nobody called close: the transport itself sees to it that nothing is left."""
    transport, reports = await opened("import os, time\nos.close(1)\ntime.sleep(600)", stop_s=0.5)
    await reports.until(reports.closed, "Closed")
    assert reports.all == [Closed("closed its output")]
    await ended(transport, reports)


async def test_server_that_closes_its_input_but_lives_is_reported_and_stopped() -> None:
    """Else every call would wait for its deadline."""
    transport, reports = await opened("import os, time\nos.close(0)\nprint('up', flush=True)\ntime.sleep(600)", stop_s=0.5)
    await reports.until(lambda: reports.all, "the banner")
    await transport.perform(Send(b"{}"))
    assert (await ended(transport, reports)).reason == "closed its input"


@pytest.mark.parametrize("seen_by", ["pidfd", "polling"])
async def test_exit_is_noticed_though_a_grandchild_keeps_the_pipes_open(seen_by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher died, what it launched holds stdout; the end comes all the same, and the grandchild goes."""
    if seen_by == "polling":
        monkeypatch.delattr(os, "pidfd_open")
    program = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; print(\"child\", flush=True); time.sleep(600)'])\n"
        "sys.stdin.readline()\nsys.exit(5)"
    )
    transport, reports = await opened(program)
    await reports.until(lambda: reports.all, "the grandchild")
    await transport.perform(Send(b"go"))
    assert (await ended(transport, reports)).reason == "exited with status 5"


async def test_grandchild_that_writes_for_ever_does_not_delay_the_end() -> None:
    """What is read after the exit is bounded."""
    flood = "import os\nwhile True: os.write(1, b'{}\\n' * 1000)"
    program = f"import os, subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {flood!r}])\nos.read(0, 1)\nos._exit(6)"
    transport, reports = await opened(program)
    await reports.until(lambda: reports.all, "the flood")
    await transport.perform(Send(b"go"))
    assert (await ended(transport, reports)).exit_code == 6


async def test_stubborn_server_and_its_stubborn_child_are_gone_after_close() -> None:
    """The stop ladder ends with SIGKILL to the whole group."""
    ignore = "import signal, sys, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\n"
    program = ignore + f"import subprocess\nsubprocess.Popen([sys.executable, '-c', {ignore + 'time.sleep(600)'!r}])\ntime.sleep(600)"
    transport, reports = await opened(program, stop_s=0.5)
    await reports.until(lambda: len(reports.all) == 2, "both")
    await transport.close()
    assert (await ended(transport, reports)).reason == "killed by signal SIGKILL"


async def test_server_that_writes_without_end_is_closed_politely() -> None:
    """It is read from while it is asked to leave: a full pipe would keep it from seeing the end of its input."""
    program = (
        "import os, sys, threading, time\n"
        "def flood():\n    while True: os.write(1, b'{}\\n' * 10_000)\n"
        "threading.Thread(target=flood, daemon=True).start()\nsys.stdin.read()\ntime.sleep(0.2)\nos.write(2, b'bye')\nos._exit(0)"
    )
    transport, reports = await opened(program)
    await reports.until(lambda: reports.all, "the flood")
    count = len(reports.all)
    await transport.close()
    assert len(reports.all) == count + 1  # whoever closes does not want to hear any more
    assert await ended(transport, reports) == Closed("exited with status 0", "bye", 0)


async def test_nothing_is_left_behind_after_many_connections(recwarn: pytest.WarningsRecorder) -> None:
    """No descriptor, no zombie, no pending task or timer, no ResourceWarning; closing in another task than opening."""
    await (await opened("pass"))[0].close()
    before = descriptors()
    transports = [child(PEER_PROGRAM) for _ in range(8)]
    for transport in transports:
        await asyncio.create_task(transport.open(Reports()))
    assert len(descriptors()) == len(before) + 8 * 4 + 1  # and the pipe to the guardian
    await asyncio.gather(*(asyncio.create_task(transport.close()) for transport in transports))
    await asyncio.sleep(0)
    gc.collect()
    assert descriptors() == before
    assert asyncio.all_tasks() == {asyncio.current_task()}
    scheduled: list[asyncio.TimerHandle] = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]
    assert [handle for handle in scheduled if not handle.cancelled() and "Stdio" in repr(handle)] == []
    assert [str(warning.message) for warning in recwarn] == []


def test_loop_that_ends_without_close_leaves_no_process() -> None:
    """An interrupted ``asyncio.run`` cancels whatever is there; the ladder is then cut short, not skipped."""
    transport = child("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)")

    async def interrupted() -> None:
        reports = Reports()
        await transport.open(reports)
        await reports.until(lambda: reports.all, "the server")
        closing = asyncio.create_task(transport.close())
        await asyncio.sleep(0)
        assert not closing.done()

    asyncio.run(interrupted())
    assert transport.pid is not None
    assert not group_lives(transport.pid)


async def test_command_that_does_not_exist_leaves_nothing_open() -> None:
    """SpawnFailed is raised by open, and close afterwards is harmless."""
    before = descriptors()
    transport = StdioTransport(["no-such-server"], env=ENV)
    with pytest.raises(SpawnFailed, match="'no-such-server': no such program in PATH"):
        await transport.open(Reports())
    await transport.close()
    assert descriptors() == before


async def test_using_it_out_of_order_is_our_own_mistake() -> None:
    """Silence would hang the caller."""
    transport = child(PEER_PROGRAM)
    assert transport.traits is STDIO
    assert transport.pid is None
    with pytest.raises(LocalProtocolError, match="not open yet"):
        await transport.perform(Send(b"{}"))
    await transport.open(Reports())
    await transport.perform(CloseStream(1))
    with pytest.raises(LocalProtocolError, match="opened before"):
        await transport.open(Reports())
    await transport.close()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["npx", "-y", "@scope/server@1.2", "/tmp/x"], "npx @scope/server@1.2"),
        (["/usr/bin/python3", "-m", "server"], "python3 server"),
        (["uv", "tool", "run", "server"], "uv server"),
        (["server", "--token", "s3cret"], "server"),
        (["server", "postgresql://me:pw@host/db"], "server"),
        (["server", "KEY=value"], "server"),
        (["server"], "server"),
    ],
)
def test_label_names_the_server_and_no_secret(command: list[str], name: str) -> None:
    """Our choice: arguments are where people put tokens, so only a plain word right after a launcher is shown."""
    assert name_of(command) == name
