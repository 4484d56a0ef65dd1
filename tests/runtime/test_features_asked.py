"""What servers ask, want declared and work on: rounds, addresses, extensions, tasks, cancellation."""

from __future__ import annotations

import asyncio
import re
import webbrowser
from pathlib import Path
from typing import Any

import pytest

from dragoman import ElicitationAnswer
from dragoman.runtime.asking import Asker
from dragoman.transports.base import Closed
from tests.runtime.fakes import ECHO, FakeServer, Json, LoopClock, client, turns, until, words
from tests.runtime.hosts import Fleet
from tests.runtime.scripted import FORM, params_of
from tests.transports.loopback import Exchange, loopback

# --- rounds


@pytest.mark.requirement("R-MRTR-06")
async def test_answers_of_one_call_reach_no_other_call_of_the_same_tool() -> None:
    """R-MRTR-06: MCP 2026-07-28 basic/patterns/mrtr#client-requirements."""

    def on(message: Json) -> list[Json] | None:
        if message.get("method") != "tools/call":
            return None
        which = message["params"]["arguments"]["n"]
        if "requestState" not in message["params"]:
            ask = {"k": FORM | {"params": FORM["params"] | {"message": f"for {which}"}}}  # type: ignore[operator]  # a literal
            return [{"id": message["id"], "result": {"resultType": "input_required", "inputRequests": ask, "requestState": f"s{which}"}}]
        return [{"id": message["id"], "result": words(f"{which}")}]

    server = FakeServer(on, era="modern")
    async with client(server, on_elicitation=lambda ask: ElicitationAnswer("accept", {"said": ask.message})) as mine:
        done = await asyncio.gather(*[mine.call_tool("t", {"n": n}) for n in range(4)])
        await mine.request("tools/list")
        again = {"name": "t", "arguments": {"n": 9}}
        for _ in range(2):
            await mine.request("tools/call", again)
        assert again == {"name": "t", "arguments": {"n": 9}}  # the caller's own, which may be used once more
    assert [result.text for result in done] == ["0", "1", "2", "3"]
    assert ["requestState" in params for params in params_of(server, "tools/call")][-4:] == [False, True, False, True]
    for params in params_of(server, "tools/call"):
        if "requestState" in params:
            which = params["arguments"]["n"]
            assert params["requestState"] == f"s{which}"
            assert params["inputResponses"] == {"k": {"action": "accept", "content": {"said": f"for {which}"}}}
    assert params_of(server, "tools/list") == [{}]


# --- addresses that a server wants visited


