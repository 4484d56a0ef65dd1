"""Rounds: a modern server that wants something first gets it, with its state unchanged, under a new id, and within one deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from dragoman import Client, Elicitation, ElicitationAnswer
from dragoman.errors import CallFailed, CallTimeout, InvalidResult
from tests.runtime.fakes import FakeServer, Json, LoopClock, client, turns, words

SCHEMA = {"type": "object", "properties": {}}
FORM = {"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?", "requestedSchema": SCHEMA}}
ROOTS = {"method": "roots/list"}


class Asking(FakeServer):
    """Answers calls with what it was given, one after the other; the last one for ever."""

    def __init__(self, *results: Json) -> None:
        super().__init__(self._answer, era="modern")
        self.results = list(results)
        self.calls: list[Json] = []

    def _answer(self, message: Json) -> Iterable[Json] | None:
        if message.get("method") != "tools/call":
            return None
        self.calls.append(message)
        result = self.results.pop(0) if len(self.results) > 1 else self.results[0]
        return [{"id": message["id"], "result": result}]


def wants(state: Any = None, **requests: Json) -> Json:
    result: Json = {"resultType": "input_required"}
    if requests:
        result["inputRequests"] = requests
    return result if state is None else result | {"requestState": state}


DONE = {"resultType": "complete", **words("done")}


def yes(ask: Elicitation) -> ElicitationAnswer:
    return ElicitationAnswer("accept", {"y": True})


async def ask(server: Asking, **options: Any) -> tuple[Client, Any]:
    async with client(server, **{"on_elicitation": yes, "roots": ["/w"], **options}) as mine:
        return mine, await mine.call_tool("deploy", {"a": 1})


async def test_answers_and_state_go_back_in_a_new_request_with_the_same_params() -> None:
    """MCP 2026-07-28 basic/patterns/mrtr: new id, all keys answered, the state as the same string."""
    state = 'opaque é \\ " \u2028 =='
    server = Asking(wants(state, ok=FORM, r=ROOTS), DONE)
    _, result = await ask(server)
    assert result.text == "done"
    first, second = server.calls
    assert first["id"] != second["id"]
    assert second["params"]["requestState"] == state
    roots = {"roots": [{"uri": "file:///w", "name": "w"}]}
    assert second["params"]["inputResponses"] == {"ok": {"action": "accept", "content": {"y": True}}, "r": roots}
    assert {key: second["params"][key] for key in ("name", "arguments")} == {"name": "deploy", "arguments": {"a": 1}}
    assert "inputResponses" not in first["params"]
    assert first["params"]["_meta"] == second["params"]["_meta"]


async def test_only_the_state_of_the_last_result_is_sent_back() -> None:
    """Each round stands alone: what the last result did not have is not sent."""
    server = Asking(wants("one", ok=FORM), wants(None, ok=FORM), wants("three"), DONE)
    await ask(server)
    assert [call["params"].get("requestState") for call in server.calls] == [None, "one", None, "three"]
    assert ["inputResponses" in call["params"] for call in server.calls] == [False, True, True, False]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_person_who_declines_is_an_answer_too(action: Any) -> None:
    server = Asking(wants("s", ok=FORM), DONE)
    await ask(server, on_elicitation=lambda question: ElicitationAnswer(action))
    assert server.calls[1]["params"]["inputResponses"] == {"ok": {"action": action}}


async def test_without_anybody_to_answer_the_call_fails_and_is_not_sent_again() -> None:
    server = Asking(wants("s", ok=FORM), DONE)
    with pytest.raises(CallFailed, match="wants elicitation/create before it answers tools/call: this client does not offer"):
        await ask(server, on_elicitation=None)
    assert len(server.calls) == 1


async def test_handler_that_fails_ends_the_call_with_its_reason() -> None:
    def broken(question: Elicitation) -> ElicitationAnswer:
        raise ValueError("no terminal")

    server = Asking(wants("s", ok=FORM), DONE)
    with pytest.raises(CallFailed, match=r"the handler failed: ValueError\('no terminal'\)"):
        await ask(server, on_elicitation=broken)
    assert len(server.calls) == 1


async def test_server_that_asks_for_ever_is_stopped_after_ten_rounds_and_nobody_is_asked_in_vain() -> None:
    asked: list[str] = []

    def count(question: Elicitation) -> ElicitationAnswer:
        asked.append(question.message)
        return ElicitationAnswer("accept", {})

    server = Asking(wants("s", ok=FORM))
    with pytest.raises(CallFailed, match="still asks after 10 rounds"):
        await ask(server, on_elicitation=count)
    assert (len(server.calls), len(asked)) == (10, 9)


async def test_ten_rounds_are_allowed() -> None:
    server = Asking(*[wants("s", ok=FORM)] * 9, DONE)
    assert (await ask(server))[1].text == "done"


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({"resultType": "maybe", "content": []}, "/resultType"),
        ({"resultType": "task", "taskId": "T"}, "/resultType"),
        ({"resultType": "input_required"}, "/inputRequests"),
        ({"resultType": "input_required", "inputRequests": {}}, "/inputRequests"),
        (wants("s", k={"method": "tools/call"}), "/inputRequests/k"),
        (wants("s", k={"method": 5}), "/inputRequests/k"),
        ({"resultType": "input_required", "inputRequests": {"k": "x"}}, "/inputRequests/k"),
        ({"resultType": 5}, ""),
        ({"resultType": "input_required", "inputRequests": []}, ""),
    ],
)
async def test_result_of_an_unknown_kind_is_an_error_of_that_call(result: Json, path: str) -> None:
    server = Asking(result)
    with pytest.raises(InvalidResult) as caught:
        await ask(server)
    assert caught.value.path == path
    assert len(server.calls) == 1


async def test_result_without_a_type_is_complete() -> None:
    """MCP 2026-07-28: absent means complete."""
    assert (await ask(Asking(words("plain"))))[1].text == "plain"


async def test_methods_without_rounds_may_not_ask() -> None:
    server = FakeServer(lambda m: [{"id": m["id"], "result": wants("s", ok=FORM)}] if m["method"] == "tools/list" else None, era="modern")
    async with client(server) as mine:
        with pytest.raises(InvalidResult, match="which was not asked for"):
            await mine.list_tools()


async def test_time_a_person_needs_is_not_counted(clock: LoopClock) -> None:
    """DESIGN: a person answering an ask stops the deadline."""

    async def slow(question: Elicitation) -> ElicitationAnswer:
        await clock.advance(500)
        return ElicitationAnswer("accept", {})

    assert (await ask(Asking(wants("s", ok=FORM), DONE), on_elicitation=slow, timeout_s=20))[1].text == "done"


async def test_deadline_covers_all_rounds_and_what_no_person_has_to_answer(clock: LoopClock) -> None:
    async def slow(params: Json) -> Json:
        await clock.advance(15)
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}}

    sampling = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}
    with pytest.raises(CallTimeout, match="within 20 s, over all its rounds") as caught:
        await ask(Asking(wants("s", k=sampling)), on_sampling=slow, timeout_s=20)
    assert caught.value.after_s == 20


async def test_deadline_in_a_later_round_names_the_whole(clock: LoopClock) -> None:
    def silent_second(message: Json) -> list[Json] | None:
        if message.get("method") != "tools/call":
            return None
        return [] if "requestState" in message["params"] else [{"id": message["id"], "result": wants("s", ok=FORM)}]

    async with client(FakeServer(silent_second, era="modern"), on_elicitation=yes) as mine:
        call = asyncio.create_task(mine.call_tool("x", timeout_s=20))
        await turns(20)
        await clock.advance(21)
        with pytest.raises(CallTimeout, match="within 20 s, over all its rounds"):
            await call


async def test_legacy_asks_stop_the_clock_of_the_call_only_while_a_person_answers(clock: LoopClock) -> None:
    question = {"id": "q", **FORM}
    server = FakeServer(lambda m: [question] if m.get("method") == "tools/call" else None)
    answered = asyncio.Event()

    async def slow(question: Elicitation) -> ElicitationAnswer:
        await clock.advance(500)
        answered.set()
        return ElicitationAnswer("accept", {})

    async with client(server, on_elicitation=slow) as mine:
        call = asyncio.create_task(mine.call_tool("x", timeout_s=20))
        async with asyncio.timeout(600):
            await answered.wait()
        await turns()
        assert not call.done()
        await clock.advance(21)
        with pytest.raises(CallTimeout):
            await call


async def test_notices_and_logs_reach_their_callbacks_whatever_is_in_them() -> None:
    notices: list[tuple[str, Any]] = []
    logs: list[Any] = []
    server = FakeServer()
    async with client(server, on_notification=lambda method, params: notices.append((method, params)), on_log=logs.append):
        server.say({"method": "notifications/message", "params": {"level": "info", "data": [1]}})
        server.say({"method": "notifications/message", "params": [1]})
        server.say({"method": "notifications/x"})
        await turns(20)
    assert logs == [{"level": "info", "data": [1]}, {}]
    assert notices == [("notifications/message", logs[0]), ("notifications/message", {}), ("notifications/x", {})]


def _token(server: FakeServer) -> Any:
    return next(m["params"]["_meta"]["progressToken"] for m in server.sent if m.get("method") == "tools/call")


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_progress_gives_a_server_its_time_anew_up_to_the_maximum(clock: LoopClock, era: Any) -> None:
    """MCP basic/utilities: the clock may be reset at progress, and a maximum is kept all the same."""
    server = FakeServer(lambda message: [] if message.get("method") == "tools/call" else None, era=era)
    async with client(server) as mine:
        call = asyncio.create_task(mine.call_tool("x", timeout_s=20, max_timeout_s=50))
        await turns()
        for n in (1, 2):
            await clock.advance(15)
            assert not call.done()
            server.say({"method": "notifications/progress", "params": {"progressToken": _token(server), "progress": n}})
            await turns()
        await clock.advance(19)
        assert not call.done()
        server.say({"method": "notifications/progress", "params": {"progressToken": _token(server), "progress": 3}})
        await clock.advance(2)
        with pytest.raises(CallTimeout):
            await call


async def test_without_a_maximum_progress_moves_nothing(clock: LoopClock) -> None:
    """Our choice: a deadline that the caller named is kept to."""
    server = FakeServer(lambda message: [] if message.get("method") == "tools/call" else None)
    async with client(server) as mine:
        call = asyncio.create_task(mine.call_tool("x", timeout_s=20, on_progress=lambda step: None))
        await turns()
        await clock.advance(15)
        server.say({"method": "notifications/progress", "params": {"progressToken": _token(server), "progress": 1}})
        await clock.advance(6)
        with pytest.raises(CallTimeout):
            await call
