"""Rules for single tools beside patterns: which of them `add` wrote and nobody touched, and which patterns they leave idle."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dragoman.config.model import Config, ServerConfig, ToolConfig
from dragoman.policy.names import some
from dragoman.policy.rules import Rules, ToolRule
from dragoman.service.assemble import rules_of
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.service.status import tools_of
from dragoman.store.base import Store
from dragoman.wire.listing import Tool
from dragoman.wire.tier import DEFAULT_TIER

_MOST: Final = 10_000  # changes of tiers that are looked through


def is_pattern(key: str) -> bool:
    """Whether a key of a ``tools`` table may speak of several tools."""
    return "*" in key or "?" in key


def governs(key: str, tool: str) -> bool:
    """Whether a key of a ``tools`` table speaks of a tool, other rules left aside."""
    return Rules("x", {key: ToolRule("L0")}).decide(tool).tier == "L0"


async def untouched(server: ServerConfig, file: Path, store: Store) -> list[str]:
    """Tools whose own rule is as `add` (or `import`) wrote it into ``file``, and no command set it since.

    Raises:
        DragomanError: The audit, which remembers who wrote what, cannot be read.
    """
    added = await store.tail(1, event="server added", server=server.name)
    if not added or not _same(added[0].detail.get("file"), file):
        return []
    changes = await store.tail(_MOST, event="tier set", server=server.name)
    said = {change.tool for change in changes if change.at >= added[0].at}
    tiers = added[0].detail.get("tiers")
    tiers = tiers if isinstance(tiers, dict) else {}
    return [
        name
        for name, rule in server.tools.items()
        # What was above the default was somebody's decision, and no pattern takes it back unseen.
        if rule == ToolConfig(tier=tiers.get(name, DEFAULT_TIER))
        and rule.tier in ("L0", "L1", "L2")
        and not is_pattern(name)
        and name not in said
    ]


def _same(written: object, file: Path) -> bool:
    return isinstance(written, str) and os.path.abspath(written) == os.path.abspath(file)


def idle_patterns(server: ServerConfig, tools: Sequence[str]) -> list[str]:
    """A line for each pattern that would decide for tools of this server, and decides for none, since each has a rule of its own."""
    rules = rules_of(server)
    found = []
    for key, rule in server.tools.items():
        if rule.tier is None or not is_pattern(key):
            continue
        name = rules.said(key).rule
        matching = [tool for tool in tools if governs(key, tool)]
        rulings = [rules.said(tool) for tool in matching]
        if matching and all(ruling.rule != name for ruling in rulings) and any(ruling.tier != rule.tier for ruling in rulings):
            command = f"dragoman tier {shlex.quote(f'{server.name}.{key}')} {rule.tier}"
            found.append(f"{name} ({rule.tier}) decides nothing: more exact rules do for {some(matching, 5)}; {command} lets it decide")
    return found


def beaten(server: ServerConfig, tool: str) -> list[str]:
    """A line for each pattern that speaks of ``tool`` too, and would give it another tier than the rule that decides."""
    rules = rules_of(server)
    tier, rule, _ = rules.said(tool)
    keys = [key for key, one in server.tools.items() if one.tier not in (None, tier) and is_pattern(key) and governs(key, tool)]
    return [f"{rules.said(key).rule} ({server.tools[key].tier}) speaks of it too; {rule} is more exact" for key in keys]


async def notices(context: Context, config: Config) -> list[str]:
    """The idle patterns of all servers, as far as their tools are known; starts nothing."""
    catalogs = await listed(context)
    return [
        line for name, server in config.servers.items() for line in idle_patterns(server, [tool.name for tool in catalogs.get(name, ())])
    ]


async def listed(context: Context) -> Mapping[str, list[Tool]]:
    """The tools of each server as they were listed last."""
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        return {name: tools_of(catalog) for name, catalog in (await plumbing.store.catalogs(context.scope)).items()}
    finally:
        await plumbing.close()
