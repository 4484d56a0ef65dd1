"""Views of tools from a server on the official SDK 2.3, which has the apps extension, in both eras."""

from __future__ import annotations

import pytest

from dragoman import Client, Host, View
from tests.interop import envs

PAGE = View(uri="ui://clock/app.html", html="<!DOCTYPE html><title>clock</title>", connect=("https://time.example",))


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
async def test_view_is_read_and_the_server_sees_whether_anybody_shows_it(revision: str) -> None:
    """SEP-1865; a tool has its text either way."""
    for apps, said in ((True, "12:00"), (False, "It is twelve o'clock.")):
        async with Client(envs.sdk_server("apps_2"), revision=revision, apps=apps, timeout_s=20) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            assert [(tool.view_uri, tool.for_models) for tool in tools.values()] == [(PAGE.uri, True), (PAGE.uri, False)]
            assert await client.read_view(tools["clock"]) == PAGE
            assert (await client.call_tool("clock")).text == said
            assert client.violations == {}


async def test_tool_for_the_view_alone_is_not_offered_by_a_host(host: Host) -> None:
    """SEP-1865, visibility."""
    await host.add("clock", command=envs.sdk_server("apps_2"), tools={"*": "L0"}, timeout_s=20)
    assert [tool.full_name for tool in await host.tools()] == ["clock.clock"]
