"""One engine over one transport: whatever happens to a request, its caller is freed with a name for it, and nobody else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman.errors import (
    CallTimeout,
    ConnectionLost,
    LocalProtocolError,
    MalformedResponse,
    ResultTooLarge,
    ServerError,
)
from dragoman.runtime import driver as module
from dragoman.transports.base import Closed, Oversized
from tests.runtime.fakes import FakeServer, Json, LoopClock, driver_for, opened, turns

CALL = {"name": "echo", "arguments": {"text": "hi"}}


def silent(message: Json) -> list[Json] | None:
    """Answers no calls."""
    return [] if message.get("method") == "tools/call" else None


async def start(coroutine: Any) -> asyncio.Task[Any]:
    task = asyncio.create_task(coroutine)
    await turns(3)
    return task


# --- how a request ends


async def test_result_comes_back_as_it_was_sent() -> None:
    driver = await opened(FakeServer())
    assert bytes(await driver.request("tools/call", CALL, timeout_s=5)) == b'{"content":[{"type":"text","text":"hi"}]}'
    await driver.close()


async def test_error_object_is_raised_with_code_message_and_data() -> None:
    error = {"code": -5, "message": "no", "data": {"a": 1}}
    driver = await opened(FakeServer(lambda m: [{"id": m["id"], "error": error}] if m.get("method") == "tools/call" else None))
    with pytest.raises(ServerError, match="server error -5: no") as caught:
        await driver.request("tools/call", CALL, timeout_s=5)
    assert (caught.value.code, caught.value.data, caught.value.server, caught.value.maybe_ran) == (-5, {"a": 1}, "fake", "perhaps")
    await driver.close()


async def test_answer_that_cannot_be_read_ends_its_request_and_the_next_one_works() -> None:
    replies = [lambda m: b'{"jsonrpc":"2.0","id":%d,"result":{oops' % m["id"]]
    driver = await opened(FakeServer(lambda m: [replies.pop()(m)] if replies and m.get("method") == "tools/call" else None))
    with pytest.raises(MalformedResponse) as caught:
        await driver.request("tools/call", CALL, timeout_s=5)
    assert caught.value.maybe_ran == "yes"
    await driver.request("tools/call", CALL, timeout_s=5)
    await driver.close()


async def test_answer_over_the_frame_limit_says_what_to_raise() -> None:
    server = FakeServer(silent)
    driver = await opened(server)
    call = await start(driver.request("tools/call", CALL, timeout_s=5))
    assert server._report is not None
    server._report(Oversized(b'{"jsonrpc":"2.0","id":2,"result":{', b"}}", 2_000, 1_000))
    with pytest.raises(ResultTooLarge, match="2000 bytes, limit 1000") as caught:
        await call
    assert caught.value.hint is not None
    assert "frame_limit" in caught.value.hint
    await driver.close()


async def test_deadline_frees_the_caller_and_tells_the_server(clock: LoopClock) -> None:
    """MCP basic/lifecycle#timeouts."""
    server = FakeServer(silent)
    driver = await opened(server)
    call = await start(driver.request("tools/call", CALL, timeout_s=30))
    await clock.advance(29)
    assert not call.done()
    await clock.advance(2)
    with pytest.raises(CallTimeout, match="no answer from fake within 30 s") as caught:
        await call
    assert (caught.value.after_s, caught.value.request_id, caught.value.maybe_ran) == (30, 2, "perhaps")
    assert server.sent[-1] == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "no answer within 30 s"},
    }
    server.say({"id": 2, "result": {}})  # late
    await driver.request("tools/list", timeout_s=5)
    assert driver.violations == {}
    await driver.close()


