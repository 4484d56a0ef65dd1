"""Calls, tools and a chain for the tests of policy."""

from __future__ import annotations

from typing import Any

from dragoman.clock import FakeClock
from dragoman.policy.chain import Call, Outcome, Result
from dragoman.policy.ports import Approver, Redact
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.policy.stack import Stack, build
from dragoman.testing.layers import Inside, ListSink
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier

NUMBERS: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "description": "the second one"}},
    "required": ["a"],
}


def tool(name: str = "add", schema: dict[str, Any] | bool = NUMBERS, output: dict[str, Any] | bool | None = None) -> Tool:
    return Tool(name=name, input_schema=schema, output_schema=output)


def call_of(definition: Tool | None, arguments: dict[str, Any], *, tier: Tier | None = "L0", **more: Any) -> Call:
    """A call as it looks after *resolve*."""
    name = definition.name if definition is not None else "add"
    return Call(id=more.pop("id", "c1"), server="math", name=name, definition=definition, tier=tier, arguments=arguments, **more)


class Chain:
    """A whole chain over one server ``math``, with everything that tests look at."""

    def __init__(
        self,
        *tools: Tool,
        tiers: dict[str, Tier] | None = None,
        approver: Approver | None = None,
        answer: Result | BaseException | None = None,
        redact: Redact | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        self.sink, self.inside, self.clock = ListSink(), Inside(answer), FakeClock()
        self.registry = ToolRegistry()
        rules = Rules("math", {name: ToolRule(tier) for name, tier in (tiers or {"*": "L0"}).items()})
        self.registry.set_server("math", tools or (tool(),), rules)
        self.stack: Stack = build(
            sink=self.sink,
            registry=self.registry,
            approver=approver,
            endpoint=self.inside,
            clock=self.clock,
            redact=redact,
            approval_timeout_s=timeout_s,
        )

    async def run(self, name: str, arguments: dict[str, Any] | None = None, **more: Any) -> Outcome:
        return await self.stack.run(Call(id=more.pop("id", "c1"), name=name, arguments=arguments or {}, **more))
