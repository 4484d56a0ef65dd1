"""How the servers are: from what the store remembers, starting nothing; or after connecting to all of them once."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import msgspec

from dragoman.config.model import ServerConfig
from dragoman.errors import ConnectFailed
from dragoman.policy.rules import Rules
from dragoman.service import trust
from dragoman.service.assemble import Host, TapFor, only, rules_of
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.store.records import BreakerRow, Catalog, Check, Health, iso
from dragoman.store.writers import liveness, process_exists
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier

#: How long ``--check`` waits for servers; the rest of its five seconds is for stopping them again.
CHECK_S: Final = 3.5
STOP_S: Final = 0.5
#: A row of another machine cannot be asked whether its process lives: it counts while it is fresh.
_FRESH_S: Final = 150.0
_DOWN: Final = frozenset({"failed", "down", "backing off"})


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


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Of the last calls that had a result, at most 512, in milliseconds."""

    p50: float | None
    p99: float | None


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One server, as ``status --json`` shows it. ``era`` is ``None`` and ``tools`` is empty until it was connected to for the first time.

    Attributes:
        state: Of the process that uses it now: ``ready``, ``starting``, ``backing off``, ``down``, ``idle``. Where none does, by the
            last check: ``stopped`` (in order; it is started when it is needed) or ``failed``; ``not running`` where the process that
            used it, or the server's own, ended without a last word. ``disabled``, ``not approved``, ``never started``: it may not or
            did not run.
        age_s: Seconds since the last check.
        running: A process uses it now.
        seen: When a process wrote about it for the last time (UTC); ``last_ok``: when a check went well for the last time.
        calls, failures, latency_ms, restarts: As counted by that process, else by the last one that made calls.
        breaker: Of that process; ``None`` while nothing is wrong.
        pid, memory_bytes: Of the server's own process, and of its whole process group at ``seen``; only while it runs.
        hint: More about the state, for a person: what to run, or what went wrong.
    """

    name: str
    state: str
    era: str | None
    tools: list[ToolStatus]
    last_check: LastCheck | None
    age_s: float | None = None
    revision: str | None = None
    running: bool = False
    seen: str | None = None
    last_ok: str | None = None
    calls: int = 0
    failures: int = 0
    latency_ms: Latency = Latency(p50=None, p99=None)
    breaker: BreakerRow | None = None
    restarts: int = 0
    pid: int | None = None
    memory_bytes: int | None = None
    hint: str | None = None

    def for_json(self) -> dict[str, Any]:
        """As ``status --json`` shows it."""
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]

    @property
    def down(self) -> bool:
        """Switched on and approved, and it cannot be used right now."""
        return self.state in _DOWN


class StatusReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every server of the configuration in use; ``file`` is ``None`` where there is none. ``failed``: whose check, made now, failed."""

    file: str | None
    servers: list[ServerStatus]
    warnings: tuple[str, ...] = ()
    failed: frozenset[str] = frozenset()

    def for_json(self) -> dict[str, Any]:
        """As ``status --json`` shows it."""
        return {"servers": [server.for_json() for server in self.servers]}


async def status(
    context: Context, *, check: bool = False, names: tuple[str, ...] = (), tap_for: TapFor | None = None, within_s: float | None = CHECK_S
) -> StatusReport:
    """Every server, its tools, each tool's tier, the last check.

    Args:
        check: Connect to every server that may be started first, side by side; else nothing is started.
        names: These servers alone.
        tap_for: Makes a tap of the wire for each server.
        within_s: How long a check waits for all of them; ``None``: as long as each may take.

    Raises:
        ConfigError: The configuration cannot be used, or has no server of that name.
    """
    config = only(context.config, names) if names else context.config
    failed = await connect_all(context, names, tap_for, within_s) if check else frozenset()
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        health, catalogs = await plumbing.store.health(context.scope), await plumbing.store.catalogs(context.scope)
        servers = [
            _status(
                server,
                await trust.trust_state(server, config, plumbing.store),
                health.get(name, []),
                catalogs.get(name),
            )
            for name, server in config.servers.items()
        ]
    finally:
        await plumbing.close()
    return StatusReport(file=str(config.path) if config.path else None, servers=servers, warnings=config.warnings, failed=failed)


