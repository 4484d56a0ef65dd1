"""A server on the `fastmcp` package 4.x, both eras. Usage: fastmcp_4.py [stdio | http | http-json | sse].

It serves `tests/interop` only, from the environment with that package. It cannot tell changes on `subscriptions/listen`.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import anyio
import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp_types import Completion, InputRequiredResult, SamplingMessage, TextContent
from pydantic import BaseModel

warnings.simplefilter("ignore")  # logging, roots and sampling are deprecated, and offered here all the same
server = FastMCP("fastmcp-4", version="1.0", instructions="Ask for a table, not for the moon.")
endings: list[str] = []


class Weather(BaseModel):
    city: str
    celsius: float


class Booking(BaseModel):
    guests: int
    window: bool = False


def is_modern(ctx: Context) -> bool:
    return bool(ctx.request_context.protocol_version >= "2026")


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool
def weather(city: str) -> Weather:
    """The weather, as an object with a schema."""
    return Weather(city=city, celsius=21.5)


@server.tool
def fail(why: str) -> str:
    """Fail as tools do."""
    raise ToolError(f"cannot: {why}")


@server.tool
async def count(steps: int, ctx: Context) -> str:
    """Report progress at every step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps, f"step {step}")
    return f"counted to {steps}"


@server.tool
async def chatter(ctx: Context) -> str:
    """Say one line at two levels."""
    await ctx.debug("a detail")
    await ctx.warning("a warning", logger_name="kitchen")
    return "said"


@server.tool
async def wait(ctx: Context) -> str:
    """Wait until cancelled, and remember how it ended."""
    await ctx.report_progress(1)  # so that the caller knows it runs
    try:
        await anyio.sleep(50)
    except anyio.get_cancelled_exc_class():
        endings.append("cancelled")
        raise
    return "slept"


@server.tool
def how_it_ended() -> list[str]:
    """How each `wait` ended so far."""
    return endings


@server.tool(output_schema=None)
async def book_table(day: str, ctx: Context) -> Any:
    """Ask the user before booking."""
    message = f"How many guests on {day}?"
    if not is_modern(ctx):
        asked = await ctx.elicit(message, Booking)
        return booked(day, asked.action, asked.data if asked.action == "accept" else None)
    answer = (ctx.input_responses or {}).get("booking")
    if answer is None:
        form = types.ElicitRequestFormParams(message=message, requested_schema=Booking.model_json_schema())
        return InputRequiredResult(input_requests={"booking": types.ElicitRequest(params=form)})
    return booked(day, answer.action, Booking.model_validate(answer.content) if answer.action == "accept" else None)


def booked(day: str, action: str, booking: Booking | None) -> str:
    if booking is None:
        return f"not booked: {action}"
    return f"table for {booking.guests} on {day}, window {booking.window}"


@server.tool(output_schema=None)
async def poem(topic: str, ctx: Context) -> Any:
    """Let the client's model write."""
    ask = SamplingMessage(role="user", content=TextContent(type="text", text=f"A poem about {topic}"))
    if not is_modern(ctx):
        sampled = await ctx.session.create_message([ask], max_tokens=50, related_request_id=ctx.request_id)
    else:
        sampled = (ctx.input_responses or {}).get("poem")
    if sampled is None:
        params = types.CreateMessageRequestParams(messages=[ask], max_tokens=50)
        return InputRequiredResult(input_requests={"poem": types.CreateMessageRequest(params=params)})
    return f"{sampled.model}: {sampled.content.text}"


@server.tool(output_schema={"type": "object", "properties": {"result": {"type": "array"}}, "x-fastmcp-wrap-result": True})
async def folders(ctx: Context) -> Any:
    """The client's roots."""
    shown = (ctx.input_responses or {}).get("roots") if is_modern(ctx) else await ctx.session.list_roots()
    if shown is None:
        return InputRequiredResult(input_requests={"roots": types.ListRootsRequest()})
    return [str(root.uri) for root in shown.roots]


@server.tool
async def grow(name: str, ctx: Context) -> str:
    """Offer one more tool, and say so where it can."""

    def extra() -> str:
        return f"I am {name}"

    server.tool(extra, name=name)
    if not is_modern(ctx):
        await ctx.send_notification(types.ToolListChangedNotification())
    return "grown"


@server.resource("menu://today", mime_type="text/plain")
def menu() -> str:
    return "Lentils, 豆腐, crème brûlée"


@server.resource("dish://{name}")
def dish(name: str) -> bytes:
    return name.encode()


@server.prompt
def greet(name: str) -> str:
    """A greeting."""
    return f"Greet {name} warmly."


@server.completion
def complete(ref: object, argument: Any, context: object) -> Completion:
    names = [name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)]
    return Completion(values=names, total=len(names), has_more=False)


if __name__ == "__main__":
    how = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if how == "stdio":
        server.run("stdio", show_banner=False)
    else:
        from _http import serve

        if how == "sse":
            serve(server.http_app(path="/sse", transport="sse"), "/sse")
        else:
            serve(server.http_app(path="/mcp", json_response=how == "http-json"))
