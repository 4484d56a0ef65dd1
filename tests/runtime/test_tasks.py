"""Calls that are answered later, in the two protocols that there are for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from dragoman.errors import CallFailed, CallTimeout, InvalidResult, LocalProtocolError, ServerError
from dragoman.runtime.asking import Elicitation, ElicitationAnswer
from dragoman.runtime.progress import Progress
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, client, turns, words

EXTENSION = "io.modelcontextprotocol/tasks"
LIMIT_S = 20


class Legacy(FakeServer):
    """A server of 2025-11-25 with tasks; ``statuses`` are what tasks/get says, in turn, the last one again and again."""

    def __init__(self, *statuses: str, support: str | None = "required", declared: bool = True, result: Json | None = None) -> None:
        super().__init__(self.turn)
        self.statuses = list(statuses)
        self.support, self.declared = support, declared
        self.result = words("done") if result is None else result
        self.first = "working"
        self.on_call: Callable[[Json], Iterable[Json]] | None = None

    def state(self, status: str) -> Json:
        return {"taskId": "T", "status": status, "createdAt": "x", "lastUpdatedAt": "x", "ttl": None, "pollInterval": 20}

    def turn(self, message: Json) -> Iterable[Json] | None:
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            tasks: Json = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}} if self.declared else {}
            return [{"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, **tasks}}}]
        if method == "tools/list":
            execution = {} if self.support is None else {"execution": {"taskSupport": self.support}}
            return [{"id": number, "result": {"tools": [ECHO | execution]}}]
        if method == "tools/call" and "task" in message["params"]:
            return [{"id": number, "result": {"task": self.state(self.first)}}]
        if method == "tasks/get":
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            return [{"id": number, "result": self.state(status)}]
        if method == "tasks/result":
            return [*(self.on_call(message) if self.on_call is not None else ()), {"id": number, **(self.final())}]
        if method == "tasks/cancel":
            return [{"id": number, "result": self.state("cancelled")}]
        return None

    def final(self) -> Json:
        return self.result if "error" in self.result else {"result": self.result}


class Modern(FakeServer):
    """A server of 2026-07-28 with the extension; ``states`` are what tasks/get says, in turn, the last one again and again."""

    def __init__(self, *states: Json, declared: bool = True) -> None:
        super().__init__(self.turn, era="modern")
        self.states, self.declared = list(states), declared
        self.created: Json = {"resultType": "task", "taskId": "T", "status": "working", "pollIntervalMs": 20}

    def turn(self, message: Json) -> Iterable[Json] | None:
        method, number = message.get("method"), message.get("id")
        if method == "server/discover":
            extensions: Json = {"extensions": {EXTENSION: {}}} if self.declared else {}
            return [{"id": number, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, **extensions}}}]
        if method == "tools/call":
            return [{"id": number, "result": self.created}]
        if method == "tasks/get":
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return [{"id": number, "result": {"resultType": "complete", "taskId": "T", "pollIntervalMs": 20, **state}}]
        if method in ("tasks/update", "tasks/cancel"):
            return [{"id": number, "result": {"resultType": "complete"}}]
        return None


DONE = {"status": "completed", "result": words("done")}


# --- 2025-11-25 ---------------------------------------------------------------------------------------------------------


async def test_tool_that_must_run_as_a_task_does_and_its_result_is_awaited() -> None:
    """MCP 2025-11-25 basic/utilities/tasks."""
    server = Legacy("working", "completed")
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        async with asyncio.timeout(LIMIT_S):
            assert (await mine.call_tool("echo", {"a": 1})).text == "done"
        assert server.methods()[-4:] == ["tools/call", "tasks/get", "tasks/get", "tasks/result"]
        call = server.sent[-4]["params"]
        assert call == {"name": "echo", "arguments": {"a": 1}, "task": {}}
        assert server.sent[-1]["params"] == {"taskId": "T"}


@pytest.mark.parametrize(
    ("support", "declared", "listed"),
    [(None, True, True), ("forbidden", True, True), ("optional", True, True), ("required", False, True), ("required", True, False)],
)
async def test_tool_is_called_plainly_where_no_task_is_needed_or_known_of(support: str | None, declared: bool, listed: bool) -> None:
    """MCP 2025-11-25: never as a task unless the server declares it, whatever the tool says; and nothing is listed behind the scenes."""
    server = Legacy("completed", support=support, declared=declared)
    async with client(server, tasks=True) as mine:
        if listed:
            await mine.list_tools()
        await mine.call_tool("echo")
        assert "task" not in server.sent[-1]["params"]
        assert server.methods().count("tools/list") == int(listed)


async def test_task_is_started_only_where_tool_and_server_take_it() -> None:
    for server, message in (
        (Legacy("completed", support="forbidden"), "does not run as a task"),
        (Legacy("completed", support="required", declared=False), "makes no tasks"),
        (Modern(DONE, declared=False), "does not declare the extension"),
    ):
        async with client(server, tasks=True) as mine:
            await mine.list_tools()
            server.sent.clear()
            with pytest.raises(LocalProtocolError, match=message):
                await mine.start_task("echo")
            assert server.sent == []


async def test_client_that_did_not_ask_for_tasks_declares_and_starts_none() -> None:
    server = Modern(DONE)
    async with client(server) as mine:
        assert EXTENSION not in str(server.sent)
        with pytest.raises(LocalProtocolError, match="tasks were not asked for"):
            await mine.start_task("echo")
        with pytest.raises(InvalidResult, match="was not asked for"):
            await mine.call_tool("echo")


async def test_legacy_client_does_not_declare_the_extension() -> None:
    """SEP-2663: it does not exist under 2025-11-25."""
    server = Legacy("completed")
    async with client(server, tasks=True):
        (initialize,) = [m for m in server.sent if m["method"] == "initialize"]
        assert "extensions" not in initialize["params"]["capabilities"]


async def test_handle_of_a_task_has_status_result_and_cancel_and_can_be_found_again() -> None:
    server = Legacy("working", "completed", support="optional")
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        task = await mine.start_task("echo", {"a": 1}, ttl_ms=5000)
        assert server.sent[-1]["params"]["task"] == {"ttl": 5000}
        assert (task.id, task.status) == ("T", "working")
        assert await task.refresh() == "working"
        assert (await mine.task("T").result()).text == "done"
        await task.cancel()
        assert (server.methods()[-1], server.sent[-1]["params"]) == ("tasks/cancel", {"taskId": "T"})


async def test_server_may_ask_while_a_task_waits_for_input() -> None:
    """MCP 2025-11-25 basic/utilities/tasks#input-required: tasks/result is asked for early, and answers name the task."""
    server = Legacy("input_required")
    related = {"io.modelcontextprotocol/related-task": {"taskId": "T"}}
    elicit = {"id": "e", "method": "elicitation/create", "params": {"message": "?", "_meta": related}}
    server.on_call = lambda message: [elicit]
    async with client(server, tasks=True, on_elicitation=lambda ask: ElicitationAnswer("decline")) as mine:
        await mine.list_tools()
        async with asyncio.timeout(LIMIT_S):
            assert (await mine.call_tool("echo")).text == "done"
        await turns()
        (answer,) = [m for m in server.sent if m.get("id") == "e"]
        assert answer["result"] == {"action": "decline", "_meta": related}


