"""What a type checker makes of the public interface; mypy reads this file, nobody runs it."""

from __future__ import annotations

from typing import Literal, assert_type

import dragoman
from dragoman import Client, Elicitation, ElicitationAnswer, Outcome, Progress, Prompt, PromptResult, ReadResult, Resource, Tool, ToolResult
from dragoman.blocking import Client as BlockingClient


def show(progress: Progress) -> None:
    assert_type(progress.progress, float)
    assert_type(progress.message, str | None)


async def ask(question: Elicitation) -> ElicitationAnswer:
    assert_type(question.message, str)
    return ElicitationAnswer("accept", {"name": "Ada"})


async def async_client() -> None:
    async with Client(["python3", "server.py"], env={"A": "b"}, cwd="/", name="my-agent", version="1", on_elicitation=ask) as client:
        assert_type(client.server.era, Literal["legacy", "modern"])
        assert_type(client.server.instructions, str | None)
        assert_type(await client.list_tools(), list[Tool])
        result = await client.call_tool("add", {"a": 1, "b": 2}, timeout_s=30, on_progress=show)
        assert_type(result, ToolResult)
        assert_type(result.text, str)
        assert_type(result.is_error, bool)
        assert_type(await client.list_resources(), list[Resource])
        assert_type(await client.read_resource("file:///a"), ReadResult)
        assert_type(await client.list_prompts(), list[Prompt])
        assert_type(await client.get_prompt("p", {"a": "b"}), PromptResult)
        await client.call_tool(5)  # type: ignore[arg-type]  # a name is a string
        await client.get_prompt("p", {"a": 5})  # type: ignore[dict-item]  # values of prompt arguments are strings
    Client("https://example.org/mcp", headers={"Authorization": "Bearer x"})
    Client(7)  # type: ignore[arg-type]  # neither a command, a URL nor a transport


async def async_host() -> None:
    async with dragoman.Host.from_config("dragoman.toml") as host:
        outcome = await host.call("files.read_text_file", {"path": "a.txt"})
        assert_type(outcome, Outcome)
        assert_type(outcome.ok, bool)
        assert_type(outcome.hint, str | None)
        assert_type(outcome.for_user(), str)
        assert_type(outcome.for_model(), str)


def blocking_client() -> None:
    with BlockingClient(["python3", "server.py"]) as client:
        assert_type(client.list_tools(), list[Tool])
        assert_type(client.call_tool("add", {"a": 1}), ToolResult)
