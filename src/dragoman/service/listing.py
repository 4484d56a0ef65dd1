"""What servers offer, for a person who looks: tools with their tiers, from what was stored if possible; resources; prompts."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from dragoman.config.model import ServerConfig
from dragoman.errors import DragomanError
from dragoman.policy.ports import Resolved
from dragoman.runtime.host import Host
from dragoman.service.assemble import only, spec_of
from dragoman.service.calls import Surroundings, client_of, opened
from dragoman.service.overruled import idle_patterns
from dragoman.service.plumbing import Plumbing
from dragoman.service.status import tools_of
from dragoman.service.targets import Target
from dragoman.wire.listing import Prompt, Resource, ResourceTemplate, Tool
from dragoman.wire.tier import Tier


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool; ``tier`` is ``None`` on a server without a configuration, ``held`` says why it cannot be called now."""

    server: str
    name: str
    tier: Tier | None
    rule: str
    definition: Tool
    held: str | None = None

    def for_json(self) -> dict[str, Any]:
        """The tool as its server describes it is ``definition``."""
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]


class ServerTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of one server.

    Attributes:
        stored_at: When they were listed, seconds since the epoch; ``None``: just now.
        error: Why there are none.
        flaws: What was set aside, one line each.
        notices: Patterns in the configuration that decide nothing, one line each.
    """

    server: str
    tools: list[ListedTool]
    stored_at: float | None = None
    error: DragomanError | None = None
    flaws: list[str] = []
    notices: list[str] = []

    @property
    def age_s(self) -> float | None:
        """Seconds since they were listed."""
        return None if self.stored_at is None else max(0.0, time.time() - self.stored_at)


async def list_tools(
    around: Surroundings, server: str | None = None, target: Target | None = None, *, fresh: bool = False
) -> list[ServerTools]:
    """The tools of one server, of all configured ones, or of ``target``.

    What was listed last is used where there is something, so that nothing is started; a server that was never listed is connected to.

    Args:
        fresh: Connect in any case.

    Raises:
        ConfigError: There is no such server.
    """
    if target is not None:
        async with opened(around, target) as host:
            return [await _connected(host, next(iter(host.slots)), adhoc=True)]
    config = around.context.config if server is None else only(around.context.config, [server])
    found: dict[str, ServerTools] = {} if fresh else await _stored(around, list(config.servers))
    missing = [name for name, entry in config.servers.items() if name not in found and entry.enabled]
    if missing:
        async with opened(around) as host:
            for name in missing:
                found[name] = await _connected(host, name)
    return [_with_notices(found[name], server) for name, server in config.servers.items() if name in found]


def _with_notices(found: ServerTools, server: ServerConfig) -> ServerTools:
    return msgspec.structs.replace(found, notices=idle_patterns(server, [tool.name for tool in found.tools]))


async def _stored(around: Surroundings, names: list[str]) -> dict[str, ServerTools]:
    context = around.context
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        catalogs = await plumbing.store.catalogs(context.scope)
    finally:
        await plumbing.close()
    found: dict[str, ServerTools] = {}
    for name in names:
        if name in catalogs:
            rules = spec_of(context.config.servers[name], context).rules
            tools = []
            for tool in tools_of(catalogs[name]):
                tier, rule, _ = rules.decide(tool.name)
                tools.append(ListedTool(server=name, name=tool.name, tier=tier, rule=rule, definition=tool))
            found[name] = ServerTools(server=name, tools=tools, stored_at=catalogs[name].at)
    return found


async def _connected(host: Host, name: str, *, adhoc: bool = False) -> ServerTools:
    try:
        await host.slots[name].connected()
    except DragomanError as exc:
        return ServerTools(server=name, tools=[], error=exc)
    tools = [_listed(entry, adhoc) for entry in host.registry.all(name) if entry.definition is not None]
    return ServerTools(server=name, tools=tools, flaws=[str(flaw) for flaw in host.slots[name].flaws])


def _listed(entry: Resolved, adhoc: bool) -> ListedTool:
    assert entry.definition is not None
    return ListedTool(
        server=entry.server,
        name=entry.name,
        tier=None if adhoc else entry.tier,
        rule="" if adhoc else entry.rule,
        definition=entry.definition,
        held=entry.held,
    )


class Readable(msgspec.Struct, frozen=True, kw_only=True):
    """What a server offers to read: single resources, and families of them."""

    resources: list[Resource]
    templates: list[ResourceTemplate]


async def list_resources(around: Surroundings, server: str | None, target: Target | None = None) -> Readable:
    """Resources and templates of a server; a server without either has empty lists.

    Raises:
        DragomanError: It cannot be reached.
    """
    async with opened(around, target) as host:
        client = await client_of(host, server)
        if "resources" not in client.server.capabilities:
            return Readable(resources=[], templates=[])
        return Readable(resources=await client.list_resources(), templates=await client.list_resource_templates())


async def list_prompts(around: Surroundings, server: str | None, target: Target | None = None) -> list[Prompt]:
    """Prompts of a server.

    Raises:
        DragomanError: It cannot be reached.
    """
    async with opened(around, target) as host:
        client = await client_of(host, server)
        return await client.list_prompts() if "prompts" in client.server.capabilities else []


async def complete(
    around: Surroundings, server: str | None, target: Target | None, ref: dict[str, str], argument: str, value: str
) -> dict[str, Any]:
    """Completion values: ``{"values", "total", "has_more"}``.

    Args:
        ref: ``{"type": "ref/prompt", "name": …}`` or ``{"type": "ref/resource", "uri": …}``.

    Raises:
        DragomanError: It cannot be reached, or does not complete.
    """
    async with opened(around, target) as host:
        client = await client_of(host, server)
        found = await client.complete(ref, argument, value, timeout_s=around.timeout_s)
    return {"values": list(found.values), "total": found.total, "has_more": found.has_more}
