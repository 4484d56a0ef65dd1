"""What goes along with a request because its caller said so: a trace, a level of logging, what is known already."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import LocalProtocolError
from dragoman.runtime.tracing import meta_of
from tests.runtime.fakes import FakeServer, Json, client, turns

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHOLE = {"traceparent": PARENT, "tracestate": "vendor=1,other=2", "baggage": "user=ada"}
RESULTS: dict[str, Json] = {
    "resources/read": {"contents": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": ["Hamburg"], "total": 1, "hasMore": False}},
    "logging/setLevel": {},
}


def answering(message: Json) -> Iterable[Json] | None:
    result = RESULTS.get(message.get("method", ""))
    return None if result is None else [{"id": message["id"], "result": result}]


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_trace_goes_along_where_it_is_given_and_nowhere_else(era: str) -> None:
    """MCP 2026-07-28 basic/index#_meta: traceparent, tracestate and baggage stand without a prefix."""
    server = FakeServer(answering, era=era)
    async with client(server) as mine:
        await mine.call_tool("echo", trace=WHOLE, meta={"com.example/k": 1})
        meta = server.sent[-1]["params"]["_meta"]
        assert {key: meta[key] for key in WHOLE} == WHOLE
        assert meta["com.example/k"] == 1
        await mine.read_resource("a:b", trace=PARENT)
        assert server.sent[-1]["params"]["_meta"]["traceparent"] == PARENT
        await mine.get_prompt("p", trace=PARENT)
        assert server.sent[-1]["params"]["_meta"]["traceparent"] == PARENT
        await mine.call_tool("echo")
        assert "traceparent" not in str(server.sent[-1])


@pytest.mark.parametrize(
    "trace",
    [
        "",
        "x",
        PARENT.upper(),
        "ff" + PARENT[2:],
        PARENT.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
        PARENT.replace("b7ad6b7169203331", "0" * 16),
        {"tracestate": "a=1"},
        {"traceparent": PARENT, "tracestate": "a\nb"},
        {"traceparent": PARENT, "baggage": "ä"},
        {"traceparent": PARENT, "tracestate": 5},
        {"traceparent": PARENT, "progressToken": "x"},
    ],
)
async def test_what_is_no_trace_is_refused_before_anything_is_sent(trace: Any) -> None:
    """W3C Trace Context."""
    with pytest.raises(LocalProtocolError):
        meta_of(trace)
    server = FakeServer()
    async with client(server) as mine:
        server.sent.clear()
        with pytest.raises(LocalProtocolError):
            await mine.call_tool("echo", trace=trace)
        assert server.sent == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_completion_says_what_is_filled_in_already(era: str) -> None:
    """MCP 2025-06-18 on, server/utilities/completion: context.arguments."""
    server = FakeServer(answering, era=era)
    async with client(server) as mine:
        found = await mine.complete({"type": "ref/prompt", "name": "trip"}, "to", "Ham", context={"from": "Bremen"})
        assert (found.values, found.total, found.has_more) == (("Hamburg",), 1, False)
        params = {key: value for key, value in server.sent[-1]["params"].items() if key != "_meta"}
        assert params == {
            "ref": {"type": "ref/prompt", "name": "trip"},
            "argument": {"name": "to", "value": "Ham"},
            "context": {"arguments": {"from": "Bremen"}},
        }
        await mine.complete({"type": "ref/resource", "uri": "a:{x}"}, "x", "")
        assert "context" not in server.sent[-1]["params"]


async def test_level_of_logging_goes_along_with_every_request_in_the_stateless_era_only() -> None:
    """MCP 2026-07-28 server/utilities/logging."""
    key = "io.modelcontextprotocol/logLevel"
    server = FakeServer(answering, era="modern")
    async with client(server) as mine:
        await mine.call_tool("echo")
        assert key not in server.sent[-1]["params"]["_meta"]
        await mine.set_log_level("warning")
        assert "logging/setLevel" not in server.methods()
        await mine.call_tool("echo")
        assert server.sent[-1]["params"]["_meta"][key] == "warning"
        await mine.list_tools(cache=False)
        assert server.sent[-1]["params"]["_meta"][key] == "warning"
    legacy = FakeServer(answering)
    async with client(legacy) as mine:
        await mine.set_log_level("warning")
        assert legacy.sent[-1]["params"] == {"level": "warning"}
        await mine.call_tool("echo")
        assert key not in str(legacy.sent[-1])


@pytest.mark.parametrize(("era", "told"), [("legacy", 1), ("modern", 0)])
async def test_other_roots_are_shown_and_told_where_that_exists(era: str, told: int, tmp_path: Path) -> None:
    """MCP client/roots: the notice is gone in 2026-07-28."""
    server = FakeServer(era=era)
    async with client(server, roots=[]) as mine:
        hello = str(server.sent)
        assert ("listChanged" in hello) == (era == "legacy")
        await mine.set_roots([tmp_path])
        await turns()
        assert server.methods().count("notifications/roots/list_changed") == told
        if era == "legacy":
            server.say({"id": "r", "method": "roots/list"})
            await turns()
            assert server.sent[-1]["result"] == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}


async def test_roots_that_were_not_declared_cannot_be_set() -> None:
    async with client(FakeServer()) as mine:
        with pytest.raises(LocalProtocolError, match="were not declared"):
            await mine.set_roots(["/"])
