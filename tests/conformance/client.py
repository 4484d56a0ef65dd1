"""What the official conformance suite starts as the client under test: its last argument is the URL of a mock server.

Uses the installed package and its public interface only. What to do for a scenario comes from the environment:
``MCP_CONFORMANCE_SCENARIO`` names it, ``MCP_CONFORMANCE_PROTOCOL_VERSION`` the revision the mock speaks.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable

import dragoman

Scenario = Callable[[dragoman.Client], Awaitable[None]]


async def initialize(client: dragoman.Client) -> None:
    """The handshake is what is looked at."""
    assert client.server.era == "legacy"


async def tools_call(client: dragoman.Client) -> None:
    """Call the one tool there is with two numbers."""
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def every_tool(client: dragoman.Client) -> None:
    """Call what is listed; the server asks for something while it works, or ends the stream early."""
    for tool in await client.list_tools():
        await client.call_tool(tool.name, {})


async def list_only(client: dragoman.Client) -> None:
    """Look at tools whose schemas refer to somewhere else, and fetch nothing."""
    await client.list_tools()


async def echo_schema(client: dragoman.Client) -> None:
    """Send a schema back exactly as it was listed."""
    listed = {tool.name: tool for tool in await client.list_tools()}
    await client.call_tool("json_schema_echo", {"schema": listed["json_schema_2020_12_tool"].input_schema})


async def custom_headers(client: dragoman.Client) -> None:
    """Call what the suite says, with its arguments as they are."""
    await client.list_tools()
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def request_metadata(client: dragoman.Client) -> None:
    """Any requests will do; the handshake had its first one refused on purpose."""
    await client.request("tools/list", force=True)


async def standard_headers(client: dragoman.Client) -> None:
    """Everything that has a name in a header, on every name the server lists."""
    for tool in await client.list_tools():
        await client.call_tool(tool.name, {})
    for resource in await client.list_resources():
        await client.read_resource(resource.uri)
    for prompt in await client.list_prompts():
        await client.get_prompt(prompt.name)


async def request_state(client: dragoman.Client) -> None:
    """Tools that want something first, with and without a state to echo, and two that do not."""
    await client.list_tools()
    for name in ("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"):
        await client.call_tool(name, {})


async def list_skills(client: dragoman.Client) -> None:
    """Look at what there is, and fetch none of it."""
    assert await client.list_skills()


async def load_skills(client: dragoman.Client) -> None:
    """Load each skill and then its other files; one that is not what was listed ends that, and the program."""
    for skill in await client.list_skills():
        loaded = await client.load_skill(skill)
        for file in skill.resources:
            assert not isinstance(file, str)
            await loaded.read(file.uri)


SCENARIOS: dict[str, Scenario] = {
    "initialize": initialize,
    "tools_call": tools_call,
    "elicitation-sep1034-client-defaults": every_tool,
    "sse-retry": every_tool,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo_schema,
    "http-custom-headers": custom_headers,
    "http-invalid-tool-headers": every_tool,
    "request-metadata": request_metadata,
    "http-standard-headers": standard_headers,
    "sep-2322-client-request-state": request_state,
    "sep-2640-client-no-prefetch": list_skills,
    "sep-2640-client-verify-digest": load_skills,
    "sep-2640-client-verify-size": load_skills,
    "sep-2640-client-verify-frontmatter": load_skills,
}


async def accept(asked: dragoman.Elicitation) -> dragoman.ElicitationAnswer:
    """Play the person who says yes, and leaves everything else as it was filled in."""
    confirms = "confirmed" in (asked.schema or {}).get("properties", {})
    return dragoman.ElicitationAnswer("accept", {"confirmed": True} if confirms else {})


async def main(url: str, scenario: str) -> None:
    """Connect to the mock and act out a scenario."""
    run = SCENARIOS.get(scenario)
    if run is None:
        raise SystemExit(f"scenario {scenario!r} is not covered; known are {', '.join(SCENARIOS)}")
    async with dragoman.Client(url, name="dragoman-conformance", on_elicitation=accept, roots=[]) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1], os.environ["MCP_CONFORMANCE_SCENARIO"]))
