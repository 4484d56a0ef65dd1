"""Tiers and what they lead to: list them with the rule that decided, change them, and explain the chain for one tool."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.config import checks, write
from dragoman.config.model import ServerConfig
from dragoman.errors import ConfigError, UnknownTool
from dragoman.policy.approvers import DenyAll
from dragoman.policy.names import some
from dragoman.policy.rules import Rules
from dragoman.service import trust
from dragoman.service.assemble import Host, TapFor, only, rules_of
from dragoman.service.context import Context
from dragoman.service.notes import Agreement, note
from dragoman.service.overruled import beaten, governs, is_pattern, listed, untouched
from dragoman.service.plumbing import Plumbing
from dragoman.service.servers import find_server
from dragoman.service.status import tools_of
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier, is_tier


class ToolTier(msgspec.Struct, frozen=True, kw_only=True):
    """A tool (or, with ``known`` false, a rule that no listed tool matches), its tier, and what decided it."""

    server: str
    name: str
    tier: Tier
    rule: str
    known: bool = True

    @property
    def full_name(self) -> str:
        """``server.tool``."""
        return f"{self.server}.{self.name}"


class TierChange(msgspec.Struct, frozen=True, kw_only=True):
    """What ``tier`` changed.

    Attributes:
        key: The tool or pattern that was written.
        matches: The tools that match and have this tier now, of those listed last.
        covered: Tools that match and follow a more exact rule to another tier.
        dropped: Rules for single tools that `add` had written, nobody had touched, and that made room for the pattern.
        destructive: Tools that run without asking since now, by a pattern, although their server says that they destroy.
        known: The server was connected to before, so that its tools are known.
        approval: ``new`` or ``changed``: the server waits for a person's approval, and the tier counts only from then.
    """

    server: str
    key: str
    tier: Tier
    file: str
    matches: list[str]
    covered: list[str]
    dropped: list[str]
    destructive: list[str]
    known: bool
    approval: trust.TrustState

    @property
    def is_pattern(self) -> bool:
        """Whether it may speak of several tools."""
        return is_pattern(self.key)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One layer of the chain: its place from 1, why it stands there, and what it does with the tool asked about."""

    place: int
    layer: str
    why: str
    here: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """The chain for one tool.

    Attributes:
        obstacle: Why its server would not even be started, or ``None``.
        notices: Patterns that speak of it too and are not what decides.
    """

    server: str
    tool: str
    tier: Tier
    rule: str
    held: str | None
    obstacle: str | None
    notices: list[str]
    layers: list[Place]

    def for_json(self) -> dict[str, Any]:
        """As ``policy explain --json`` shows it."""
        return {"name": f"{self.server}.{self.tool}", **msgspec.to_builtins(self)}


async def list_tiers(context: Context, written: str | None = None) -> list[ToolTier]:
    """Every tool that was listed last, and every rule that matches none of them; starts nothing.

    Args:
        written: A server alone, ``server.tool``, or a pattern.

    Raises:
        ConfigError: There is no such server or tool.
    """
    if written is not None and written not in context.config.servers:
        name, key = split_tool(written, context)
        known = await list_tiers(context, find_server(name, context.config).name)
        rows = [row for row in known if row.name == key or governs(key, row.name)]
        if not rows:
            near = difflib.get_close_matches(key, [row.name for row in known], 3)
            hint = (
                f"did you mean {' or '.join(f'{name}.{tool}' for tool in near)}?" if near else f"dragoman tier {name} lists what is known"
            )
            raise ConfigError(f"no tool of {name} is known as {key!r}", hint=hint)
        return rows
    config = context.config if written is None else only(context.config, [written])
    catalogs = await listed(context)
    found = []
    for name, server in config.servers.items():
        rules, tools = rules_of(server), [tool.name for tool in catalogs.get(name, ())]
        for tool in tools:
            tier, rule, _ = rules.decide(tool)
            found.append(ToolTier(server=name, name=tool, tier=tier, rule=rule))
        for key, entry in server.tools.items():
            if entry.tier is not None and not any(governs(key, tool) for tool in tools):
                rule = rules.decide(key).rule
                found.append(ToolTier(server=name, name=key, tier=entry.tier, rule=rule, known=False))
    return found


