"""A server on `FastMCP` of the official SDK 1.x, up to 2025-11-25. Usage: fastmcp_1.py [stdio | http | http-json | sse].

It serves `tests/interop` only, from the environment with that SDK.
"""

from __future__ import annotations

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.types import Completion, SamplingMessage, TextContent
from pydantic import BaseModel

server = FastMCP("sdk-1-fastmcp", instructions="Ask for a table, not for the moon.")
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
    await ctx.log("warning", "a warning", logger_name="kitchen")
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


@server.tool()
async def book_table(day: str, ctx: Context) -> str:
    """Ask the user before booking."""
    booking = await ctx.elicit(f"How many guests on {day}?", Booking)
    if booking.action != "accept":
        return f"not booked: {booking.action}"
    return f"table for {booking.data.guests} on {day}, window {booking.data.window}"


@server.tool()
async def poem(topic: str, ctx: Context) -> str:
    """Let the client's model write."""
    ask = SamplingMessage(role="user", content=TextContent(type="text", text=f"A poem about {topic}"))
    sampled = await ctx.session.create_message([ask], max_tokens=50, related_request_id=ctx.request_id)
    return f"{sampled.model}: {sampled.content.text}"


@server.tool()
async def folders(ctx: Context) -> list[str]:
    """The client's roots."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    """Offer one more tool, and say so."""

    def extra() -> str:
        return f"I am {name}"

    server.add_tool(extra, name=name)
    await ctx.session.send_tool_list_changed()
    return "grown"


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
    return Completion(values=names, total=len(names), hasMore=False)


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio")
    else:
        from _http import serve

        server.settings.json_response = how == "http-json"
        if how == "sse":
            serve(server.sse_app(), "/sse")
        else:
            serve(server.streamable_http_app())
