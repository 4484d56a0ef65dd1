"""Switching a tool of L3 on, by its name, and off again; who may say so, and how, is for the face to find out."""

from __future__ import annotations

import msgspec

from dragoman.config import write
from dragoman.errors import ConfigError
from dragoman.service import trust
from dragoman.service.assemble import rules_of
from dragoman.service.context import Context
from dragoman.service.notes import Agreement, note
from dragoman.service.overruled import is_pattern
from dragoman.service.plumbing import Plumbing
from dragoman.service.policy import split_tool
from dragoman.service.servers import find_server
from dragoman.wire.tier import Tier


class Switch(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that can be switched on or off.

    Attributes:
        tier: Of a call whose arguments raise nothing.
        was: Whether it is on now.
    """

    server: str
    tool: str
    tier: Tier
    was: bool

    @property
    def full_name(self) -> str:
        """``server.tool``."""
        return f"{self.server}.{self.tool}"


class Switched(msgspec.Struct, frozen=True, kw_only=True):
    """What was done. ``approval``: as :class:`~dragoman.service.policy.TierChange` has it."""

    server: str
    tool: str
    enabled: bool
    file: str
    approval: trust.TrustState


def look(written: str, context: Context, *, on: bool) -> Switch:
    """The tool that is meant.

    Raises:
        ConfigError: There is no such server, it is a pattern, or it is to be switched ``on`` and no call of it can be of L3.
    """
    name, tool = split_tool(written, context)
    server = find_server(name, context.config)
    if is_pattern(tool):
        raise ConfigError(f"{written!r} is a pattern; an L3 tool is switched on and off by its name")
    rules = rules_of(server)
    tier = rules.decide(tool).tier
    if on and tier != "L3" and not any(one.tier == "L3" for one in rules.raises(tool)):
        raise ConfigError(
            f"{written} is {tier}, and no rule raises it to L3: there is nothing to switch on", hint="dragoman tier lists all tools"
        )
    return Switch(server=name, tool=tool, tier=tier, was=rules.enabled(tool))


async def switch(what: Switch, context: Context, agreed: Agreement, *, on: bool) -> Switched:
    """Write it to the file in use and to the audit. A project file that was approved stays approved.

    Raises:
        ConfigError: The file cannot be changed.
        DragomanError: The audit cannot be written; then the file is as it was.
    """
    file = write.target(context.named, user=False, env=context.env, cwd=context.cwd)
    before = find_server(what.server, context.config)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        store = plumbing.store
        state = await trust.trust_state(before, context.config, store)
        # The record comes first: what is on has a record of who said so.
        event = "tool switched on" if on else "tool switched off"
        await note(store, event, agreed, server=what.server, tool=what.tool, tier=what.tier, file=str(file))
        after = write.set_tool_enabled(file, what.server, what.tool, on).servers[what.server]
        if state == "approved" and msgspec.structs.replace(before, tools=after.tools).launch_hash() == after.launch_hash():
            await trust.remember(after, file, store, agreed)
    finally:
        await plumbing.close()
    return Switched(server=what.server, tool=what.tool, enabled=on, file=str(file), approval=state)
