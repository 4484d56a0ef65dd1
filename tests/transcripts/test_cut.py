"""The wire of each recorded conversation, cut after every byte: every call ends by name within its deadline, and nothing else suffers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import Client
from dragoman.errors import DragomanError
from dragoman.testing import replay, replay_http
from dragoman.transports.replay_http import HttpReplay
from dragoman.transports.replay_stdio import ReplayTransport
from dragoman.transports.transcript import Transcript, read
from tests.clockwork import Clockwork
from tests.runtime.fakes import FakeServer
from tests.runtime.fakes import client as fake_client
from tests.transcripts.talks import FOLDER, TALKS, Talk, client

TIMEOUT_S = 8.0
CONNECT_S = 5.0
SLACK_S = 0.5
PARTS = 4  # for several workers
TRANSCRIPTS = {name: read(FOLDER / f"{name}.jsonl") for name in TALKS}


@pytest.fixture
def loop() -> Iterator[Clockwork]:
    loop = Clockwork()
    asyncio.set_event_loop(loop)
    yield loop
    loop.close()
    asyncio.set_event_loop(None)


class Neighbour:
    """A connection that has nothing to do with any of it, and a call on it that is under way meanwhile."""

    def __init__(self) -> None:
        self.held: list[Any] = []
        self.server = FakeServer(self._hold)
        self.client = fake_client(self.server)

    def _hold(self, message: Any) -> list[Any] | None:
        if message.get("method") == "tools/call":
            self.held.append(message["id"])
            return []
        return None

    async def begin(self) -> asyncio.Task[Any]:
        call = asyncio.create_task(self.client.call_tool("echo", {}))
        while not self.held:  # noqa: ASYNC110  # a turn or two of the loop
            await asyncio.sleep(0)
        return call

    async def end(self, call: asyncio.Task[Any]) -> None:
        assert not call.done(), "a call on another connection ended"
        self.server.say({"id": self.held.pop(), "result": {"content": [{"type": "text", "text": "unharmed"}]}})
        assert (await call).text == "unharmed"


async def attempt(doing: Any, limit_s: float, what: str) -> DragomanError | None:
    """Do it; how it ended. Anything but a result and a named error fails, and so does a late end."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    try:
        await doing
        error = None
    except DragomanError as exc:
        error = exc
    assert loop.time() - began <= limit_s + SLACK_S, f"{what} took {loop.time() - began:.1f} s"
    return error


async def converse(talk: Talk, transcript: Transcript, cut: int | None) -> tuple[int, int]:
    """One conversation up to the cut; how many bytes the server wrote, and how many calls ended in an error."""
    if talk.http:
        async with replay_http(transcript, cut=cut) as server:
            return await _converse(talk, server.url, server, cut)
    transport = replay(transcript, cut=cut)
    return await _converse(talk, transport, transport, cut)


async def _converse(talk: Talk, target: Any, server: HttpReplay | ReplayTransport, cut: int | None) -> tuple[int, int]:
    mine: Client = client(talk, target, timeout_s=TIMEOUT_S, connect_timeout_s=CONNECT_S)
    errors = 0
    opened = await attempt(mine.open(), CONNECT_S, f"cut at {cut}: connecting")
    if opened is None:
        for step in talk.steps:
            error = await attempt(step(mine), TIMEOUT_S, f"cut at {cut}: {step.__name__}")
            errors += error is not None
    await attempt(mine.close(), 4.0, f"cut at {cut}: closing")
    return server.written, errors


def length(loop: Clockwork, name: str) -> tuple[int, int]:
    """Bytes of the server's wire and errors of the calls when nothing is cut."""
    return loop.run(converse(TALKS[name], TRANSCRIPTS[name], None))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", TALKS)
def test_every_call_ends_by_name_wherever_the_wire_is_cut(loop: Clockwork, name: str, part: int) -> None:
    """Our choice: whatever is left of a connection, no call hangs, raises something without a name, or leaves anything behind."""
    talk, transcript = TALKS[name], TRANSCRIPTS[name]
    total, _ = length(loop, name)

    neighbour = Neighbour()
    loop.run_until_complete(neighbour.client.open())
    for cut in range(part, total, PARTS):
        call = loop.run_until_complete(neighbour.begin())
        written, _ = loop.run(converse(talk, transcript, cut))
        assert written == cut
        loop.run(neighbour.end(call))
    loop.run_until_complete(neighbour.client.close())


@pytest.mark.parametrize("name", TALKS)
def test_a_cut_is_noticed_by_the_calls_after_it_and_by_none_before(loop: Clockwork, name: str) -> None:
    """Known answer for the table above: uncut, only what failed when it was recorded fails; the earlier the cut, the more fails."""
    talk, transcript = TALKS[name], TRANSCRIPTS[name]
    total, recorded = length(loop, name)
    failed = [loop.run(converse(talk, transcript, cut))[1] for cut in (total // 2, total * 3 // 4, total - 3)]
    assert failed == sorted(failed, reverse=True)
    assert failed[0] > recorded
