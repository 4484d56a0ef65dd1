"""A slot over the lives of its server: started again, given up, healed, rested, turned away; nothing by the real clock."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from dragoman.errors import AuthRequired, ConnectFailed, SpawnFailed
from dragoman.policy.rules import Rules
from dragoman.runtime.client import Client
from dragoman.runtime.eras import RememberedEras
from dragoman.runtime.slots import Slot
from dragoman.runtime.specs import ServerSpec
from dragoman.runtime.standing import Credential
from dragoman.transports.base import Closed
from dragoman.wire.alerts import Alert
from tests.runtime.fakes import FakeServer, LoopClock, until

CRASH = Closed("exited with status 7", "no more memory", 7)


class Most:
    def uniform(self, a: float, b: float) -> float:
        return b


class Life:
    """A slot, a new fake server for each start, and what it told."""

    def __init__(self, *, era: str = "legacy", on_demand: bool = False, **spec: Any) -> None:
        self.era = era
        self.started: list[FakeServer] = []
        self.alerts: list[Alert] = []
        self.errors: list[BaseException] = []  # of the next starts
        known = ServerSpec(name="fake", make_client=self._make, rules=Rules("fake"), **spec)
        self.slot = Slot(known, {}, lambda *_: None, lambda *_: None, alert=self.alerts.append, on_demand=on_demand, jitter=Most())

    def _make(self, **options: Any) -> Client:
        server = FakeServer(era=self.era)
        if self.errors:
            server.open_error = self.errors.pop(0)
        self.started.append(server)
        return Client(server, eras=RememberedEras(), connect_timeout_s=20.0, timeout_s=20.0, **options)

    async def up(self) -> FakeServer:
        await self.slot.connected()
        return self.started[-1]

    async def settles(self, starts: int) -> None:
        """Wait for the end of the start of this number."""
        await until(lambda: len(self.started) == starts and self.slot.state != "starting")

    async def becomes(self, state: str) -> None:
        await until(lambda: self.slot.state == state)

    @property
    def told(self) -> list[str]:
        return [alert.kind for alert in self.alerts]


async def test_crashed_server_is_started_again_by_itself(clock: LoopClock) -> None:
    """Nobody calls; it is up again after the pause, with its handshake and its catalog."""
    life = Life()
    (await life.up()).end(CRASH)
    assert life.slot.state == "backing off"
    await clock.advance(0.6)
    await life.becomes("ready")
    assert life.started[1].methods()[:1] == ["server/discover"] or "initialize" in life.started[1].methods()
    assert "tools/list" in life.started[1].methods()
    assert life.slot.restarts == 1
    assert life.told == []
    await life.slot.stop()


async def test_call_does_not_wait_for_the_pause(clock: LoopClock) -> None:
    """On demand: the restart that was due is made now."""
    life = Life()
    (await life.up()).end(CRASH)
    assert (await life.slot.connected()).is_open
    assert len(life.started) == 2
    await clock.advance(5.0)
    assert len(life.started) == 2
    await life.slot.stop()


async def test_fourth_crash_marks_it_down_and_says_what_it_said_last(clock: LoopClock) -> None:
    """Exit status and the tail of stderr; one alert; calls are refused at once, with the time of the next trial."""
    life = Life()
    for _ in range(4):
        (await life.up()).end(CRASH)
    assert life.slot.state == "down"
    assert life.told == ["server down"]
    assert "fake exited with status 7" in life.alerts[0].text
    with pytest.raises(SpawnFailed) as caught:
        await life.slot.connected()
    assert (caught.value.exit_code, caught.value.stderr_tail) == (7, "no more memory")
    assert "fake is down: fake exited with status 7; it is tried again in 19 s, and nothing was sent" in str(caught.value)
    assert len(life.started) == 4
    await life.slot.stop()


async def test_server_that_comes_back_heals_by_itself(clock: LoopClock) -> None:
    """A trial at growing intervals, and an alert when it is up."""
    life = Life()
    for _ in range(4):
        (await life.up()).end(CRASH)
    life.errors = [SpawnFailed("cannot start")]
    await clock.advance(19)
    await until(lambda: len(life.started) == 5 and life.slot.state == "down")
    await clock.advance(30)
    assert len(life.started) == 5
    await clock.advance(10)
    await life.becomes("ready")
    assert life.told == ["server down", "server up"]
    await life.slot.stop()


async def test_call_after_the_interval_is_the_trial(clock: LoopClock) -> None:
    """However many come, there is one; those before the interval are refused."""
    life = Life(remote=True)
    life.errors = [ConnectFailed("no such path", status=404)]
    for _ in range(3):
        with pytest.raises(ConnectFailed):
            await life.slot.connected()
    assert len(life.started) == 1
    clock._ahead += 1.3  # due, and the timer has not run yet
    assert life.slot.obstacle() is None
    assert life.slot.obstacle(asking=True) is not None, "a person is not asked for a trial"
    assert (await life.slot.connected()).is_open
    await life.slot.stop()


async def test_address_that_is_refused_backs_off_and_refuses_calls_with_its_state(clock: LoopClock) -> None:
    """1, 2, 4, 8 s at starting; calls are not queued."""
    life = Life(remote=True)
    life.errors = [ConnectFailed("nobody listens") for _ in range(4)]
    with pytest.raises(ConnectFailed):
        await life.slot.connected()
    for pause_s, starts in ((1, 2), (2, 3), (4, 4)):
        assert life.slot.state == "backing off"
        with pytest.raises(ConnectFailed, match="fake is backing off: nobody listens; it is tried again in"):
            await life.slot.connected()
        await clock.advance(pause_s - 0.1)
        assert len(life.started) == starts - 1
        await clock.advance(0.2)
        await life.settles(starts)
    await clock.advance(8.1)
    await life.becomes("ready")
    assert life.told == []
    await life.slot.stop()


async def test_what_was_set_up_is_set_up_again(clock: LoopClock) -> None:
    """The log level and the subscribed resources; what was unsubscribed stays so."""
    life = Life()
    server = await life.up()
    server._on = lambda message: (
        [{"id": message["id"], "result": {}}] if message.get("method") in ("resources/subscribe", "resources/unsubscribe") else None
    )
    assert life.slot.client is not None
    await life.slot.client.subscribe("file:///a")
    await life.slot.client.subscribe("file:///b")
    await life.slot.client.unsubscribe("file:///b")
    server.end(CRASH)
    await life.up()
    asked = [message["params"]["uri"] for message in life.started[1].sent if message.get("method") == "resources/subscribe"]
    assert asked == ["file:///a"]
    await life.slot.stop()


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_log_level_outlives_its_server(era: str) -> None:
    """A request of its own in the handshake eras, a member of each request in the stateless one."""
    life = Life(era=era)
    server = await life.up()
    server._on = lambda message: [{"id": message["id"], "result": {}}] if message.get("method") == "logging/setLevel" else None
    assert life.slot.client is not None
    await life.slot.client.set_log_level("debug")
    server.end(CRASH)
    second = await life.up()
    await life.slot.client.call_tool("echo", {})
    asked = [message for message in second.sent if "debug" in str(message)]
    assert asked[-1]["method"] == ("logging/setLevel" if era == "legacy" else "tools/call")
    await life.slot.stop()


async def test_stopped_while_it_backs_off_it_stays_stopped(clock: LoopClock) -> None:
    """No timer survives the end."""
    life = Life()
    (await life.up()).end(CRASH)
    await life.slot.stop()
    await clock.advance(100)
    assert (life.slot.state, len(life.started)) == ("stopped", 1)


async def test_rested_server_is_started_by_the_next_call_and_is_no_crash(caplog: pytest.LogCaptureFixture) -> None:
    """Stopped by us: nothing is tried by itself, what it lists is kept."""
    life = Life(idle_stop_s=5.0)
    server = await life.up()
    await life.slot.rest()
    assert (life.slot.state, life.slot.client, server.closed) == ("idle", None, True)
    assert life.slot.obstacle(asking=True) is None
    assert (await life.slot.connected()).is_open
    assert (life.slot.restarts, life.told) == (0, [])
    await life.slot.stop()


async def test_turned_away_for_its_credential_it_stays_down_until_that_changes(clock: LoopClock) -> None:
    """401 and 403: no trial, no call; the header and the variable are named, never the value."""
    marks = ["one"]
    credential = lambda: Credential(marks[-1], "the header Authorization, from TOKEN", "put another value into TOKEN")  # noqa: E731
    life = Life(remote=True, credential=credential)
    life.errors = [AuthRequired("the server wants a credential: HTTP 401")]
    for _ in range(2):
        with pytest.raises(AuthRequired, match=r"HTTP 401 \(sent: the header Authorization, from TOKEN\)") as caught:
            await life.slot.connected()
        assert caught.value.hint == "put another value into TOKEN"
    await clock.advance(10_000)
    assert (len(life.started), life.slot.state, life.told) == (1, "down", ["server down"])
    marks.append("two")
    assert (await life.slot.connected()).is_open
    assert life.told == ["server down", "server up"]
    await life.slot.stop()


async def test_server_that_never_ran_is_news_only_where_nobody_waits_for_it(clock: LoopClock) -> None:
    """A command that starts its server has the error; a host that starts all of them has nobody else to tell."""
    for on_demand, told in ((True, []), (False, ["server down"])):
        life = Life(on_demand=on_demand)
        life.errors = [SpawnFailed("cannot start")]
        with pytest.raises(SpawnFailed):
            await life.slot.connected()
        assert (life.slot.state, life.told) == ("down", told)
        await life.slot.stop()


async def test_server_that_never_ran_fails_in_the_same_words_for_whoever_asks_next(clock: LoopClock) -> None:
    """A command asks twice, for the schema and for the call, and is gone before anything is tried again."""
    life = Life(on_demand=True)
    life.errors = [SpawnFailed("cannot start fake") for _ in range(2)]
    for asking in (life.slot.connected, life.slot.connected):
        with pytest.raises(SpawnFailed) as caught:
            await asking()
        assert str(caught.value) == "cannot start fake"
    assert str(life.slot.obstacle(asking=True)) == "cannot start fake"
    await clock.advance(1.1)
    await life.settles(2)
    assert "it is tried again in" in str(life.slot.obstacle()), "somebody waits by now"
    await life.slot.stop()


async def test_restart_forgets_that_it_was_turned_away() -> None:
    """The person says so; nothing else need have changed."""
    life = Life(remote=True)
    life.errors = [ConnectFailed("forbidden", status=403)]
    with pytest.raises(ConnectFailed):
        await life.slot.connected()
    assert life.slot.error is not None
    assert life.slot.error.hint == "give fake a credential that it accepts, then: dragoman restart fake"
    assert (await life.slot.restart()).is_open
    await life.slot.stop()


async def test_restart_of_a_server_that_is_up_is_a_new_one(caplog: pytest.LogCaptureFixture) -> None:
    """It counts as no crash."""
    caplog.set_level(logging.INFO, "dragoman")
    life = Life()
    server = await life.up()
    await life.slot.restart()
    assert server.closed
    assert (life.slot.state, len(life.started), life.slot.restarts) == ("ready", 2, 0)
    await life.slot.stop()
