"""Turns the name that was written into a server, a tool as pinned, and its tier; refuses what may not be used at all."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.errors import NotAllowed, ToolChanged, UnknownTool
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.flights import Flights
from dragoman.policy.names import some
from dragoman.policy.ports import Registry, Resolved
from dragoman.wire.escape import escape_inline

#: Where the caller looks at progress and nobody set a maximum, progress may move the deadline to this many times as far.
PATIENCE: Final = 10


class Resolve:
    """Looks names up in a register. Calls on servers without a configuration get their definition and no tier."""

    name = "resolve"

    def __init__(self, registry: Registry, flights: Flights) -> None:
        self._registry, self._flights = registry, flights

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        self._refuse_what_is_no_text(call)
        if call.adhoc and (call.kind != "tool" or call.definition is not None):
            return await call_next(call)
        found = self._registry.find(call.kind, call.server, call.name)
        if found is None and await self._registry.load(call.server, call.name):
            found = self._registry.find(call.kind, call.server, call.name)
        if found is None or found.tier == "off":
            raise self._unknown(call)
        if found.raises:
            found = found.called_with(call.arguments)
        flight = self._flights.of(call)
        if call.adhoc:
            flight.call = msgspec.structs.replace(call, definition=found.definition)
            return await call_next(flight.call)
        timeout_s, most_s = _deadline(call, found)
        resolved = msgspec.structs.replace(
            call,
            server=found.server,
            name=found.name,
            definition=found.definition,
            tier=found.tier,
            rule=found.rule,
            timeout_s=timeout_s,
            max_timeout_s=most_s,
            max_bytes=found.max_bytes,
        )
        flight.call, flight.found = resolved, found
        refuse_withheld(found)
        return await call_next(resolved)

    def _refuse_what_is_no_text(self, call: Call) -> None:
        server: object = call.server
        name: object = call.name  # programs without types hand in anything
        if isinstance(name, str) and isinstance(server, str):
            return
        wrong = type(server if isinstance(name, str) else name).__name__
        # Whoever shows the outcome may count on text.
        text = [one if isinstance(one, str) else f"<{type(one).__name__}>" for one in (server, name)]
        self._flights.of(call).call = msgspec.structs.replace(call, server=text[0], name=text[1])
        raise UnknownTool(f"a name is text, got a {wrong}", layer=self.name, hint=f"write a {call.kind} as server.{call.kind}")

    def _unknown(self, call: Call) -> UnknownTool:
        what = {"tool": "tool", "resource": "resource", "prompt": "prompt"}[call.kind]
        wanted = escape_inline(call.full_name)[:200]
        near = self._registry.nearest(call.kind, call.server, call.name)
        if call.adhoc:
            near = [name.removeprefix(f"{call.server}.") for name in near]
        if near:
            hint = f"did you mean {' or '.join(escape_inline(name) for name in near)}?"
        elif call.adhoc:
            hint = "dragoman tools --on 'CMD ...' lists its tools"
        elif servers := self._registry.servers():
            hint = f"servers: {some(servers)}; write a {what} as server.{what}"
        else:
            hint = "no server is configured"
        return UnknownTool(f"there is no {what} {wanted!r}", layer=self.name, hint=hint, server=call.server or None)

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        if found.tier == "off":
            return f"refused: off by {found.rule}"
        try:
            refuse_withheld(found)
        except (ToolChanged, NotAllowed) as exc:
            return f"refused: {exc}"
        more = f"; {len(found.raises)} rule{'s' if len(found.raises) > 1 else ''} may raise it by arguments" if found.raises else ""
        return f"tier {found.tier} by {found.rule}{more}"


def _deadline(call: Call, found: Resolved) -> tuple[float | None, float | None]:
    """The deadline of a call, and how far progress may move it. One that the caller named is kept to."""
    usual_s = found.timeout_s
    if call.timeout_s is not None or usual_s is None:
        return call.timeout_s, call.max_timeout_s
    if found.max_timeout_s is not None:
        return usual_s, max(usual_s, found.max_timeout_s)
    return usual_s, PATIENCE * usual_s if call.on_progress is not None else None


def refuse_withheld(found: Resolved) -> None:
    """Raise for a tool that is held, or irreversible and not switched on."""
    shown = escape_inline(found.full_name)
    if found.held is not None:
        raise ToolChanged(
            f"{shown} is held: {found.held}",
            hint="a person has to review the change first",
            server=found.server,
        )
    if found.tier == "L3" and not found.enabled:
        raise NotAllowed(
            f"{shown} is irreversible (L3) and switched off, by {found.rule}",
            hint=f"a person on a terminal can switch it on, dragoman tier --enable {shown}, or make it less, dragoman tier {shown} L2",
            server=found.server,
        )