async def test_failed_task_is_what_its_result_says() -> None:
    """MCP 2025-11-25: failed covers tool results with isError, and errors of the protocol."""
    server = Legacy("failed", result={**words("no"), "isError": True})
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        result = await mine.call_tool("echo")
        assert (result.is_error, result.text) == (True, "no")
        server.result = {"error": {"code": -5, "message": "broke"}}
        with pytest.raises(ServerError, match="broke"):
            await mine.call_tool("echo")


@pytest.mark.parametrize("server", [Legacy("cancelled"), Modern({"status": "cancelled", "statusMessage": "why"})])
async def test_task_that_the_server_cancelled_is_a_failed_call(server: FakeServer) -> None:
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        with pytest.raises(CallFailed, match="ended as cancelled"):
            await mine.call_tool("echo")
        assert "tasks/cancel" not in server.methods()


async def test_progress_goes_on_after_the_call_was_answered_with_a_task() -> None:
    """MCP 2025-11-25: the token stays good until the task has ended."""
    server = Legacy("completed")
    token: list[Any] = []

    def progress(message: Json) -> Iterable[Json]:
        (call,) = [m for m in server.sent if m.get("method") == "tools/call"]
        token.append(call["params"]["_meta"]["progressToken"])
        return [{"method": "notifications/progress", "params": {"progressToken": token[0], "progress": 5, "message": "half"}}]

    server.on_call = progress
    seen: list[Progress] = []
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        await mine.call_tool("echo", on_progress=seen.append)
        await turns()
        assert seen == [Progress(5, None, "half")]
        server.say({"method": "notifications/progress", "params": {"progressToken": token[0], "progress": 6}})
        await turns()
        assert len(seen) == 1  # it has ended


async def test_notice_of_a_change_is_asked_about_at_once_and_is_not_needed(clock: LoopClock) -> None:
    """MCP 2025-11-25 basic/utilities/tasks#notifications: nobody relies on it."""
    server = Legacy("completed")
    plain = server.state
    server.state = lambda status: {**plain(status), "pollInterval": 10_000_000}  # type: ignore[method-assign]  # slow
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        calling = asyncio.ensure_future(mine.call_tool("echo"))
        await turns(20)
        assert server.methods()[-1] == "tools/call"
        server.say({"method": "notifications/tasks/status", "params": {"taskId": "other", "status": "completed"}})
        await turns(20)
        assert server.methods()[-1] == "tools/call"
        server.say({"method": "notifications/tasks/status", "params": {"taskId": "T", "status": "completed"}})
        async with asyncio.timeout(LIMIT_S):
            assert (await calling).text == "done"


