"""The typed face of one server, against the demo servers of both eras as real processes."""

from __future__ import annotations

import asyncio
import asyncio.events
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import dragoman
from dragoman import Client, Elicitation, ElicitationAnswer, Progress
from dragoman.errors import CallFailed, CallTimeout, ConnectionLost, InvalidResult, LocalProtocolError, ServerError, SpawnFailed
from dragoman.transports.memory import memory_pair
from tests.runtime.fakes import FakeServer, client, demo, odd, turns, until


@pytest.fixture(params=["legacy", "modern"])
def target(request: pytest.FixtureRequest) -> list[str]:
    return demo(request.param)


# --- everything a server offers


async def test_server_says_who_it_is(target: list[str]) -> None:
    async with client(target) as mine:
        server = mine.server
        assert (server.name, server.era) in [("harbour", "legacy"), ("bazaar", "modern")]
        assert server.revision == ("2025-11-25" if server.era == "legacy" else "2026-07-28")
        assert server.version
        assert "tools" in server.capabilities
        assert mine.is_open
        assert mine.violations == {}
    assert not mine.is_open


async def test_tools_of_all_pages_are_listed_and_called(target: list[str]) -> None:
    async with client(target) as mine:
        tools = await mine.list_tools()
        assert len(tools) > 8  # one page of the demo servers
        assert mine.problems == []
        result = await mine.call_tool("echo", {"text": "größe 读取"})
        assert (result.text, result.is_error, result.structured) == ("größe 读取", False, None)
        assert result.raw["content"] == [{"type": "text", "text": "größe 读取"}]
        wrong = await mine.call_tool("echo", {})
        assert wrong.is_error  # an outcome, not an exception
        with pytest.raises(ServerError, match="Unknown tool"):
            await mine.call_tool("no_such_tool")


async def test_blocks_that_are_not_text_leave_a_marker(target: list[str]) -> None:
    async with client(target) as mine:
        picture = await mine.call_tool("picture")
        assert picture.text.startswith("One red dot.\n[")
        assert "image/png" in picture.text


async def test_structured_result(target: list[str]) -> None:
    async with client(target) as mine:
        name, arguments = ("weather", {}) if mine.server.era == "legacy" else ("price", {"ware": "lamp"})
        result = await mine.call_tool(name, arguments)
        assert isinstance(result.structured, dict)
        assert result.has_structured


async def test_resources_prompts_and_completion(target: list[str]) -> None:
    async with client(target) as mine:
        resources = await mine.list_resources()
        read = await mine.read_resource(resources[0].uri)
        assert read.contents[0].uri == resources[0].uri
        (template, *_) = await mine.list_resource_templates()
        variable = template.uri_template.split("{")[1].rstrip("}")
        found = await mine.complete({"type": "ref/resource", "uri": template.uri_template}, variable, "")
        assert found.values
        (prompt, *_) = await mine.list_prompts()
        assert prompt.arguments
        filled = await mine.get_prompt(prompt.name, {prompt.arguments[0].name: "Petrel"})
        assert "Petrel" in filled.text
        with pytest.raises(ServerError) as caught:
            await mine.read_resource("nowhere://x")
        assert caught.value.code in (-32002, -32602)
        assert (await mine.complete({"type": "ref/prompt", "name": prompt.name}, "none", "zz", context={"b": "c"})).values == ()


async def test_progress_is_one_frozen_value(target: list[str]) -> None:
    seen: list[Progress] = []
    async with client(target) as mine:
        await mine.call_tool("count", {"to": 3}, on_progress=seen.append)
    assert seen == [Progress(1, 3, "1 of 3"), Progress(2, 3, "2 of 3"), Progress(3, 3, "3 of 3")]
    with pytest.raises(AttributeError):
        seen[0].progress = 5  # type: ignore[misc]  # the point


async def test_log_level_is_set_and_logs_arrive(target: list[str]) -> None:
    """A request in one era, `_meta` of each request in the other."""
    logs: list[dict[str, Any]] = []
    async with client(target, on_log=logs.append) as mine:
        await mine.call_tool("count", {"to": 1})
        assert logs == []
        await mine.set_log_level("info")
        await mine.call_tool("count", {"to": 1})
        await until(lambda: bool(logs))
    assert logs[0]["data"] == "counted to 1"


async def test_ping_works_in_both_eras(target: list[str]) -> None:
    async with client(target) as mine:
        await mine.ping()


async def test_legacy_subscription_tells_of_a_changed_resource() -> None:
    notices: list[str] = []
    async with client(demo("legacy"), on_notification=lambda method, params: notices.append(method)) as mine:
        await mine.subscribe("harbour://notes")
        await mine.call_tool("add_note", {"text": "one"})
        await until(lambda: "notifications/resources/updated" in notices)
        await mine.unsubscribe("harbour://notes")


async def test_what_the_stateless_era_removed_is_refused_with_what_to_use() -> None:
    async with client(demo("modern")) as mine:
        with pytest.raises(LocalProtocolError, match="does not exist in revision 2026-07-28"):
            await mine.subscribe("bazaar://basket")


