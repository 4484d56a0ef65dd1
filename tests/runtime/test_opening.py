"""Finding the era on a live connection: what is sent, what is remembered, and what is started again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

import pytest

from dragoman import Client
from dragoman.clock import FakeClock
from dragoman.errors import ConnectFailed, LocalProtocolError, ServerError, SpawnFailed, VersionMismatch
from dragoman.protocol.handshake import Identity
from dragoman.runtime.eras import KEEP_S, RememberedEras
from dragoman.runtime.opening import Opening
from dragoman.transports.base import Closed, Transport
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import LEGACY, Era
from tests.runtime.fakes import FakeServer, Json, LoopClock, client, turns


class Servers:
    """Makes a fresh server for each attempt, and keeps them. ``make`` gets the number of the attempt, from 0."""

    def __init__(self, *makers: object) -> None:
        self.made: list[FakeServer] = []
        self._makers = makers

    def __call__(self) -> Transport:
        maker = self._makers[min(len(self.made), len(self._makers) - 1)]
        assert callable(maker)
        self.made.append(maker())
        return self.made[-1]

    def methods(self) -> list[list[str]]:
        return [server.methods() for server in self.made]


def pointed_at(servers: Servers, *, eras: RememberedEras | None = None, key: str | None = "k", revision: str | None = None) -> Client:
    """A client whose transports come from ``servers``."""
    mine = Client(FakeServer(), label="fake", revision=revision)
    mine._reopening._opening = mine._opening = Opening(
        transport=servers,
        identity=Identity(Implementation("t", "1")),
        label="fake",
        key=key,
        eras=eras or RememberedEras(),
        timeout_s=30,
        revision=revision,
    )
    return mine


class Dies(FakeServer):
    """Exits when its first message is not initialize."""

    def __init__(self) -> None:
        super().__init__(self._first)

    def _first(self, message: Json) -> Iterable[Json] | None:
        if message.get("method") == "server/discover":
            self.end(Closed("exited with status 1", "unexpected message", 1))
            return []
        return None


class Ignores(FakeServer):
    """Drops the probe."""

    def __init__(self) -> None:
        super().__init__(lambda m: [] if m.get("method") == "server/discover" else None)


def modern() -> FakeServer:
    return FakeServer(era="modern")


HANDSHAKE = ["initialize", "notifications/initialized"]


async def test_server_that_dies_of_the_probe_is_started_again_straight_into_the_handshake() -> None:
    """Some old servers end when their first message is not initialize."""
    servers = Servers(Dies)
    eras = RememberedEras()
    async with pointed_at(servers, eras=eras) as mine:
        assert mine.server.era == "legacy"
    assert servers.methods() == [["server/discover"], HANDSHAKE]
    assert servers.made[0].closed
    assert await eras.recall("k") == "legacy"
    async with pointed_at(servers, eras=eras):
        assert servers.methods()[2] == HANDSHAKE  # and the next time at once


async def test_server_that_always_dies_is_tried_twice_and_no_more() -> None:
    def dead() -> FakeServer:
        server = FakeServer()
        server._on = lambda m: server.end(Closed("exited with status 3", "no key", 3)) or []  # type: ignore[func-returns-value]  # in one line
        return server

    servers = Servers(dead)
    eras = RememberedEras()
    with pytest.raises(SpawnFailed, match="exited with status 3") as caught:
        await pointed_at(servers, eras=eras).open()
    assert caught.value.server == "fake"
    assert len(servers.made) == 2
    assert await eras.recall("k") is None  # an exit is no answer


async def test_transport_object_that_dies_of_the_probe_is_lost_and_that_is_what_is_said() -> None:
    """It can be opened once, so there is no second try; the error is that of the first."""
    with pytest.raises(SpawnFailed, match="exited with status 1"):
        await client(Dies()).open()


async def test_transport_of_which_nothing_is_known_is_not_made_twice() -> None:
    """Without a key there is nothing to start again: what it does when it is opened is its own business."""
    servers = Servers(Dies)
    with pytest.raises(SpawnFailed, match="exited with status 1"):
        await pointed_at(servers, key=None).open()
    assert len(servers.made) == 1


async def test_pinned_modern_revision_is_not_tried_the_old_way() -> None:
    servers = Servers(Dies)
    with pytest.raises(SpawnFailed):
        await pointed_at(servers, revision="2026-07-28").open()
    assert len(servers.made) == 1


async def test_server_that_ignores_the_probe_gets_initialize_after_a_second_and_at_once_the_next_time(clock: LoopClock) -> None:
    """By which messages are sent, not by time."""
    servers, eras = Servers(Ignores), RememberedEras()
    mine = pointed_at(servers, eras=eras)
    opening = asyncio.create_task(mine.open())
    await turns()
    await clock.advance(0.9)
    assert servers.methods() == [["server/discover"]]
    await clock.advance(0.2)
    await opening
    assert servers.methods() == [["server/discover", *HANDSHAKE]]
    await mine.close()
    async with pointed_at(servers, eras=eras) as again:
        assert again.server.era == "legacy"
    assert servers.methods()[1] == HANDSHAKE


async def test_slow_modern_server_wins_over_the_initialize_that_was_sent_meanwhile(clock: LoopClock) -> None:
    """It answers the late probe and then refuses the queued initialize with -32022."""
    server = FakeServer(lambda m: [], era="modern")
    mine = Client(server)
    opening = asyncio.create_task(mine.open())
    await turns()
    await clock.advance(1.1)
    assert server.methods() == ["server/discover", "initialize"]
    probe, init = server.sent
    reply = server.polite(probe)
    assert reply is not None
    server.say(reply)
    server.say({"id": init["id"], "error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}})
    await opening
    assert mine.server.era == "modern"
    await mine.close()


@pytest.mark.parametrize(("remembered", "now"), [("legacy", "modern"), ("modern", "legacy")])
async def test_what_was_remembered_is_replaced_when_contradicted(remembered: Era, now: str) -> None:
    eras = RememberedEras()
    await eras.remember("k", remembered)
    async with pointed_at(Servers(lambda: FakeServer(era=now)), eras=eras) as mine:
        assert mine.server.era == now
    assert await eras.recall("k") == now


async def test_memory_lasts_a_week() -> None:
    clock = FakeClock()
    eras = RememberedEras(clock)
    await eras.remember("k", "legacy")
    clock.advance(KEEP_S - 1)
    assert await eras.recall("k") == "legacy"
    clock.advance(2)
    assert await eras.recall("k") is None


async def test_pinned_revision_neither_uses_nor_needs_the_memory() -> None:
    eras = RememberedEras()
    await eras.remember("k", "modern")
    servers = Servers(FakeServer)
    async with pointed_at(servers, eras=eras, revision=LEGACY[0]):
        pass
    assert servers.methods() == [HANDSHAKE]


async def test_no_common_revision_is_logged_and_raised_with_both_sides_and_who_should_upgrade(caplog: pytest.LogCaptureFixture) -> None:
    def future() -> FakeServer:
        return FakeServer(lambda m: [{"id": m["id"], "result": {"supportedVersions": ["2099-01-01"]}}] if "id" in m else [])

    with pytest.raises(VersionMismatch) as caught:
        await pointed_at(Servers(future)).open()
    assert (caught.value.theirs, caught.value.hint, caught.value.server) == (("2099-01-01",), "upgrade this client", "fake")
    for word in ("2099-01-01", "2026-07-28", "2024-11-05", "upgrade this client"):
        assert word in caplog.text


async def test_connecting_is_logged_with_name_version_and_era(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dragoman")
    async with pointed_at(Servers(FakeServer)):
        assert "fake: connected to fake 1, revision 2025-11-25 (legacy)" in caplog.text


def test_revision_that_we_do_not_speak_is_refused_with_those_we_do() -> None:
    with pytest.raises(LocalProtocolError, match="'2025-01-01' is not one we speak") as caught:
        Client(["x"], revision="2025-01-01")
    assert caught.value.hint is not None
    assert "2024-11-05" in caught.value.hint


# --- started again


class Switched(FakeServer):
    """Slow; answers the probe as modern, then takes initialize from its pipe and is legacy from then on."""

    def __init__(self, code: int = -32600) -> None:
        super().__init__(self._late, era="modern")
        self._code = code
        self.switched = False

    def _late(self, message: Json) -> Iterable[Json] | None:
        if message["method"] == "server/discover":
            return []
        if message["method"] == "initialize":
            self.switched = True
            reply = self.polite(self.sent[0])
            return [] if reply is None else [reply]
        if self.switched and "id" in message:
            return [{"id": message["id"], "error": {"code": self._code, "message": "not initialized"}}]
        return None


async def connected(servers: Servers, clock: LoopClock) -> Client:
    mine = pointed_at(servers)
    opening = asyncio.create_task(mine.open())
    await turns()
    await clock.advance(1.1)
    await opening
    assert mine.server.era == "modern"
    return mine


async def test_server_that_was_switched_by_initialize_is_started_again_once_for_all_its_calls(
    clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dragoman")
    servers = Servers(Switched, modern)
    mine = await connected(servers, clock)
    results = await asyncio.gather(*(mine.call_tool("echo", {"text": str(n)}) for n in range(5)))
    assert [result.text for result in results] == list("01234")
    assert len(servers.made) == 2
    assert servers.made[0].closed
    assert "initialize" not in servers.methods()[1]
    assert caplog.text.count("restarted: it answers") == 1
    await mine.close()


async def test_server_that_stays_switched_is_started_again_only_once(clock: LoopClock) -> None:
    servers = Servers(Switched, lambda: FakeServer(lambda m: None if m["method"] == "server/discover" else [refusal(m)], era="modern"))
    mine = await connected(servers, clock)
    for _ in range(2):
        with pytest.raises(ServerError):
            await mine.call_tool("echo")
    assert len(servers.made) == 2
    await mine.close()


def refusal(message: Json) -> Json:
    return {"id": message["id"], "error": {"code": -32600, "message": "no"}}


async def test_errors_of_a_tool_are_no_reason_to_start_again(clock: LoopClock) -> None:
    """An internal error says nothing about eras; nor does a refusal once something worked."""
    servers = Servers(lambda: Switched(-32603))
    mine = await connected(servers, clock)
    with pytest.raises(ServerError):
        await mine.call_tool("echo")
    assert len(servers.made) == 1
    await mine.close()
    quick = Servers(lambda: FakeServer(lambda m: [refusal(m)] if m["method"] == "tools/call" else None, era="modern"))
    async with pointed_at(quick) as other:
        with pytest.raises(ServerError):
            await other.call_tool("echo")
    assert len(quick.made) == 1


# --- closed meanwhile


async def test_client_closed_while_it_opens_starts_nothing_more() -> None:
    servers = Servers(lambda: FakeServer(lambda m: []))
    mine = pointed_at(servers)
    opening = asyncio.create_task(mine.open())
    await turns()
    await mine.close()
    with pytest.raises(ConnectFailed):
        await opening
    assert [server.closed for server in servers.made] == [True]


async def test_client_closed_just_when_its_server_died_of_the_probe_is_not_started_again() -> None:
    servers = Servers(lambda: FakeServer(lambda m: []))
    mine = pointed_at(servers)
    opening = asyncio.create_task(mine.open())
    await turns()
    servers.made[0].end(Closed("exited with status 1", "", 1))
    await mine.close()
    with pytest.raises(SpawnFailed):
        await opening
    assert len(servers.made) == 1


async def test_client_closed_during_a_restart_leaves_nothing_open(clock: LoopClock) -> None:
    servers = Servers(Switched, lambda: FakeServer(lambda m: [], era="modern"))
    mine = await connected(servers, clock)
    call = asyncio.create_task(mine.call_tool("echo"))
    await turns(30)
    assert len(servers.made) == 2
    await mine.close()
    with pytest.raises(ConnectFailed):
        await call
    assert all(server.closed for server in servers.made)
