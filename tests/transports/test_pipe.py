"""Reading lines off a descriptor in turns: a server that writes thousands of lines at once leaves the loop to the others."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from dragoman.testing.transports import Reports
from dragoman.transports.base import Closed, Received, Report, Transport
from dragoman.transports.stdio import StdioTransport
from dragoman.transports.unix import UnixTransport

LINES = 20_000
FLOOD = f"import os, sys\nsys.stdout.write(''.join(f'{{n}}\\n' for n in range({LINES})))\nsys.stdout.flush()\n"


class Turns(Reports):
    """Reports, and how many arrived in each turn of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = 0
        self.each: Counter[int] = Counter()
        self.lines: list[bytes] = []
        self._loop = asyncio.get_running_loop()
        self._count()

    def _count(self) -> None:
        self.turn += 1
        if not self.closed():
            self._loop.call_soon(self._count)

    def __call__(self, report: Report) -> None:
        if isinstance(report, Received):
            self.each[self.turn] += 1
            self.lines.append(bytes(report.message))
        super().__call__(report)


def server(program: str) -> StdioTransport:
    return StdioTransport([sys.executable, "-I", "-c", program], env={"PATH": os.environ["PATH"]})


async def flooded(transport: Transport, reports: Turns, end: bool) -> None:
    await transport.open(reports)
    await reports.until(reports.closed if end else (lambda: len(reports.lines) == LINES), "the whole flood")
    await transport.close()
    assert reports.lines == [b"%d" % n for n in range(LINES)]
    assert max(reports.each.values()) <= 2 * 128  # the last of one read and the first of the next
    assert isinstance(reports.all[-1], Closed)


@pytest.mark.parametrize("end", [False, True])
async def test_flood_of_lines_is_taken_in_turns_and_none_is_lost(end: bool) -> None:
    """Our choice: about 128 lines a turn, in order; what is in the pipe when the server ends too, before its end is told."""
    await flooded(server(FLOOD if end else f"{FLOOD}sys.stdin.read()"), Turns(), end)


@pytest.mark.parametrize("end", [False, True])
async def test_flood_over_a_socket_is_taken_in_turns_too(tmp_path: Path, end: bool) -> None:
    """The same reader."""

    over = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(b"%d\n" % n for n in range(LINES)))
        await writer.drain()
        if not end:
            await reader.read()  # until the other side hangs up
        writer.close()
        over.set()

    path = tmp_path / "s"
    listener = await asyncio.start_unix_server(serve, path)
    try:
        await flooded(UnixTransport(path), Turns(), end)
        await asyncio.wait_for(over.wait(), 10)
    finally:
        listener.close()


async def test_closing_in_the_middle_of_a_flood_tells_no_more_of_it() -> None:
    """And the flood goes on being read, so that the server can end."""
    transport, reports = server(f"{FLOOD}sys.stdin.read()"), Turns()
    await transport.open(reports)
    await reports.until(lambda: reports.lines, "the beginning")
    seen = len(reports.lines)
    await transport.close()
    assert len(reports.lines) == seen < LINES
    [closed] = reports.closed()
    assert closed.exit_code == 0
