"""Tasks of 2025-11-25 on the low-level server of the official SDK 1.x. Usage: tasks_1.py [stdio | http | sse].

It serves `tests/interop` only, from the environment with that SDK.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from typing import Any

import anyio
from mcp.server.experimental.task_context import ServerTaskContext
from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CallToolResult, CreateTaskResult, TextContent, Tool, ToolExecution
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

server: Server[Any, Any] = Server("sdk-1-tasks")
server.experimental.enable_tasks()
NAMES = ("bake", "burn", "ask", "wait")
FORM = {"type": "object", "properties": {"guests": {"type": "integer"}}, "required": ["guests"]}


def said(text: str, *, failed: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], isError=failed)


@server.list_tools()
async def tools() -> list[Tool]:
    return [Tool(name=name, inputSchema={"type": "object"}, execution=ToolExecution(taskSupport="required")) for name in NAMES]


@server.call_tool()
async def call(name: str, arguments: dict[str, Any]) -> CreateTaskResult:
    async def work(task: ServerTaskContext) -> CallToolResult:
        if name == "ask":
            answer = await task.elicit("How many guests?", FORM)
            return said(f"{answer.action}: {(answer.content or {}).get('guests')}")
        if name == "wait":
            await anyio.sleep(50)
        await task.update_status("in the oven")
        return said("burnt", failed=True) if name == "burn" else said("baked")

    return await server.request_context.experimental.run_task(work)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["stdio"]):
        anyio.run(over_stdio)
    elif sys.argv[1] == "sse":
        from _http import serve

        channel = SseServerTransport("/messages/")

        async def stream(request: Request) -> Response:
            async with channel.connect_sse(request.scope, request.receive, request._send) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            return Response()

        serve(Starlette(routes=[Route("/sse", stream), Mount("/messages/", app=channel.handle_post_message)]), "/sse")
    else:
        from _http import serve

        manager = StreamableHTTPSessionManager(server)

        @contextlib.asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with manager.run():
                yield

        serve(Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan), "/mcp/")
