"""How the servers are: from what the store remembers, starting nothing; or after connecting to all of them once."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from dragoman.config.model import ServerConfig
from dragoman.policy.rules import Rules
from dragoman.service import trust
from dragoman.service.assemble import Host, TapFor, only, rules_of
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.store.records import Catalog, Health, iso
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier

State = Literal["ready", "failed", "not approved", "disabled", "never started"]


class ToolStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server listed it last. ``held``: its definition differs from the one that was pinned."""

    name: str
    tier: Tier
    held: bool = False


class LastCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The last time anybody connected: when (UTC), how long it took, and what went wrong in one line."""

    at: str
    ok: bool
    ms: float | None
    error: str | None


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One server. ``era`` is ``None`` and ``tools`` is empty until it was connected to for the first time.

    Attributes:
        why: More about the state, for a person: what to run, or what went wrong.
        age_s: Seconds since the last check.
    """

    name: str
    state: State
    era: str | None
    tools: list[ToolStatus]
    last_check: LastCheck | None
    why: str | None = None
    age_s: float | None = None

    def for_json(self) -> dict[str, Any]:
        """As ``status --json`` shows it."""
        return {key: msgspec.to_builtins(getattr(self, key)) for key in ("name", "state", "era", "tools", "last_check")}

    @property
    def down(self) -> bool:
        """Switched on and approved, and the last connection failed."""
        return self.state == "failed"


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every server of the configuration in use; ``file`` is ``None`` where there is none."""

    file: str | None
    servers: list[ServerStatus]
    warnings: tuple[str, ...] = ()

    def for_json(self) -> dict[str, Any]:
        """As ``status --json`` shows it."""
        return {"servers": [server.for_json() for server in self.servers]}


async def status(context: Context, *, check: bool = False, names: tuple[str, ...] = (), tap_for: TapFor | None = None) -> StatusReport:
    """Every server, its tools, each tool's tier, the last check.

    Args:
        check: Connect to every server that may be started first, side by side; else nothing is started.
        names: These servers alone.
        tap_for: Makes a tap of the wire for each server.

    Raises:
        ConfigError: The configuration cannot be used, or has no server of that name.
    """
    config = only(context.config, names) if names else context.config
    if check:
        await connect_all(context, names, tap_for)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        health, catalogs = await plumbing.store.health(), await plumbing.store.catalogs()
        servers = [
            _status(server, await trust.trust_state(server, config, plumbing.store), health.get(name), catalogs.get(name))
            for name, server in config.servers.items()
        ]
    finally:
        await plumbing.close()
    return StatusReport(file=str(config.path) if config.path else None, servers=servers, warnings=config.warnings)


async def connect_all(context: Context, names: tuple[str, ...] = (), tap_for: TapFor | None = None) -> None:
    """Connect once to each server (or to ``names``) that may be started, side by side; the store learns how it went."""
    host = Host.from_config(context=context, lazy=True, tap_for=tap_for)
    async with host:
        for name in list(host.slots):
            if names and name not in names:
                await host.remove(name)
        await host.start_all()


def tools_of(catalog: Catalog | None) -> list[Tool]:
    """The tools of a stored catalog."""
    return msgspec.json.decode(catalog.tools, type=list[Tool]) if catalog is not None else []


def tool_states(tools: list[Tool], rules: Rules) -> list[ToolStatus]:
    """Tools with their tiers."""
    return [ToolStatus(name=tool.name, tier=rules.decide(tool.name).tier) for tool in tools]


def _status(server: ServerConfig, trusted: trust.TrustState, health: Health | None, catalog: Catalog | None) -> ServerStatus:
    state, why = _state(server, trusted, health)
    return ServerStatus(
        name=server.name,
        state=state,
        era=catalog.era if catalog is not None else None,
        tools=tool_states(tools_of(catalog), rules_of(server)),
        last_check=LastCheck(at=iso(health.at), ok=health.ok, ms=health.ms, error=health.error) if health is not None else None,
        why=why,
        age_s=max(0.0, time.time() - health.at) if health is not None else None,
    )


def _state(server: ServerConfig, trusted: trust.TrustState, health: Health | None) -> tuple[State, str | None]:
    if not server.enabled:
        return "disabled", f"dragoman enable {server.name}"
    if trusted in ("new", "changed"):
        what = "nobody approved it yet" if trusted == "new" else "it changed since it was approved"
        return "not approved", f"{what}; on a terminal: dragoman enable {server.name}"
    if health is None:
        return "never started", "dragoman status --check"
    return ("ready", None) if health.ok else ("failed", f"dragoman logs {server.name}" if server.command else None)