async def connect_all(
    context: Context, names: tuple[str, ...] = (), tap_for: TapFor | None = None, within_s: float | None = None
) -> frozenset[str]:
    """Connect once to each server (or to ``names``) that may be started, side by side; the store learns how it went.

    Returns:
        Those that could not be used.
    """
    options: dict[str, Any] = {} if within_s is None else {"stop_s": STOP_S}
    host = Host.from_config(context=context, lazy=True, tap_for=tap_for, **options)
    async with host:
        for name in list(host.slots):
            if names and name not in names:
                await host.remove(name)
        began = time.monotonic()
        starts = {name: asyncio.ensure_future(slot.connected()) for name, slot in host.slots.items() if slot.obstacle() is None}
        if not starts:
            return frozenset()
        try:
            _, late = await asyncio.wait(starts.values(), timeout=within_s)
        except asyncio.CancelledError:  # wait() leaves them running, and how they end then is nobody's news
            for start in starts.values():
                start.cancel()
            await asyncio.gather(*starts.values(), return_exceptions=True)
            raise
        for name, start in starts.items():
            if start in late:
                error = ConnectFailed(f"{name} did not answer within {within_s:g} s", server=name)
                host.note_check(name, (time.monotonic() - began) * 1000, error)
                start.cancel()
        ended = await asyncio.gather(*starts.values(), return_exceptions=True)
        return frozenset(name for name, end in zip(starts, ended, strict=True) if isinstance(end, BaseException))


def tools_of(catalog: Catalog | None) -> list[Tool]:
    """The tools of a stored catalog."""
    return msgspec.json.decode(catalog.tools, type=list[Tool]) if catalog is not None else []


def tool_states(tools: list[Tool], rules: Rules) -> list[ToolStatus]:
    """Tools with their tiers."""
    return [ToolStatus(name=tool.name, tier=rules.decide(tool.name).tier) for tool in tools]


def _status(server: ServerConfig, trusted: trust.TrustState, rows: list[Health], catalog: Catalog | None) -> ServerStatus:
    current = next((row for row in rows if _is_kept(row)), None)
    row = current if current is not None else (rows[0] if rows else None)
    counted = current if current is not None else next((row for row in rows if row.calls), row)
    check = max((one.check for one in rows if one.check is not None), key=lambda one: one.at, default=None)
    ok_at = max((one.ok_at for one in rows if one.ok_at is not None), default=None)
    alive = current is not None and (current.pid is None or process_exists(current.pid))
    state, hint = _state(server, trusted, row, check, alive=alive)
    return ServerStatus(
        name=server.name,
        state=state,
        era=catalog.era if catalog is not None else None,
        revision=catalog.revision if catalog is not None else None,
        tools=tool_states(tools_of(catalog), rules_of(server)),
        last_check=LastCheck(at=iso(check.at), ok=check.ok, ms=check.ms, error=check.error) if check is not None else None,
        age_s=round(max(0.0, time.time() - check.at), 1) if check is not None else None,
        running=alive and state == "ready",
        seen=iso(row.at) if row is not None else None,
        last_ok=iso(ok_at) if ok_at is not None else None,
        calls=counted.calls if counted is not None else 0,
        failures=counted.failures if counted is not None else 0,
        latency_ms=Latency(p50=counted.p50_ms, p99=counted.p99_ms) if counted is not None else Latency(p50=None, p99=None),
        breaker=current.breaker if current is not None else None,
        restarts=counted.restarts if counted is not None else 0,
        pid=current.pid if current is not None and alive else None,
        memory_bytes=current.memory_bytes if current is not None and alive else None,
        hint=hint,
    )


def _state(
    server: ServerConfig,
    trusted: trust.TrustState,
    row: Health | None,
    check: Check | None,
    *,
    alive: bool,
) -> tuple[str, str | None]:
    if not server.enabled:
        return "disabled", f"dragoman enable {server.name}"
    if trusted in ("new", "changed"):
        what = "nobody approved it yet" if trusted == "new" else "it changed since it was approved"
        return "not approved", f"{what}; on a terminal: dragoman enable {server.name}"
    logs = f"dragoman logs {server.name}" if server.command else None
    if row is not None and alive:
        return row.state, logs if row.state in _DOWN else None
    if row is None or check is None:
        return "never started", "dragoman status --check"
    if not check.ok:
        return "failed", logs
    return ("not running", None) if row.holder.closed_at is None else ("stopped", None)


def _is_kept(row: Health) -> bool:
    """Whether the process that wrote a row still does."""
    how = liveness(row.holder)
    return how == "alive" or (how == "elsewhere" and time.time() - row.at < _FRESH_S)
