"""Alerts over HTTP: what is posted, how often it is tried, and what is said when it does not arrive."""

from __future__ import annotations

import asyncio
import json

import pytest

from dragoman.errors import ConfigError
from dragoman.service.webhook import MAX_WAITING, Webhook
from dragoman.wire.alerts import Alert
from tests.transports.loopback import Exchange, loopback

ALERT = Alert(kind="server down", server="files", text="files is down", at=1_800_000_000.0)


async def test_alert_arrives_as_json_with_the_credentials_of_the_url() -> None:
    """Our choice: four members, the time in words."""

    async def take(exchange: Exchange) -> None:
        exchange.reply("204 No Content")

    async with loopback(take) as server:
        hook = Webhook(server.url.replace("http://", "http://ada:pw@"))
        hook(ALERT)
        await hook.close(10.0)
        (got,) = server.requests
    assert json.loads(got.body) == {"kind": "server down", "server": "files", "text": "files is down", "at": "2027-01-15T08:00:00.000Z"}
    assert got.line.startswith("POST /mcp ")
    assert got.header("Content-Type") == "application/json"
    assert got.header("Authorization") == "Basic YWRhOnB3"


async def test_refusal_is_tried_twice_and_logged_once_until_one_gets_through(caplog: pytest.LogCaptureFixture) -> None:
    """Our choice: never silent, never a flood; the path of the URL may be a secret and is not shown."""
    statuses = iter(["500 No", "500 No", "500 No", "500 No", "200 OK", "500 No", "500 No"])

    async def refuse(exchange: Exchange) -> None:
        exchange.reply(next(statuses))

    async with loopback(refuse) as server:
        hook = Webhook(server.url.replace("/mcp", "/secret-path"))
        for _ in range(4):
            hook(ALERT)
        await hook.close(10.0)
        assert len(server.requests) == 7
    assert len(caplog.records) == 2
    assert "do not reach the webhook at http://127.0.0.1: HTTP 500" in caplog.text
    assert "secret-path" not in caplog.text


async def test_redirects_are_not_followed() -> None:
    """It could lead into a network that only we can reach."""

    async def away(exchange: Exchange) -> None:
        exchange.reply("307 Temporary Redirect", Location="/elsewhere")

    async with loopback(away) as server:
        hook = Webhook(server.url)
        hook(ALERT)
        await hook.close(10.0)
        assert [got.line.split()[1] for got in server.requests] == ["/mcp", "/mcp"]


async def test_receiver_that_never_answers_costs_its_own_time_only(caplog: pytest.LogCaptureFixture) -> None:
    """Two tries with a deadline each; whoever alerts does not wait."""

    async def silent(exchange: Exchange) -> None:
        await exchange.gone.wait()

    async with loopback(silent) as server:
        hook = Webhook(server.url, try_s=0.05)
        hook(ALERT)
        async with asyncio.timeout(10):
            await hook.close(10.0)
        assert len(server.requests) == 2
    assert "no answer within 0.05 s" in caplog.text


async def test_queue_is_bounded_and_a_close_in_a_hurry_gives_up(caplog: pytest.LogCaptureFixture) -> None:
    """What is given up is said."""

    async def silent(exchange: Exchange) -> None:
        await exchange.gone.wait()

    async with loopback(silent) as server:
        hook = Webhook(server.url)
        for _ in range(MAX_WAITING + 50):
            hook(ALERT)
        assert len(hook._waiting) == MAX_WAITING
        async with asyncio.timeout(10):
            await hook.close(0.01)
    assert "more than 100 alerts wait" in caplog.text


async def test_nobody_there_is_said_in_words(caplog: pytest.LogCaptureFixture) -> None:
    """Port 9 of loopback: nobody listens."""
    hook = Webhook("http://127.0.0.1:9/")
    hook(ALERT)
    await hook.close(10.0)
    assert "cannot connect to http://127.0.0.1" in caplog.text


def test_address_that_is_none_is_refused_at_once() -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match="no scheme"):
        Webhook("hooks.example.test/x")