async def test_person_haggles_in_both_eras(target: list[str]) -> None:
    """Requests of the server in one era, rounds in the other; the same handler."""
    asked: list[str] = []

    async def answer(ask: Elicitation) -> ElicitationAnswer:
        asked.append(ask.message)
        assert ask.schema is not None
        (name,) = ask.schema["properties"]
        return ElicitationAnswer("accept", {name: {"dinar": 9, "agree": True}.get(name, "Ada")})

    async with client(target, on_elicitation=answer) as mine:
        legacy = mine.server.era == "legacy"
        result = await mine.call_tool("ask_captain") if legacy else await mine.call_tool("haggle", {"ware": "lamp"})
        assert result.text == ("welcome, captain Ada" if legacy else "sold for 9 dinar")
        assert len(asked) == (1 if legacy else 2)


async def test_roots_and_sampling_are_answered_in_both_eras(target: list[str], tmp_path: Path) -> None:
    def sample(params: dict[str, Any]) -> dict[str, Any]:
        return {"role": "assistant", "model": "m", "content": {"type": "text", "text": params["messages"][0]["content"]["text"].upper()}}

    async with client(target, roots=[tmp_path], on_sampling=sample) as mine:
        assert (await mine.call_tool("show_roots")).text == tmp_path.as_uri()
        assert (await mine.call_tool("ask_model", {"question": "why"})).text == "m says: WHY"


async def test_any_request_and_any_notice(target: list[str]) -> None:
    async with client(target) as mine:
        assert "tools" in await mine.request("tools/list")
        with pytest.raises(LocalProtocolError, match="not a method"):
            await mine.request("harbour/secret")
        with pytest.raises(ServerError):
            await mine.request("harbour/secret", force=True)
        await mine.notify("notifications/whatever", {"a": 1})
        await mine.ping()


async def test_members_that_we_do_not_know_are_kept() -> None:
    result = {"content": [{"type": "text", "text": "x", "newMember": 1}], "_meta": {"a": 1}, "future": {"b": [2]}}
    server = FakeServer(lambda m: [{"id": m["id"], "result": result}] if m.get("method") == "tools/call" else None)
    async with client(server) as mine:
        assert (await mine.call_tool("echo")).raw == result


# --- opening, using and closing from anywhere


async def test_client_is_opened_in_one_task_used_in_three_and_closed_in_a_fourth(target: list[str]) -> None:
    """No cancel scope is tied to the task that opened."""
    mine = client(target)
    await asyncio.create_task(mine.open())
    uses = [asyncio.create_task(mine.call_tool("echo", {"text": str(n)})) for n in range(3)]
    assert [result.text for result in await asyncio.gather(*uses)] == ["0", "1", "2"]
    await asyncio.create_task(mine.close())
    await mine.close()


async def test_client_is_used_and_closed_from_the_event_loop_of_another_thread(target: list[str]) -> None:
    mine = client(target, on_elicitation=lambda ask: ElicitationAnswer("decline"))
    await mine.open()
    seen: list[Any] = []

    async def elsewhere() -> None:
        seen.append((await mine.call_tool("echo", {"text": "over there"})).text)
        seen.append(len(await mine.list_tools()))
        await mine.ping()
        await mine.notify("notifications/whatever")
        with pytest.raises(CallTimeout):
            await mine.call_tool("slow", {"seconds": 60}, timeout_s=0.05)
        await mine.close()

    await asyncio.to_thread(asyncio.run, elsewhere())
    assert seen[0] == "over there"
    assert not mine.is_open


async def test_cancelling_a_call_from_another_threads_loop_reaches_the_server() -> None:
    server = FakeServer(lambda m: [] if m.get("method") == "tools/call" else None)
    mine = await client(server).open()

    async def elsewhere() -> None:
        call = asyncio.create_task(mine.call_tool("slow"))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    await asyncio.to_thread(asyncio.run, elsewhere())
    await turns()
    assert server.methods()[-1] == "notifications/cancelled"
    await mine.close()