@pytest.mark.requirement("R-ELIC-11", "R-ELIC-12")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_address_is_neither_fetched_nor_opened_here(era: str, action: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """R-ELIC-11, R-ELIC-12: MCP 2025-11-25 client/elicitation#safe-url-handling: what a person agreed to, the program opens, not we."""
    opened = tmp_path / "opened"
    monkeypatch.setattr(webbrowser, "open", lambda *a, **k: opened.touch())
    visits: list[Exchange] = []

    async def visited(exchange: Exchange) -> None:
        visits.append(exchange)
        exchange.reply("200 OK", b"", "text/html")

    async with loopback(visited) as place:
        ask: Json = {"method": "elicitation/create", "params": {"mode": "url", "message": "Go", "url": place.url, "elicitationId": "e"}}

        def on(message: Json) -> list[Json] | None:
            if message.get("method") == "tools/call" and era == "legacy":
                return [{"id": "q", **ask}]
            if message.get("method") == "tools/call" and "requestState" not in message["params"]:
                return [{"id": message["id"], "result": {"resultType": "input_required", "inputRequests": {"k": ask}, "requestState": "s"}}]
            if message.get("id") == "q":
                call = next(m for m in server.sent if m.get("method") == "tools/call")
                return [{"id": call["id"], "result": words(message["result"]["action"])}]
            return None

        server = FakeServer(on, era=era)
        async with client(server, on_elicitation=lambda question: ElicitationAnswer(action)) as mine:
            await mine.call_tool("t")
            await turns(20)
        assert visits == []
        assert place.connections == 0
    assert not opened.exists()


@pytest.mark.requirement("R-ELIC-17")
@pytest.mark.parametrize("params", [{"elicitationId": "unknown"}, {}, {"elicitationId": None}])
async def test_completion_of_an_elicitation_that_nobody_knows_does_nothing(params: Json) -> None:
    """R-ELIC-17: MCP 2025-11-25 client/elicitation#completion-notifications."""
    server = FakeServer()
    async with client(server) as mine:
        before = len(server.sent)
        server.say({"method": "notifications/elicitation/complete", "params": params})
        await turns(20)
        assert len(server.sent) == before
        assert mine.violations == {}
        assert (await mine.call_tool("echo", {"text": "x"})).text == "x"


# --- what is declared, and told anew


@pytest.mark.requirement("R-SAMP-08")
def test_context_in_sampling_is_declared_only_where_the_handler_takes_it() -> None:
    """R-SAMP-08: MCP 2025-11-25 client/sampling#capabilities."""

    def plain(params: Json) -> Json:
        return {}

    assert Asker(on_sampling=plain).capabilities()["sampling"] == {}
    plain.context = True  # type: ignore[attr-defined]  # how a handler says so
    assert Asker(on_sampling=plain).capabilities()["sampling"] == {"context": {}}


@pytest.mark.requirement("R-CAP-07", "R-CAP-09", "R-CAP-10", "R-TASKX-01")
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("tasks", [False, True])
async def test_extension_is_declared_where_it_was_switched_on_and_in_the_place_of_its_era(era: str, tasks: bool) -> None:
    """R-CAP-07, R-CAP-09, R-CAP-10, R-TASKX-01: MCP 2026-07-28 basic/versioning#extension-negotiation; SEP-2663."""
    server = FakeServer(era=era)
    async with client(server, tasks=tasks, roots=[], on_elicitation=lambda ask: ElicitationAnswer("cancel")) as mine:
        await mine.list_tools()
        await mine.call_tool("echo")
    if era == "modern":
        requests = [m["params"]["_meta"] for m in server.sent if "id" in m and "method" in m]
        declared = [meta["io.modelcontextprotocol/clientCapabilities"] for meta in requests]
        assert len(declared) == 3
    else:
        declared = [m["params"]["capabilities"] for m in server.sent if m.get("method") == "initialize"]
    for capabilities in declared:
        assert all(isinstance(value, dict) for value in capabilities.values())
        extensions = capabilities.get("extensions", {})
        assert extensions == ({"io.modelcontextprotocol/tasks": {}} if tasks and era == "modern" else {})
        assert all(re.fullmatch(r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)*/[A-Za-z0-9][\w.-]*", key) for key in extensions)
        assert ("extensions" in capabilities) is (tasks and era == "modern")


@pytest.mark.requirement("R-STDIO-10", "R-STDIO-11")
async def test_server_that_was_started_again_is_listened_to_again() -> None:
    """R-STDIO-10, R-STDIO-11: MCP 2026-07-28 basic/patterns/subscriptions: it remembers nothing of the time before."""

    def modern(server: FakeServer) -> None:
        server._era = "modern"
        server._on = lambda m: [] if m.get("method") == "subscriptions/listen" else None

    fleet = Fleet({"a": modern})
    async with fleet as host:
        assert (await host.call("a.echo", {"text": "x"})).ok
        await until(lambda: "subscriptions/listen" in fleet.started["a"][0].methods())
        fleet.started["a"][0].end(Closed("exited with status 7", exit_code=7))
        await turns(20)
        assert (await host.call("a.echo", {"text": "y"})).ok
        await until(lambda: "subscriptions/listen" in fleet.started["a"][1].methods())


# --- tasks


@pytest.mark.requirement("R-TASKL-04", "R-TASKX-03")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_task_is_asked_after_as_often_as_its_server_wants(era: str, clock: LoopClock) -> None:
    """R-TASKL-04, R-TASKX-03: MCP 2025-11-25 basic/utilities/tasks#getting, SEP-2663: the interval may change from answer to answer."""
    intervals = iter([30_000, 5_000, 5_000])

    def state(status: str) -> Json:
        return {"taskId": "T", "status": status, "pollInterval" if era == "legacy" else "pollIntervalMs": next(intervals)}

    def on(message: Json) -> list[Json] | None:
        method = message.get("method")
        if method == "initialize" and era == "legacy":
            tasks: Json = {"requests": {"tools": {"call": {}}}}
            return [{"id": message["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": tasks}}}]
        if method == "server/discover" and era == "modern":
            capabilities: Json = {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
            return [{"id": message["id"], "result": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}}]
        if method == "tools/list":
            return [{"id": message["id"], "result": {"tools": [ECHO | {"execution": {"taskSupport": "required"}}]}}]
        if method == "tools/call":
            task = state("working")
            return [{"id": message["id"], "result": {"task": task} if era == "legacy" else {"resultType": "task", **task}}]
        if method == "tasks/get":
            return [{"id": message["id"], "result": state("working")}]
        return None

    server = FakeServer(on, era=era)
    async with client(server, tasks=True) as mine:
        await mine.list_tools()
        calling = asyncio.create_task(mine.call_tool("echo", timeout_s=1_000))
        await turns(20)
        asked = []
        for seconds in (29, 2, 4, 2):
            await clock.advance(seconds)
            await turns(20)
            asked.append(server.methods().count("tasks/get"))
        assert asked == [0, 1, 1, 2]
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling


@pytest.mark.requirement("R-TASKX-10")
async def test_rounds_before_a_task_have_keys_of_their_own() -> None:
    """R-TASKX-10: SEP-2663#composition: the same key is asked again by the task, and answered again."""
    done = {"resultType": "complete", "taskId": "T", "status": "completed", "result": words("done")}

    def on(message: Json) -> list[Json] | None:
        method, updated = message.get("method"), "tasks/update" in server.methods()
        if method == "tools/call" and "requestState" not in message["params"]:
            return [{"id": message["id"], "result": {"resultType": "input_required", "inputRequests": {"k": FORM}, "requestState": "s"}}]
        if method == "tools/call":
            return [{"id": message["id"], "result": {"resultType": "task", "taskId": "T", "status": "working", "pollIntervalMs": 20}}]
        if method == "tasks/get":
            wants = {
                "resultType": "complete",
                "taskId": "T",
                "status": "input_required",
                "inputRequests": {"k": FORM},
                "pollIntervalMs": 20,
            }
            return [{"id": message["id"], "result": done if updated else wants}]
        if method == "tasks/update":
            return [{"id": message["id"], "result": {"resultType": "complete"}}]
        if method == "server/discover":
            capabilities: Json = {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
            return [{"id": message["id"], "result": {"supportedVersions": ["2026-07-28"], "capabilities": capabilities}}]
        return None

    server = FakeServer(on, era="modern")
    asked: list[str] = []

    def answer(ask: Any) -> ElicitationAnswer:
        asked.append(ask.message)
        return ElicitationAnswer("decline")

    async with client(server, tasks=True, on_elicitation=answer) as mine:
        assert (await mine.call_tool("echo")).text == "done"
    assert len(asked) == 2
    assert params_of(server, "tools/call")[1]["inputResponses"] == {"k": {"action": "decline"}}
    assert params_of(server, "tasks/update") == [{"taskId": "T", "inputResponses": {"k": {"action": "decline"}}}]


# --- cancellation


@pytest.mark.requirement("R-CANCEL-08")
async def test_reason_for_which_a_server_cancels_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """R-CANCEL-08: MCP basic/utilities/cancellation: for whoever looks for the cause; cut and on one line."""
    caplog.set_level("INFO", logger="dragoman")
    asked = asyncio.Event()

    async def slow(question: Any) -> ElicitationAnswer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    server = FakeServer()
    async with client(server, on_elicitation=slow):
        server.say({"id": "q", **FORM})
        async with asyncio.timeout(20):
            await asked.wait()
        server.say({"method": "notifications/cancelled", "params": {"requestId": "q", "reason": "user\nwent home" + "x" * 500}})
        await turns(20)
    (line,) = [record.getMessage() for record in caplog.records if "no longer wants" in record.getMessage()]
    assert "an answer to 'q': 'user\\nwent home" in line
    assert len(line) < 200