# --- the extension ------------------------------------------------------------------------------------------------------


async def test_call_that_becomes_a_task_is_awaited() -> None:
    """SEP-2663: declared with each request, polled, its result inside."""
    server = Modern({"status": "working"}, DONE)
    async with client(server, tasks=True) as mine:
        async with asyncio.timeout(LIMIT_S):
            assert (await mine.call_tool("echo")).text == "done"
        assert server.methods()[-3:] == ["tools/call", "tasks/get", "tasks/get"]
        for message in server.sent[-3:]:
            declared = message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
            assert declared["extensions"] == {EXTENSION: {}}
        assert "task" not in server.sent[-3]["params"]


async def test_call_that_is_answered_at_once_is_no_task() -> None:
    server = Modern(DONE)
    server.created = words("now")
    async with client(server, tasks=True) as mine:
        assert (await mine.call_tool("echo")).text == "now"
        task = await mine.start_task("echo")
        assert (task.id, task.status) == (None, "completed")
        assert (await task.result()).text == "now"
        assert "tasks/get" not in server.methods()


async def test_task_in_answer_to_anything_else_is_refused() -> None:
    """SEP-2663: only tools/call."""
    server = FakeServer(
        lambda m: [{"id": m["id"], "result": {"resultType": "task", "taskId": "T"}}] if m.get("method") == "prompts/get" else None,
        era="modern",
    )
    async with client(server, tasks=True) as mine:
        with pytest.raises(InvalidResult, match="was not asked for"):
            await mine.get_prompt("p")


async def test_questions_of_a_task_are_answered_once_each() -> None:
    """SEP-2663: the server repeats what it asks until it has seen the answer."""
    one = {"method": "elicitation/create", "params": {"message": "1"}}
    two = {"method": "elicitation/create", "params": {"message": "2"}}
    asking: list[Json] = [{"status": "input_required", "inputRequests": {"k1": one}}] * 3
    server = Modern(*asking, {"status": "input_required", "inputRequests": {"k1": one, "k2": two}}, DONE)
    seen: list[str] = []

    def answer(ask: Elicitation) -> ElicitationAnswer:
        seen.append(ask.message)
        return ElicitationAnswer("accept")

    async with client(server, tasks=True, on_elicitation=answer) as mine:
        async with asyncio.timeout(LIMIT_S):
            assert (await mine.call_tool("echo")).text == "done"
        assert seen == ["1", "2"]
        updates = [m["params"] for m in server.sent if m["method"] == "tasks/update"]
        assert [update["taskId"] for update in updates] == ["T", "T"]
        accepted = {"action": "accept", "content": {}}
        assert [update["inputResponses"] for update in updates] == [{"k1": accepted}, {"k2": accepted}]


async def test_failed_task_of_the_extension_is_the_error_of_the_server() -> None:
    server = Modern({"status": "failed", "error": {"code": -7, "message": "broke", "data": {"x": 1}}})
    async with client(server, tasks=True) as mine:
        with pytest.raises(ServerError) as caught:
            await mine.call_tool("echo")
        assert (caught.value.code, caught.value.data, caught.value.maybe_ran) == (-7, {"x": 1}, "yes")


@pytest.mark.parametrize("make", [lambda: Legacy("working"), lambda: Modern({"status": "working"})])
async def test_call_that_is_given_up_is_cancelled_on_the_server(make: Callable[[], FakeServer], clock: LoopClock) -> None:
    """Both protocols: tasks/cancel, never notifications/cancelled."""
    server = make()
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        calling = asyncio.ensure_future(mine.call_tool("echo"))
        await turns(30)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await turns(30)
        assert (server.methods()[-1], server.sent[-1]["params"]["taskId"]) == ("tasks/cancel", "T")
        late = asyncio.ensure_future(mine.call_tool("echo", timeout_s=30))
        for _ in range(8):
            await clock.advance(5)
            await turns(10)
        with pytest.raises(CallTimeout, match="within 30 s"):
            await late
        await turns(30)
        assert server.methods().count("tasks/cancel") == 2
        assert "notifications/cancelled" not in server.methods()


@pytest.mark.parametrize("created", [{"resultType": "task"}, {"resultType": "task", "taskId": 5}, {"resultType": "task", "taskId": ""}])
async def test_task_without_an_id_is_an_invalid_result(created: Json) -> None:
    server = Modern(DONE)
    server.created = created
    async with client(server, tasks=True) as mine:
        with pytest.raises(InvalidResult):
            await mine.call_tool("echo")