def test_call_after_the_loop_of_the_client_has_ended_is_lost_and_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing hangs."""
    mine = asyncio.run(client(FakeServerLater()).open())

    async def late() -> None:
        with pytest.raises(ConnectionLost, match="the event loop that the client was opened on is over") as caught:
            await mine.call_tool("echo")
        assert caught.value.maybe_ran == "no"
        await mine.close()

    asyncio.run(late())
    assert "not closed in good order" in caplog.text


class FakeServerLater(FakeServer):
    """Made outside of a loop."""


async def test_client_is_opened_once() -> None:
    mine = client(FakeServer())
    with pytest.raises(LocalProtocolError, match="is not connected"):
        await mine.call_tool("echo")
    with pytest.raises(LocalProtocolError, match="is not connected"):
        _ = mine.server
    async with mine:
        with pytest.raises(LocalProtocolError, match="opened before"):
            await mine.open()


async def test_a_call_after_closing_says_who_closed() -> None:
    """Our choice: not the last words of a server that did nothing wrong."""
    mine = client(FakeServer())
    async with mine:
        pass
    with pytest.raises(ConnectionLost, match="was closed here; nothing was sent") as caught:
        await mine.call_tool("echo", {"text": "x"})
    assert caught.value.maybe_ran == "no"
    assert "new one" in (caught.value.hint or "")


async def test_closing_before_opening_and_twice_is_fine() -> None:
    mine = client(FakeServer())
    await mine.close()
    await mine.close()
    with pytest.raises(LocalProtocolError):
        await mine.open()


async def test_client_over_a_transport_object() -> None:
    ours, theirs = memory_pair()
    server = FakeServer()
    await theirs.open(lambda report: None)
    mine = client(ours, connect_timeout_s=0.05)
    with pytest.raises(dragoman.ConnectFailed):
        await mine.open()
    async with client(server) as other:
        assert other.label == "fake"


# --- what is refused before anything starts


@pytest.mark.parametrize(
    ("target", "hint"),
    [("python3 server.py", "['python3', 'server.py']"), ("", "['python3', 'server.py']"), ([], "pass at least the program")],
)
def test_target_that_is_neither_a_list_nor_a_url_is_refused_with_what_to_write(target: Any, hint: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        Client(target)
    assert caught.value.hint is not None
    assert hint in caught.value.hint


@pytest.mark.parametrize("options", [{"timeout_s": 0}, {"timeout_s": -1}, {"connect_timeout_s": 0}, {"timeout_s": float("nan")}])
def test_deadlines_must_be_positive(options: dict[str, float]) -> None:
    with pytest.raises(LocalProtocolError, match="positive"):
        Client(["x"], **options)  # type: ignore[arg-type]  # names come from the parameters


def test_every_request_has_a_finite_deadline_by_default() -> None:
    assert 0 < Client(["x"]).timeout_s < float("inf")


async def test_command_that_does_not_exist() -> None:
    with pytest.raises(SpawnFailed, match="no-such-program") as caught:
        await client(["no-such-program"]).open()
    assert caught.value.hint


async def test_result_that_cannot_be_read_is_an_invalid_result() -> None:
    results: list[Any] = [None, [], "done", 5]
    server = FakeServer(lambda m: [{"id": m["id"], "result": results.pop()}] if m.get("method") == "tools/call" else None)
    async with client(server) as mine:
        while results:
            with pytest.raises(InvalidResult) as caught:
                await mine.call_tool("echo")
            assert caught.value.maybe_ran == "yes"


# --- cost


@pytest.fixture
def counted_callbacks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many callbacks the loop has run."""
    count = [0]
    run = asyncio.events.Handle._run  # what each callback goes through

    def counting(self: asyncio.Handle) -> None:
        count[0] += 1
        run(self)

    monkeypatch.setattr(asyncio.events.Handle, "_run", counting)
    return count


async def test_call_costs_at_most_three_callbacks_of_the_event_loop(counted_callbacks: list[int]) -> None:
    """One for what arrives, one for the caller that wakes; `mcp` 2.3.0 has 12. No noise touches this figure."""
    async with client(odd("version_2024")) as mine:
        await mine.call_tool("echo", {"text": "warm"})
        before = counted_callbacks[0]
        for _ in range(100):
            await mine.call_tool("echo", {"text": "hi"})
        assert counted_callbacks[0] - before <= 300


# --- the end of the interpreter


@pytest.mark.parametrize("how", ["asyncio.run(main())", "dragoman.blocking.Client(COMMAND).open()"])
def test_interpreter_that_exits_without_closing_leaves_no_process_and_says_nothing(how: str, tmp_path: Path) -> None:
    """People press Ctrl-D."""
    program = tmp_path / "program.py"
    program.write_text(
        "import asyncio, sys\n"
        "import dragoman\n"
        f"COMMAND = {odd('stubborn')!r}\n"
        "kept = []\n"
        "async def main():\n"
        "    client = await dragoman.Client(COMMAND).open()\n"
        "    kept.append(client)\n"
        f"kept.append({how})\n"
        "client = [one for one in kept if one][0]\n"
        "inner = getattr(client, '_client', client)\n"
        "print(inner._session.driver.transport.pid)\n"
    )
    import subprocess

    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert not Path(f"/proc/{done.stdout.strip()}").exists()


async def test_thread_names_are_left_alone_and_no_thread_is_started(target: list[str]) -> None:
    """Also not one for each child, as asyncio's subprocess does in 3.11."""
    before = threading.active_count()
    async with client(target) as mine:
        await mine.call_tool("echo", {"text": "x"})
        assert threading.active_count() == before


async def test_crash_in_a_call_is_lost_with_status_and_last_words(target: list[str]) -> None:
    async with client(target) as mine:
        crash = "sink_ship" if mine.server.era == "legacy" else "burn_stall"
        with pytest.raises(ConnectionLost, match="exited with status 70; its last words on stderr: fatal: hull breached") as caught:
            await mine.call_tool(crash)
        assert caught.value.maybe_ran == "perhaps"
        with pytest.raises(CallFailed) as after:
            await mine.call_tool("echo", {"text": "x"})
        assert after.value.maybe_ran == "no"
