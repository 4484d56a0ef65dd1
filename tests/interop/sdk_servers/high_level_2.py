"""A server on `MCPServer` of the official SDK 2.x, both eras. Usage: high_level_2.py [stdio | http | http-json | http-sse | sse].

It serves `tests/interop` only, from the environment with that SDK.
"""

from __future__ import annotations

import sys
import warnings
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Completion, CreateMessageResult, ListRootsResult, SamplingMessage, TextContent
from pydantic import BaseModel

warnings.simplefilter("ignore")  # logging, roots and sampling are deprecated, and offered here all the same
server = MCPServer("sdk-2-high-level", version="1.0", instructions="Ask for a table, not for the moon.")
endings: list[str] = []


class Weather(BaseModel):
    city: str
    celsius: float


class Booking(BaseModel):
    guests: int
    window: bool = False


@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool()
def weather(city: str) -> Weather:
    """The weather, as an object with a schema."""
    return Weather(city=city, celsius=21.5)


@server.tool()
def fail(why: str) -> str:
    """Fail as tools do."""
    raise ToolError(f"cannot: {why}")


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Report progress at every step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool()
async def chatter(ctx: Context) -> str:
    """Say one line at two levels."""
    await ctx.debug("a detail")
    await ctx.warning("a warning", logger_name="kitchen")
    return "said"


@server.tool()
async def wait(ctx: Context) -> str:
    """Wait until cancelled, and remember how it ended."""
    await ctx.report_progress(1)  # so that the caller knows it runs
    try:
        await anyio.sleep(50)
    except anyio.get_cancelled_exc_class():
        endings.append("cancelled")
        raise
    return "slept"


@server.tool()
def how_it_ended() -> list[str]:
    """How each `wait` ended so far."""
    return endings


def ask_booking(day: str) -> Elicit[Booking]:
    return Elicit(f"How many guests on {day}?", Booking)


@server.tool()
async def book_table(day: str, booking: Annotated[ElicitationResult[Booking], Resolve(ask_booking)]) -> str:
    """Ask the user before booking."""
    if booking.action != "accept":
        return f"not booked: {booking.action}"
    return f"table for {booking.data.guests} on {day}, window {booking.data.window}"


def ask_model(topic: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=f"A poem about {topic}"))], max_tokens=50)


@server.tool()
async def poem(topic: str, sampled: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Let the client's model write."""
    return f"{sampled.model}: {sampled.content.text}"


def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def folders(roots: Annotated[ListRootsResult, Resolve(ask_roots)]) -> list[str]:
    """The client's roots."""
    return [str(root.uri) for root in roots.roots]


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Offer one more tool, and say so to clients of either era."""

    def extra() -> str:
        return f"I am {name}"

    server.add_tool(extra, name=name)
    await ctx.notify_tools_changed()
    if ctx.protocol_version < "2026":
        await ctx.session.send_tool_list_changed()
    return "grown"


@server.tool()
async def season(ctx: Context) -> str:
    """Say that the menu changed, to those who listen."""
    await ctx.notify_resource_updated("menu://today")
    return "seasoned"


@server.resource("menu://today", mime_type="text/plain")
def menu() -> str:
    return "Lentils, 豆腐, crème brûlée"


@server.resource("dish://{name}")
def dish(name: str) -> bytes:
    return name.encode()


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name} warmly."


@server.completion()
async def complete(ref: object, argument: object, context: object) -> Completion:
    names = [name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)]
    return Completion(values=names, total=len(names), has_more=False)


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio")
    else:
        from _http import serve

        if how == "sse":
            serve(server.sse_app(), "/sse")
        else:
            serve(server.streamable_http_app(json_response=how == "http-json", stateless_http=how != "http"))
