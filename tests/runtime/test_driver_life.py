"""One engine over one transport: opening, the server's asks while it is up, and closing, from anywhere and in any state."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from dragoman.errors import (
    ConnectFailed,
    ConnectionLost,
    SpawnFailed,
    VersionMismatch,
)
from dragoman.protocol.events import ProgressReceived
from dragoman.transports.base import Closed, Sink
from tests.runtime.fakes import FakeServer, Json, LoopClock, Notes, driver_for, opened, turns

CALL = {"name": "echo", "arguments": {"text": "hi"}}


def silent(message: Json) -> list[Json] | None:
    """Answers no calls."""
    return [] if message.get("method") == "tools/call" else None


async def start(coroutine: Any) -> asyncio.Task[Any]:
    task = asyncio.create_task(coroutine)
    await turns(3)
    return task


# --- opening


async def test_open_waits_until_the_handshake_is_written() -> None:
    server = FakeServer()
    driver = driver_for(server)
    peer = await driver.open(5)
    assert server.methods() == ["initialize", "notifications/initialized"]
    assert peer.info.name == "fake"
    await driver.close()


async def test_handshake_without_an_answer_ends_at_its_deadline_and_leaves_nothing_open(clock: LoopClock) -> None:
    server = FakeServer(lambda m: [{"id": 77, "result": {}}])
    driver = driver_for(server)
    opening = await start(driver.open(30))
    await clock.advance(31)
    with pytest.raises(ConnectFailed, match="fake did not answer the handshake within 30 s") as caught:
        await opening
    assert caught.value.hint == "meanwhile it sent an answer to 77, which was never asked"
    assert server.closed


@pytest.mark.parametrize("where", ["opening", "handshake"])
async def test_cancelled_open_leaves_nothing_open(where: str) -> None:
    server = FakeServer(lambda m: [])
    server.opens_slowly = where == "opening"
    opening = await start(driver_for(server).open(30))
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert server.closed


async def test_transport_that_cannot_open_is_closed_and_its_error_raised() -> None:
    server = FakeServer()
    server.open_error = SpawnFailed("no such program")
    with pytest.raises(SpawnFailed, match="no such program"):
        await driver_for(server).open(30)
    assert server.closes == 1


async def test_peer_that_ends_while_it_is_opened_is_named_with_its_reason() -> None:
    """A WebSocket may be closed in the packet that opens it; that is the fault of nobody here."""

    class Hasty(FakeServer):
        async def open(self, report: Sink) -> None:
            await super().open(report)
            self.end(Closed("closed with code 1013 (try again later)"))

    server = Hasty()
    with pytest.raises(ConnectFailed, match="fake: closed with code 1013"):
        await driver_for(server).open(5)
    assert server.methods() == []


async def test_exit_before_an_answer_is_named_with_status_and_stderr() -> None:
    server = FakeServer(lambda m: [])
    opening = await start(driver_for(server).open(30))
    server.end(Closed("exited with status 3", "KEY is not set\n", 3))
    with pytest.raises(SpawnFailed, match="exited with status 3 before it answered") as caught:
        await opening
    assert (caught.value.exit_code, caught.value.stderr_tail) == (3, "KEY is not set\n")


async def test_refused_handshake_is_raised_and_everything_closed() -> None:
    server = FakeServer(lambda m: [{"id": m["id"], "result": {"protocolVersion": "2099-01-01"}}] if "id" in m else [])
    with pytest.raises(VersionMismatch):
        await driver_for(server).open(30)
    assert server.closed


# --- asks and callbacks


@pytest.mark.sends_garbage(reason="the driver passes on a handler's answer as it is")
async def test_ask_is_handled_off_the_reader_so_that_its_handler_may_call_back() -> None:
    notes = Notes()
    server = FakeServer()
    driver = await opened(server, notes)

    async def ask(method: str) -> Json:
        return {"got": (await driver.request("tools/list", timeout_s=5)).__class__.__name__}

    notes.ask = ask
    server.say({"id": "q", "method": "roots/list"})
    await turns(20)
    assert server.sent[-1] == {"jsonrpc": "2.0", "id": "q", "result": {"got": "Raw"}}
    await driver.close()


@pytest.mark.parametrize("failure", [ValueError("secret detail"), asyncio.CancelledError()])
async def test_handler_that_fails_answers_with_an_error_that_tells_no_secrets(failure: BaseException) -> None:
    """Also when it was cancelled by something inside of it: the server must not wait for ever."""
    notes = Notes()
    server = FakeServer()
    driver = await opened(server, notes)

    async def ask(method: str) -> Json:
        raise failure

    notes.ask = ask
    server.say({"id": "q", "method": "roots/list"})
    await turns()
    assert (server.sent[-1]["id"], server.sent[-1]["error"]["code"]) == ("q", -32603)
    assert "secret" not in server.sent[-1]["error"]["message"]
    await driver.close()


@pytest.mark.sends_garbage(reason="the driver passes on a handler's answer as it is")
async def test_cancelled_ask_is_not_answered_even_if_its_handler_goes_on_and_the_id_is_used_again() -> None:
    notes = Notes()
    server = FakeServer()
    driver = await opened(server, notes)
    release = asyncio.Event()

    async def stubborn(method: str) -> Json:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await release.wait()
        return {"from": "the first"}

    async def second(method: str) -> Json:
        await release.wait()
        await turns()
        return {"from": "the second"}

    notes.ask = stubborn
    server.say({"id": 1, "method": "roots/list"})
    await turns()
    server.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    await turns()
    notes.ask = second
    server.say({"id": 1, "method": "roots/list"})
    await turns()
    release.set()
    await turns(30)
    assert [m["result"] for m in server.sent if "result" in m] == [{"from": "the second"}]
    await driver.close()


async def test_progress_reaches_the_callback_of_its_call_in_order() -> None:
    def on(message: Json) -> list[Json] | None:
        if message.get("method") != "tools/call":
            return None
        token = message["params"]["_meta"]["progressToken"]
        notes = [{"method": "notifications/progress", "params": {"progressToken": token, "progress": n}} for n in (1, 2, 3)]
        return [*notes, {"id": message["id"], "result": {}}]

    seen: list[float] = []

    def note(event: ProgressReceived) -> None:
        seen.append(event.progress)
        if event.progress == 2:
            raise ValueError("a callback that fails")

    driver = await opened(FakeServer(on))
    await driver.request("tools/call", CALL, timeout_s=5, on_progress=note)
    assert seen == [1, 2, 3]
    await driver.close()


# --- closing


async def test_close_is_idempotent_and_joins_the_one_under_way() -> None:
    server = FakeServer()
    driver = await opened(server)
    await asyncio.gather(driver.close(), driver.close(), driver.close())
    await driver.close()
    assert server.closes == 1


async def test_closing_what_was_never_opened_is_nothing() -> None:
    server = FakeServer()
    await driver_for(server).close()
    assert server.closes == 0


async def test_close_frees_callers_and_cancels_asks() -> None:
    notes = Notes()
    server = FakeServer(silent)
    driver = await opened(server, notes)
    cancelled = asyncio.Event()

    async def ask(method: str) -> Json:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return {}

    notes.ask = ask
    server.say({"id": "q", "method": "roots/list"})
    call = await start(driver.request("tools/call", CALL, timeout_s=30))
    await turns()
    await driver.close()
    with pytest.raises(ConnectionLost, match="fake: closed"):
        await call
    assert cancelled.is_set()


async def test_transport_that_does_not_close_is_left_after_a_while(clock: LoopClock, caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()
    driver = await opened(server, close_s=7)
    server.closes_slowly = True
    closing = await start(driver.close())
    await clock.advance(8)
    await closing
    assert "did not close within 7 s" in caplog.text


async def test_cancelled_close_goes_on_in_the_background() -> None:
    server = FakeServer()
    driver = await opened(server)
    closing = asyncio.create_task(driver.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await turns()
    assert server.closed
    await driver.close()


async def test_handler_and_callback_may_close_the_connection_and_are_not_cancelled_by_it() -> None:
    for way in ("ask", "callback"):
        notes = Notes()
        server = FakeServer()
        driver = await opened(server, notes)
        done = asyncio.Event()

        async def close(method: str = "", driver: Any = driver, done: asyncio.Event = done) -> Json:
            await driver.close()
            await asyncio.sleep(0)
            done.set()
            return {}

        if way == "ask":
            notes.ask = close
            server.say({"id": "q", "method": "roots/list"})
        else:
            driver.later(close)
        async with asyncio.timeout(10):
            await done.wait()
        assert server.closed
        await driver.close()


async def test_closing_and_ending_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The logger `dragoman` says at INFO what a person wants to know of a connection."""
    caplog.set_level(logging.INFO, "dragoman")
    driver = await opened(FakeServer())
    await driver.close()
    server = FakeServer()
    other = await opened(server)
    server.end(Closed("exited with status 1", "", 1))
    await other.close()
    messages = [record.getMessage() for record in caplog.records]
    assert messages == ["fake: closed", "fake: connection ended: exited with status 1"]
