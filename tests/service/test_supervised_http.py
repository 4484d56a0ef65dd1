"""Hosts over servers at a URL that are busy, or do not accept who we are: on loopback, with the real transport."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman import AuthRequired, Host
from dragoman.errors import ConnectFailed
from tests.runtime.fakes import Json, LoopClock, until, words
from tests.runtime.http_fakes import Dialect, serving
from tests.service.hosting import configured
from tests.transports.loopback import Exchange, result

TOKEN = "tok-8f2c1d9e7b6a"


@pytest.fixture
async def clock() -> LoopClock:
    return LoopClock(asyncio.get_running_loop())


def at(folder: Path, url: str, token: str = TOKEN) -> Path:
    return configured(
        folder, f'[servers.far]\nurl = "{url}"\nheaders = {{ Authorization = "Bearer {token}" }}\n[servers.far.tools]\n"*" = "L0"\n'
    )


async def test_busy_server_is_left_alone_as_long_as_it_says(tmp_path: Path, clock: LoopClock) -> None:
    """503 with Retry-After at connecting: no attempt before its time, and calls meanwhile are refused with the state."""
    busy = [True]

    async def odd(_: Dialect, exchange: Exchange, message: Json) -> bool:
        if busy:
            exchange.reply("503 Service Unavailable", b"later", "text/plain", Retry_After="7")
        return bool(busy)

    async with serving("legacy", odd) as dialect, Host.from_config(at(tmp_path, dialect.url)) as host:
        slot = host.slots["far"]
        assert (slot.state, slot.starts) == ("backing off", 1)
        outcome = await host.call("far.echo", {"text": "x"})
        assert isinstance(outcome.error, ConnectFailed)
        assert "far is backing off" in str(outcome.error)
        await clock.advance(6.5)
        assert slot.starts == 1
        busy.clear()
        await clock.advance(1.0)
        await until(lambda: slot.state == "ready")
        assert (await host.call("far.echo", {"text": "hi"})).for_user().startswith("hi")


async def test_no_call_goes_to_a_server_that_turned_one_away_until_the_credential_is_another(tmp_path: Path) -> None:
    """401 on a call: the next is refused here; the header is named, its value is not; a new value in the file is enough."""

    async def odd(_: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") == "tools/call" and exchange.header("authorization") == f"Bearer {TOKEN}":
            exchange.reply("401 Unauthorized", b"expired", "text/plain", WWW_Authenticate="Bearer")
            return True
        return False

    async with serving("legacy", odd) as dialect:
        config = at(tmp_path, dialect.url)
        async with Host.from_config(config) as host:
            for _ in range(3):
                error = (await host.call("far.echo", {"text": "x"})).error
                assert isinstance(error, AuthRequired)
                assert "(sent: the header Authorization)" in str(error)
                assert error.hint == f"write a new value for Authorization into servers.far.headers in {config}, then: dragoman restart far"
                assert TOKEN not in error.for_user()
            assert dialect.count("POST tools/call") == 1
            assert host.slots["far"].state == "down"
            at(tmp_path, dialect.url, "another-and-a-longer-one")
            assert (await host.call("far.echo", {"text": "hi"})).ok


async def test_call_that_was_taken_before_is_not_lost(tmp_path: Path) -> None:
    """Another one was turned away; this one may have done its work already."""
    held: list[tuple[Exchange, Json]] = []

    async def odd(_: Dialect, exchange: Exchange, message: Json) -> bool:
        if message.get("method") != "tools/call":
            return False
        if message["params"]["arguments"]["text"] == "slow":
            held.append((exchange, message))
            await asyncio.Event().wait()
        exchange.reply("401 Unauthorized", b"expired", "text/plain", WWW_Authenticate="Bearer")
        return True

    async with serving("legacy", odd) as dialect, Host.from_config(at(tmp_path, dialect.url)) as host:
        slow = asyncio.create_task(host.call("far.echo", {"text": "slow"}))
        await until(lambda: bool(held))
        assert isinstance((await host.call("far.echo", {"text": "x"})).error, AuthRequired)
        assert host.slots["far"].state == "down"
        exchange, asked = held[0]
        exchange.reply_json(result(asked["id"], **words("done")))
        assert (await slow).ok


async def test_restart_tries_a_server_that_did_not_accept_us(tmp_path: Path) -> None:
    """The person mended it at the server's side: nothing here has changed."""
    closed = [True]

    async def odd(_: Dialect, exchange: Exchange, message: Json) -> bool:
        if closed:
            exchange.reply("403 Forbidden", b"no", "text/plain")
        return bool(closed)

    async with serving("legacy", odd) as dialect, Host.from_config(at(tmp_path, dialect.url)) as host:
        assert host.slots["far"].state == "down"
        asked = len(dialect.asked)
        assert not (await host.call("far.echo", {"text": "x"})).ok
        assert len(dialect.asked) == asked
        closed.clear()
        await host.restart("far")
        assert (await host.call("far.echo", {"text": "hi"})).ok
