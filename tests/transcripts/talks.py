"""The six recorded conversations: what is said in each. ``python -m tests.transcripts.talks --write`` records them anew."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from dragoman import Client
from dragoman.config.redactor import Redactor
from dragoman.runtime.asking import Elicitation, ElicitationAnswer
from dragoman.runtime.eras import RememberedEras
from dragoman.transports.environment import child_environment
from dragoman.transports.record import RecordingTransport
from dragoman.transports.record_http import HttpRecorder
from dragoman.transports.stdio import StdioTransport
from dragoman.transports.transcript import TranscriptWriter

FOLDER = Path(__file__).parent
Step = Callable[[Client], Awaitable[Any]]


class Talk(NamedTuple):
    """One conversation.

    Attributes:
        server: A demo server.
        http: It listens at a URL.
        revision: The only one that is spoken, so that nothing is probed; ``None`` finds out.
        steps: What the client does, one after the other.
    """

    server: str
    http: bool
    revision: str | None
    steps: tuple[Step, ...]


async def count(client: Client) -> Any:
    return await client.call_tool("count", {"to": 2}, on_progress=lambda progress: None)


async def grow(client: Client) -> Any:
    return await client.call_tool("grow_tool", {})


async def unknown_tool(client: Client) -> Any:
    return await client.call_tool("there_is_no_such_tool", {})


async def second_page(client: Client) -> Any:
    return await client.request("tools/list", {"cursor": "after-13"})


async def captain(client: Client) -> Any:
    return await client.call_tool("ask_captain", {})


async def haggle(client: Client) -> Any:
    return await client.call_tool("haggle", {"ware": "lamp"})


async def price(client: Client) -> Any:
    return await client.call_tool("price", {"ware": "lamp"})


async def read_nothing(client: Client) -> Any:
    return await client.read_resource("harbour://ship/none", cache=False)


async def note(client: Client) -> Any:
    return await client.call_tool("add_note", {"text": "größe \u2028 \U0001f600"})


async def broken_arguments(client: Client) -> Any:
    return await client.call_tool("add_note", {})


async def listen(client: Client) -> Any:
    async with client.listen(tools=True):
        return await grow(client)


TALKS = {
    "legacy-stdio": Talk("legacy", False, None, (count, unknown_tool, captain, grow)),
    "legacy-http-json": Talk("legacy", True, "2025-06-18", (note, broken_arguments, read_nothing)),
    "legacy-http-events": Talk("legacy", True, "2025-11-25", (count, captain, grow)),
    "modern-stdio": Talk("modern", False, None, (second_page, haggle, unknown_tool)),
    "modern-http-json": Talk("modern", True, None, (price, unknown_tool, haggle)),
    "modern-http-events": Talk("modern", True, None, (count, listen)),
}


def answer(ask: Elicitation) -> ElicitationAnswer:
    """What the person says, who is always the same."""
    values = {"name": "Ada", "dinar": 9, "agree": True}
    schema = ask.schema or {}
    return ElicitationAnswer("accept", {name: values[name] for name in schema.get("properties", {})})


def client(talk: Talk, target: Any, **options: Any) -> Client:
    """The client of a conversation; it remembers nothing of others."""
    return Client(
        target,
        **{"eras": RememberedEras(), "revision": talk.revision, "on_elicitation": answer, "name": "talks", "version": "1", **options},
    )


async def converse(talk: Talk, mine: Client) -> list[str]:
    """The whole conversation: what came of each step, in words."""
    said = []
    async with mine:
        for step in talk.steps:
            try:
                result = await step(mine)
                said.append(result.text if hasattr(result, "text") else " ".join(tool["name"] for tool in result["tools"]))
            except Exception as exc:
                said.append(f"{type(exc).__name__}: {exc}")
    return said


# --- recording ----------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def at_a_url(command: list[str]) -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(*command, "--http", "0", stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", (await process.stderr.readline()).decode())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        await process.wait()


async def record(name: str, path: Path) -> list[str]:
    """Hold a conversation with the real server and write it down."""
    talk = TALKS[name]
    command = [sys.executable, "-m", f"dragoman.demo.{talk.server}"]
    shown = {"kind": "http", "url": "http://127.0.0.1/mcp"} if talk.http else {"kind": "stdio", "command": ["python3", *command[1:]]}
    writer = TranscriptWriter.create(path, shown, Redactor().redact_text)
    try:
        if not talk.http:
            inner = StdioTransport(command, env=child_environment())
            return await converse(talk, client(talk, RecordingTransport(inner, writer)))
        async with at_a_url(command) as url, HttpRecorder(url, writer) as proxy:
            return await converse(talk, client(talk, proxy.url))
    finally:
        writer.close()


def main() -> None:
    """Record all six anew."""
    for name in TALKS:
        path = FOLDER / f"{name}.jsonl"
        path.unlink(missing_ok=True)
        said = asyncio.run(record(name, path))
        path.chmod(0o644)
        print(f"{name}: {path.stat().st_size} bytes: {said}")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m tests.transcripts.talks --write")
    main()