async def test_deadline_mentions_an_answer_that_belonged_to_nobody(clock: LoopClock) -> None:
    driver = await opened(FakeServer(lambda m: [{"id": 99, "result": {}}] if m.get("method") == "tools/call" else None))
    call = await start(driver.request("tools/call", CALL, timeout_s=30))
    await clock.advance(31)
    with pytest.raises(CallTimeout) as caught:
        await call
    assert caught.value.hint == "meanwhile it sent an answer to 99, which was never asked"
    await driver.close()


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
async def test_deadline_that_makes_no_sense_is_refused_before_anything_is_sent(timeout_s: float) -> None:
    server = FakeServer()
    driver = await opened(server)
    with pytest.raises(LocalProtocolError, match="deadline"):
        await driver.request("tools/call", CALL, timeout_s=timeout_s)
    assert server.sent == []
    await driver.close()


async def test_cancelled_caller_tells_the_server_and_leaves_others_alone() -> None:
    server = FakeServer(silent)
    driver = await opened(server)
    mine, other = (
        await start(driver.request("tools/call", CALL, timeout_s=30)),
        await start(driver.request("tools/call", CALL, timeout_s=30)),
    )
    mine.cancel()
    with pytest.raises(asyncio.CancelledError):
        await mine
    await turns()
    assert [(m["params"]["requestId"], m["params"]["reason"]) for m in server.sent[2:]] == [(2, "cancelled by the caller")]
    server.say({"id": 3, "result": {}})
    await other
    await driver.close()


async def test_end_of_the_connection_frees_all_with_status_and_last_words() -> None:
    server = FakeServer(silent)
    driver = await opened(server)
    calls = [await start(driver.request("tools/call", CALL, timeout_s=30)) for _ in range(3)]
    server.end(Closed("exited with status 7", "warming up\nassertion failed\n\n", 7))
    for call in calls:
        with pytest.raises(ConnectionLost, match="fake: exited with status 7; its last words on stderr: assertion failed") as caught:
            await call
        assert caught.value.maybe_ran == "perhaps"
    with pytest.raises(ConnectionLost, match="exited with status 7") as after:
        await driver.request("tools/call", CALL, timeout_s=30)
    assert after.value.maybe_ran == "no"
    await driver.close()


async def test_request_that_may_not_be_sent_is_refused_locally() -> None:
    driver = driver_for(FakeServer())
    with pytest.raises(LocalProtocolError, match="not connected"):
        await driver.request("tools/list", timeout_s=5)
    await driver.close()


# --- a server that does not read


async def blocked(**more: Any) -> tuple[FakeServer, Any]:
    server = FakeServer()
    driver = await opened(server)
    server.gate.clear()
    return server, driver


async def test_server_that_does_not_read_frees_its_caller_at_the_deadline(clock: LoopClock) -> None:
    _server, driver = await blocked()

    async def caller() -> str:
        with pytest.raises(CallTimeout, match="does not read what is sent to it; gave up after 30 s"):
            await driver.request("tools/call", CALL, timeout_s=30)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # a cancellation left over would arrive here
        return "went on"

    task = await start(caller())
    await clock.advance(31)
    assert await task == "went on"
    await driver.close()


async def test_end_of_the_connection_frees_a_caller_that_is_still_sending() -> None:
    server, driver = await blocked()
    call = await start(driver.request("tools/call", CALL, timeout_s=30))
    server.end(Closed("exited with status 1", "", 1))
    with pytest.raises(ConnectionLost):
        await call
    await driver.close()


@pytest.mark.parametrize("user_first", [True, False])
async def test_cancellation_of_the_caller_counts_even_when_the_deadline_comes_at_the_same_time(clock: LoopClock, user_first: bool) -> None:
    _server, driver = await blocked()
    call = await start(driver.request("tools/call", CALL, timeout_s=30))
    if user_first:
        call.cancel()
    driver._expired(2)
    if not user_first:
        call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await driver.close()


async def test_timeout_of_the_callers_own_works_around_a_blocked_call(clock: LoopClock) -> None:
    """`asyncio.timeout` counts cancellations; ours must not confuse it."""
    _server, driver = await blocked()

    async def caller() -> None:
        async with asyncio.timeout(10):
            await driver.request("tools/call", CALL, timeout_s=30)

    task = await start(caller())
    await clock.advance(11)
    with pytest.raises(TimeoutError):
        await task
    await driver.close()


