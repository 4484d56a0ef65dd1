"""In the middle of a pipe: bytes pass as they are, both ends end both, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman.errors import SpawnFailed
from dragoman.transports.record_stdio import record_stdio
from dragoman.transports.transcript import TranscriptWriter

ECHO = "import sys\nfor line in sys.stdin.buffer:\n    sys.stdout.buffer.write(line)\n    sys.stdout.buffer.flush()\n"


class Middle:
    """A recording of a Python program, with our hands on its three pipes."""

    def __init__(self, program: str, stop_s: float = 5.0) -> None:
        self.file = io.StringIO()
        self.writer = TranscriptWriter(self.file, {"kind": "stdio"}, str)
        stdin, self.into = os.pipe()
        self.out, stdout = os.pipe()
        self.errors, stderr = os.pipe()
        self.inner = (stdin, stdout, stderr)
        command = [sys.executable, "-c", program]
        streams: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
        self.task = asyncio.create_task(record_stdio(command, self.writer, env=dict(os.environ), stop_s=stop_s, **streams))

    def send(self, data: bytes) -> None:
        os.write(self.into, data)

    async def read(self, descriptor: int, size: int) -> bytes:
        found = b""
        async with asyncio.timeout(20):
            while len(found) < size:
                found += await asyncio.to_thread(os.read, descriptor, 65536)
        return found

    async def end(self) -> int:
        async with asyncio.timeout(20):
            return await self.task

    def entries(self) -> list[Any]:
        return [json.loads(line) for line in self.file.getvalue().split("\n")[1:-1]]

    def close(self) -> None:
        for descriptor in (self.into, self.out, self.errors, *self.inner):
            try:
                os.close(descriptor)
            except OSError:
                pass


@pytest.fixture
async def middle() -> AsyncIterator[list[Middle]]:
    made: list[Middle] = []
    yield made
    for one in made:
        one.task.cancel()
        await asyncio.wait([one.task], timeout=10)
        one.close()


async def test_bytes_pass_as_they_are_and_lines_are_written_down(middle: list[Middle]) -> None:
    """Our choice: whoever is in the middle changes nothing, not even what is no message."""
    middle.append(one := Middle(ECHO))
    said = b'{"id":1}\r\n\xff noise\n\n{"id":2}'
    one.send(said + b"\n")
    assert await one.read(one.out, len(said) + 1) == said + b"\n"
    os.close(one.into)
    assert await one.end() == 0
    found = [(entry["from"], entry.get("message", entry.get("text"))) for entry in one.entries()[:-1]]
    for side in ("client", "server"):
        assert [what for whose, what in found if whose == side] == [{"id": 1}, "\ufffd noise", {"id": 2}]
    assert one.entries()[-1]["end"] == "the input ended"


async def test_server_that_ends_ends_the_recording_with_its_status_after_its_last_words(middle: list[Middle]) -> None:
    """What it wrote before it went arrives, on both of its pipes."""
    middle.append(one := Middle("import sys; print('last'); print('words', file=sys.stderr); sys.exit(7)"))
    assert await one.end() == 7
    assert (os.read(one.out, 100), os.read(one.errors, 100)) == (b"last\n", b"words\n")
    assert one.entries()[-1]["end"] == "exited with status 7"


async def test_killed_server_has_a_status_as_a_shell_says_it(middle: list[Middle]) -> None:
    """128 and the signal."""
    middle.append(one := Middle("import os; os.kill(os.getpid(), 9)"))
    assert await one.end() == 137
    assert one.entries()[-1]["end"] == "killed by signal 9"


async def test_stubborn_server_is_ended_when_the_input_ends(middle: list[Middle]) -> None:
    """The ladder of every server: end of input, SIGTERM, SIGKILL."""
    program = "import signal, time\nsignal.signal(15, signal.SIG_IGN)\nprint('up', flush=True)\nwhile True: time.sleep(1)"
    middle.append(one := Middle(program, stop_s=0.4))
    assert await one.read(one.out, 3) == b"up\n"
    os.close(one.into)
    assert await one.end() == 0


async def test_cancelled_recording_stops_the_server(middle: list[Middle]) -> None:
    """SIGTERM to us arrives as a cancellation; the fixture of all tests sees that no process is left."""
    middle.append(one := Middle(ECHO))
    one.send(b"{}\n")
    await one.read(one.out, 3)
    one.task.cancel()
    await asyncio.wait([one.task], timeout=20)
    assert one.task.cancelled()
    assert one.entries()[-1]["from"] == "client"


async def test_client_that_goes_away_is_the_end_for_the_server(middle: list[Middle]) -> None:
    """Its end of our output is closed; the next thing the server says finds that out."""
    middle.append(one := Middle(ECHO))
    os.close(one.inner[1])  # ours is a copy in the relay's thread only by number: from here on writes fail
    one.send(b"{}\n")
    assert await one.end() == 0


async def test_more_than_any_pipe_holds_passes_both_ways(middle: list[Middle]) -> None:
    """A slow reader slows the other side down, and loses nothing."""
    middle.append(one := Middle(ECHO))
    data = (b'"' + b"x" * 99_997 + b'"\n') * 40
    sending = asyncio.create_task(asyncio.to_thread(_write_all, one.into, data))
    assert await one.read(one.out, len(data)) == data
    await sending
    os.close(one.into)
    assert await one.end() == 0
    assert sum(entry["from"] == "server" for entry in one.entries()) == 40


async def test_command_that_is_not_there_is_said_at_once(middle: list[Middle]) -> None:
    """As for every server."""
    writer = TranscriptWriter(io.StringIO(), {"kind": "stdio"}, str)
    with pytest.raises(SpawnFailed, match="there-is-no-such-program"):
        await record_stdio(["there-is-no-such-program"], writer, env=dict(os.environ))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
