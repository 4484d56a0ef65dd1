"""A server on the low-level `Server` of the official SDK 2.x, both eras: pages, own schemas, rounds with a state of its own.

It serves `tests/interop` only, from the environment with that SDK.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

OBJECT = {"type": "object"}
MENU = "menu://today"
subscribed: set[str] = set()
bus = InMemorySubscriptionBus()
TOOLS = {
    "measure": types.Tool(
        name="measure",
        description="Counts characters.",
        input_schema={**OBJECT, "properties": {"text": {"type": "string"}}, "required": ["text"]},
        output_schema={**OBJECT, "properties": {"length": {"type": "integer"}}, "required": ["length"]},
    ),
    "two_questions": types.Tool(name="two_questions", description="Asks twice, in two rounds.", input_schema=OBJECT),
    "announce": types.Tool(name="announce", description="Says that the tools changed.", input_schema=OBJECT),
    "refuse": types.Tool(name="refuse", description="Answers with a JSON-RPC error.", input_schema=OBJECT),
    "season": types.Tool(name="season", description="Says that the menu changed.", input_schema=OBJECT),
}


async def list_tools(ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Two pages: the cursor is the index of the next tool."""
    start = int(params.cursor) if params and params.cursor else 0
    names = list(TOOLS)
    following = str(start + 2) if start + 2 < len(names) else None
    return types.ListToolsResult(tools=[TOOLS[name] for name in names[start : start + 2]], next_cursor=following)


def text(value: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)], **more)


def question(member: str) -> types.ElicitRequest:
    schema = {**OBJECT, "properties": {member: {"type": "string"}}, "required": [member]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=f"Your {member}?", requested_schema=schema))


async def two_questions(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """First a name, then a colour; what was answered travels in the opaque state."""
    if ctx.protocol_version < "2026":
        given = {}
        for member in ("name", "colour"):
            asked = question(member).params
            answer = await ctx.session.elicit_form(asked.message, asked.requested_schema, related_request_id=ctx.request_id)
            given |= answer.content or {}
        return text(f"{given['name']} likes {given['colour']}")
    given = json.loads(params.request_state) if params.request_state else {}
    for answer in (params.input_responses or {}).values():
        given |= answer.content or {}
    for member in ("name", "colour"):
        if member not in given:
            return types.InputRequiredResult(input_requests={f"ask-{member}": question(member)}, request_state=json.dumps(given))
    return text(f"{given['name']} likes {given['colour']}")


async def call_tool(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    arguments = params.arguments or {}
    match params.name:
        case "measure":
            length = len(arguments["text"])
            return text(str(length), structured_content={"length": length})
        case "two_questions":
            return await two_questions(ctx, params)
        case "announce":
            await bus.publish(ToolsListChanged())
            if ctx.protocol_version < "2026":
                await ctx.session.send_tool_list_changed()
            return text("announced")
        case "season":
            await bus.publish(ResourceUpdated(MENU))
            if MENU in subscribed:
                await ctx.session.send_resource_updated(MENU)
            return text("seasoned")
        case "refuse":
            raise MCPError(-32050, "not today", {"until": "tomorrow"})
    raise MCPError(types.INVALID_PARAMS, f"no tool {params.name}")


async def list_resources(ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[types.Resource(uri=MENU, name="menu")])


async def subscribe(ctx: ServerRequestContext[Any], params: types.SubscribeRequestParams) -> types.EmptyResult:
    subscribed.add(str(params.uri))
    return types.EmptyResult()


async def unsubscribe(ctx: ServerRequestContext[Any], params: types.UnsubscribeRequestParams) -> types.EmptyResult:
    subscribed.discard(str(params.uri))
    return types.EmptyResult()


server = Server(
    "sdk-2-low-level",
    version="2.0",
    on_list_tools=list_tools,
    on_call_tool=call_tool,
    on_list_resources=list_resources,
    on_subscribe_resource=subscribe,
    on_unsubscribe_resource=unsubscribe,
    on_subscriptions_listen=ListenHandler(bus),
)


async def main() -> None:
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options(NotificationOptions(tools_changed=True))
        await server.run(reading, writing, options)


if __name__ == "__main__":
    anyio.run(main)
