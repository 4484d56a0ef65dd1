"""server-memory and server-sequential-thinking (npm), and a start through npx itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import Client
from tests.interop import envs


async def test_memory_keeps_its_graph_between_two_connections(tmp_path: Path) -> None:
    """The file that the server is told of by `env` outlives it; its resource is the same graph."""
    store = tmp_path / "memory.jsonl"
    command = envs.npm_server("server-memory")
    ada = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    async with Client(command, env={"MEMORY_FILE_PATH": str(store)}, timeout_s=20) as client:
        assert len(await client.list_tools()) == 9
        made = await client.call_tool("create_entities", {"entities": [ada, {**ada, "name": "Charles"}]})
        assert made.structured["entities"][0] == ada
        await client.call_tool("create_relations", {"relations": [{"from": "Ada", "to": "Charles", "relationType": "knows"}]})
    assert store.exists()
    async with Client(command, env={"MEMORY_FILE_PATH": str(store)}, timeout_s=20) as client:
        graph = (await client.call_tool("read_graph")).structured
        assert [entity["name"] for entity in graph["entities"]] == ["Ada", "Charles"]
        assert graph["relations"] == [{"from": "Ada", "to": "Charles", "relationType": "knows"}]
        found = (await client.call_tool("search_nodes", {"query": "Charles"})).structured
        assert [entity["name"] for entity in found["entities"]] == ["Charles"]
        (resource,) = await client.list_resources()
        assert json.loads((await client.read_resource(resource.uri)).text) == graph


async def test_sequential_thinking_counts_its_thoughts() -> None:
    """A server with state in its process and one tool with nine arguments."""
    async with Client(envs.npm_server("server-sequential-thinking"), timeout_s=20) as client:
        (tool,) = await client.list_tools()
        assert tool.name == "sequentialthinking"
        thought = {"thought": "one", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
        await client.call_tool("sequentialthinking", thought)
        second = await client.call_tool("sequentialthinking", {**thought, "thoughtNumber": 2, "nextThoughtNeeded": False})
        assert second.structured["thoughtHistoryLength"] == 2
        assert second.structured["nextThoughtNeeded"] is False


@pytest.mark.timeout(120)
async def test_npx_starts_a_server_as_people_do(tmp_path: Path) -> None:
    """In the folder of the pinned install npx finds the package there and asks no registry."""
    env = {"PATH": envs.node_env()["PATH"], "npm_config_cache": str(tmp_path / "npm")}
    command = [str(envs.npx()), "-y", "@modelcontextprotocol/server-everything@2026.8.31"]
    async with Client(command, env=env, cwd=envs.NODE_MODULES.parent, timeout_s=30, connect_timeout_s=90) as client:
        assert client.server.name == "mcp-servers/everything"
        assert client.server.era == "legacy"
        assert len(await client.list_tools()) == 13
        assert (await client.call_tool("echo", {"message": "hi"})).text == "Echo: hi"