async def set_tier(written: str, tier: str, context: Context, agreed: Agreement) -> TierChange:
    """Write the tier of a tool or a pattern of tools to the file in use.

    For a pattern, the rules for single tools are taken out that `add` wrote and nobody touched since; what a person decided about a tool
    stays, and is more exact. A project file that was approved stays approved: the person who types this is the one who would be asked.

    Args:
        written: ``server.tool``, or a pattern such as ``server.read_*``.

    Raises:
        ConfigError: No such server, tool or tier, or the file cannot be changed.
    """
    if not is_tier(tier):
        raise ConfigError(f"{checks.tier(tier)}", hint="L0 reads, L1 writes, L2 asks a person, L3 is off until switched on, off is gone")
    name, key = split_tool(written, context)
    before = find_server(name, context.config)
    if (problem := checks.pattern(key)) is not None:
        raise ConfigError(f"{key!r}: {problem}", hint=f"tools of {name}: dragoman tier")
    catalogs = await listed(context)
    tools = [tool.name for tool in catalogs.get(name, ())]
    if name in catalogs and not is_pattern(key) and key not in tools:
        near = difflib.get_close_matches(key, tools, 3)
        hint = f"did you mean {' or '.join(f'{name}.{tool}' for tool in near)}?" if near else f"its tools: {some(tools)}"
        raise ConfigError(f"the server {name} listed no tool {key!r} when it was last connected to", hint=hint)
    file = write.target(context.named, user=False, env=context.env, cwd=context.cwd)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        store = plumbing.store
        state = await trust.trust_state(before, context.config, store)
        was = rules_of(before).said(key).tier
        dropped = [tool for tool in await untouched(before, file, store) if governs(key, tool)] if is_pattern(key) else []
        after = write.set_tiers(file, name, {key: tier}, drop=dropped).servers[name]
        await note(store, "tier set", agreed, server=name, tool=key, tier=tier, was=was, file=str(file))
        if state == "approved" and _only_tiers_differ(before, after):
            await trust.remember(after, file, store, agreed)
    finally:
        await plumbing.close()
    matching = [tool for tool in tools if governs(key, tool)]
    rules = rules_of(after)
    mine = [tool for tool in matching if rules.said(tool).tier == tier]
    return TierChange(
        server=name,
        key=key,
        tier=tier,
        file=str(file),
        matches=mine,
        covered=[tool for tool in matching if tool not in mine],
        dropped=dropped,
        destructive=_now_unasked(catalogs.get(name, ()), rules_of(before), rules) if is_pattern(key) else [],
        known=name in catalogs,
        approval=state,
    )


async def explain(
    written: str,
    context: Context,
    *,
    somebody: bool,
    arguments: Callable[[Any], Mapping[str, Any]] | None = None,
    tap_for: TapFor | None = None,
) -> Explanation:
    """What each layer would do with a call of a tool. Starts its server only where it was never listed.

    Args:
        arguments: Makes the arguments of the call, from the tool's ``inputSchema``; without them, no rule about arguments is looked at.
        somebody: A person could be asked.

    Raises:
        ConfigError: There is no such server.
        UnknownTool: The server has no such tool.
        TransportError, ProtocolError, NotAllowed: The server has to be started for this, and that did not work.
    """
    name, tool = split_tool(written, context)
    find_server(name, context.config)
    approver = DenyAll("nobody is asked for an explanation") if somebody else None
    host = Host.from_config(context=context, approver=approver, lazy=True, tap_for=tap_for)
    async with host:
        slot = host.slots[name]
        catalogs = await host.plumbing.store.catalogs(context.scope)
        if name in catalogs:
            host.registry.set_server(name, tools_of(catalogs[name]), slot.spec.rules)
        found = host.registry.find("tool", name, tool)
        if found is None and name not in catalogs:
            await slot.connected()
            found = host.registry.find("tool", name, tool)
        if found is None:
            near = host.registry.nearest("tool", name, tool)
            known = [entry.full_name for entry in host.registry.all(name)]
            hint = f"did you mean {' or '.join(near)}?" if near else f"its tools: {some(known) or 'none'}"
            raise UnknownTool(f"the server {name} has no tool {tool!r}", hint=hint, server=name)
        if arguments is not None:
            found = found.called_with(arguments(found.definition.input_schema if found.definition is not None else {}))
        obstacle = None if slot.spec.enabled else f"the server {name} is switched off"
        return Explanation(
            server=name,
            tool=tool,
            tier=found.tier,
            rule=found.rule,
            held=found.held,
            obstacle=obstacle or slot.spec.held_back,
            notices=beaten(context.config.servers[name], tool),
            layers=[Place(place=row.place, layer=row.layer, why=row.why, here=row.here) for row in host.stack.explain(found)],
        )


def split_tool(written: str, context: Context) -> tuple[str, str]:
    """Server and tool, split at the first dot, as names of servers hold none.

    Raises:
        ConfigError: It has no dot.
    """
    server, dot, tool = written.partition(".")
    if dot and server and tool:
        return server, tool
    names = list(context.config.servers)
    if server in names:
        raise ConfigError(f"{written!r} names a server and no tool", hint=f"write {server}.TOOL, or {server}.'*' for all of its tools")
    near = difflib.get_close_matches(server, names, 1)
    hint = f"write SERVER.TOOL{f', perhaps {near[0]}.TOOL' if near else ''}; servers: {some(names) or 'none'}"
    raise ConfigError(f"{written!r} is not the name of a tool", hint=hint)


def _now_unasked(tools: Sequence[Tool], before: Rules, after: Rules) -> list[str]:
    """Tools that say of themselves that they destroy, and that nobody is asked about any more."""
    says_so = [tool.name for tool in tools if (tool.annotations or {}).get("destructiveHint") is True]
    return [name for name in says_so if after.decide(name).tier in ("L0", "L1") and before.decide(name).tier not in ("L0", "L1")]


def _only_tiers_differ(before: ServerConfig, after: ServerConfig) -> bool:
    return msgspec.structs.replace(before, tools=after.tools).launch_hash() == after.launch_hash()


__all__ = ["Explanation", "Place", "TierChange", "ToolTier", "explain", "list_tiers", "set_tier", "some"]