async def test_caller_that_was_cancelled_before_and_cleans_up_gets_its_error_and_no_second_cancellation(clock: LoopClock) -> None:
    """Its task still counts the first cancellation."""
    _server, driver = await blocked()

    async def caller() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            with pytest.raises(CallTimeout):
                await driver.request("tools/call", CALL, timeout_s=30)
        return "cleaned up"

    task = await start(caller())
    task.cancel()
    await turns()
    await clock.advance(31)
    assert await task == "cleaned up"
    await driver.close()


async def test_transport_that_swallows_our_cancellation_changes_nothing(clock: LoopClock) -> None:
    server, driver = await blocked()
    server.swallows_cancellation = True

    async def caller() -> int:
        with pytest.raises(CallTimeout):
            await driver.request("tools/call", CALL, timeout_s=30)
        task = asyncio.current_task()
        return task.cancelling() if task is not None else -1

    task = await start(caller())
    await clock.advance(31)
    assert await task == 0
    await driver.close()


async def test_server_that_asks_and_asks_and_does_not_read_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our answers to it must not fill the memory."""
    monkeypatch.setattr(module, "MAX_BACKLOG", 20)
    server, driver = await blocked()
    for number in range(100):
        server.say({"id": f"a{number}", "method": "ping"})
    await turns(30)
    for _ in range(2):
        with pytest.raises(ConnectionLost, match="closed here: it does not read what is sent to it"):
            await driver.request("tools/call", CALL, timeout_s=5)
        await driver.close()  # the transport's "exited with status 0" comes with it, and is not what ended it
    assert server.closed


# --- transports and taps that break their contract


async def test_transport_that_raises_ends_that_request_as_lost() -> None:
    server = FakeServer()
    driver = await opened(server)
    good = server.perform

    async def broken(action: Any) -> None:
        raise OSError("the cable")

    server.perform = broken  # type: ignore[method-assign]  # a transport that breaks
    with pytest.raises(ConnectionLost, match="the transport failed: OSError"):
        await driver.request("tools/call", CALL, timeout_s=5)
    await driver.notify("notifications/x")
    await turns()
    server.perform = good  # type: ignore[method-assign]  # and is mended
    await driver.request("tools/call", CALL, timeout_s=5)
    assert driver.connection.open_requests == 0
    await driver.close()


async def test_tap_sees_both_directions() -> None:
    seen: list[tuple[str, bytes]] = []
    driver = await opened(FakeServer(), tap=lambda direction, message: seen.append((direction, bytes(message))))
    await driver.request("ping", timeout_s=5)
    assert [direction for direction, _ in seen] == ["→", "←", "→", "→", "←"]
    assert b'"ping"' in seen[3][1]
    await driver.close()


async def test_tap_that_raises_is_not_called_again_and_calls_go_on(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []

    def tap(direction: str, message: bytes | bytearray) -> None:
        calls.append(direction)
        raise OSError("disk full")

    driver = await opened(FakeServer(), tap=tap)
    await driver.request("ping", timeout_s=5)
    assert calls == ["→"]
    assert "the trace failed" in caplog.text
    await driver.close()


async def test_bug_of_ours_while_reading_does_not_end_the_reader(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()
    driver = await opened(server)
    good = driver.connection.receive

    def once(message: bytes, via: Any = None, status: Any = None) -> None:
        monkeypatch.setattr(driver.connection, "receive", good)
        raise RuntimeError("a bug")

    monkeypatch.setattr(driver.connection, "receive", once)
    server.say({"method": "notifications/x"})
    await turns()
    await driver.request("ping", timeout_s=5)
    assert "could not be taken in" in caplog.text
    await driver.close()


async def test_violations_are_counted_and_logged_only_a_few_times(caplog: pytest.LogCaptureFixture) -> None:
    server = FakeServer()
    driver = await opened(server)
    for _ in range(10):
        server.say(b"noise")
    await turns()
    assert driver.violations == {"noise": 10}
    assert caplog.text.count("broke the protocol") == 3
    await driver.close()
