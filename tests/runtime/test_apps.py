"""Tools with views: what is declared, reading a view, and what is not offered to a model."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import dragoman
from dragoman import View
from dragoman.errors import InvalidResult, LocalProtocolError
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.runtime.offers import offered
from dragoman.wire.apps import VIEW_TYPE
from dragoman.wire.listing import Tool
from tests.runtime.fakes import ECHO, FakeServer, Json, client

URI = "ui://clock/app.html"
UI = {"io.modelcontextprotocol/ui": {"mimeTypes": [VIEW_TYPE]}}


class Apps(FakeServer):
    """A server whose tool has a view."""

    def __init__(self, era: str, kind: str = VIEW_TYPE) -> None:
        super().__init__(self.turn, era=era)
        self.kind, self.modern = kind, era == "modern"
        self.asked: list[Json] = []

    def turn(self, message: Json) -> Iterable[Json] | None:
        self.asked.append(message)
        method, number = message.get("method"), message.get("id")
        more: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "initialize":
            capabilities: Json = {"tools": {}, "resources": {}}
            return [{"id": number, "result": {"protocolVersion": "2025-11-25", "capabilities": capabilities}}]
        if method == "server/discover" and self.modern:
            return [{"id": number, "result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}, "resources": {}}}}]
        if method == "tools/list":
            return [{"id": number, "result": {"tools": [ECHO | {"_meta": {"ui": {"resourceUri": URI}}}], **more}}]
        if method == "resources/read":
            contents = [{"uri": URI, "mimeType": self.kind, "text": "<p>", "_meta": {"ui": {"prefersBorder": True}}}]
            return [{"id": number, "result": {"contents": contents, **more}}]
        return None


def declared(server: Apps, era: str) -> Json:
    """Our capabilities, as the server saw them last."""
    if era == "legacy":
        (first,) = [message for message in server.asked if message.get("method") == "initialize"]
        capabilities: Json = first["params"]["capabilities"]
    else:
        capabilities = server.asked[-1]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    extensions: Json = capabilities.get("extensions", {})
    return extensions


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_views_are_declared_only_where_somebody_shows_them_and_read_all_the_same(era: str) -> None:
    """SEP-1865, capability negotiation and resource discovery."""
    for apps, tasks in ((False, False), (True, False), (True, True)):
        server = Apps(era)
        async with client(server, apps=apps, tasks=tasks) as one:
            (tool,) = await one.list_tools()
            assert tool.view_uri == URI
            assert await one.read_view(tool) == View(uri=URI, html="<p>", border=True)
        found = declared(server, era)
        assert {name: found[name] for name in found if name in UI} == (UI if apps else {})
        assert ("io.modelcontextprotocol/tasks" in found) is (tasks and era == "modern")


async def test_tool_without_a_view_and_page_that_is_none_are_told_apart() -> None:
    """Nothing is sent for the first; the second is the server's fault."""
    async with client(Apps("legacy", kind="text/html")) as one:
        (tool,) = await one.list_tools()
        with pytest.raises(InvalidResult, match=r"ui://clock/app\.html of fake is no view: its type is text/html"):
            await one.read_view(tool)
        with pytest.raises(LocalProtocolError, match="'plain' has no view"):
            await one.read_view(Tool(name="plain"))


def test_blocking_client_reads_views_too() -> None:
    """The same face."""
    with dragoman.blocking.Client(Apps("modern"), apps=True) as one:
        (tool,) = one.list_tools()
        assert one.read_view(tool).html == "<p>"


def test_tool_for_views_alone_is_not_offered_to_a_model() -> None:
    """SEP-1865, visibility: MUST NOT be in the agent's list. A person may still call it by its name."""
    registry = ToolRegistry()
    tools = [Tool(name="show", meta={"ui": {"resourceUri": URI}}), Tool(name="refresh", meta={"ui": {"visibility": ["app"]}})]
    registry.set_server("clock", tools, Rules("clock", {"*": ToolRule("L0")}))
    assert [(tool.name, tool.view_uri) for tool in offered(registry)] == [("show", URI)]
    assert list(registry.model_names()) == ["clock__show"]
    assert registry.nearest("tool", "clock", "refresh_") == []
    assert [entry.name for entry in registry.all()] == ["show", "refresh"]
    assert registry.find("tool", "clock", "refresh") is not None
