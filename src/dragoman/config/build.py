"""Turns a parsed ``dragoman.toml`` into a checked Config; knows every key, and refuses the ones that nothing enforces yet."""

from __future__ import annotations

from typing import Final, cast, get_args

from ..wire.tier import DEFAULT_TIER, Tier, is_tier
from . import checks, guards
from .limits import check_servers
from .model import (
    AlertsConfig,
    AuditConfig,
    BreakerConfig,
    ClientConfig,
    Config,
    Limits,
    OnAuditFailure,
    PolicyConfig,
    ServerConfig,
    Source,
    ToolConfig,
)
from .raising import raises, switched_on, trust
from .table import Table

# A key is moved from the second or third tuple to the first by whoever builds what it asks for.
# REFUSED: protection, or a promise of who may do what. To load the file without it would be a lie.
# INERT: only comfort or speed is lost, so the file is loaded with a warning.
_TOP: Final = ("client", "servers", "policy", "alerts", "audit")
_TOP_REFUSED: Final = ("store", "principals")

_POLICY: Final = ("approval_timeout_s", "retry_budget_per_turn", "concurrent", "allow_yes")
_POLICY_REFUSED: Final = ("servers", "ask_from")

_LAUNCH: Final = ("command", "url", "cwd", "env", "inherit", "headers")
_WAITS: Final = ("timeout_s", "max_timeout_s", "connect_s", "idle_s", "heartbeat_s", "idle_stop_s")
_SERVER: Final = (*_LAUNCH, *_WAITS, "breaker", "revision", "enabled", "default_tier", "trust", "limits", "tools")
_SERVER_REFUSED: Final = ("auth", "sandbox", "boundaries", "egress", "ca_file", "scopes", "labels", "scan", "rollout", "dry_run")

_TOOL: Final = ("tier", "say", "timeout_s", "max_timeout_s", "idempotent", "stale_s", "result_bytes", "raise", "enabled", "guards")
_TOOL_REFUSED: Final = ("undo", "labels", "rollout", "dry_run")
_TOOL_INERT: Final = ("preview",)

_LIMITS: Final = ("result_bytes", "frame_bytes", "tools", "concurrent", "queue", "queue_s")
_BREAKER: Final = ("failures", "open_s")
_AUDIT: Final = ("keep_days", "max_mb", "on_failure")


def build(values: dict[str, object], source: Source, *, project: bool) -> Config:
    """Check all of a file.

    Raises:
        ConfigError: For the first thing that is wrong, with file, line and key.
    """
    top = Table(values, (), source)
    refuse(top, _TOP_REFUSED)
    top.only(_TOP)
    warnings: list[str] = []
    servers = {}
    table = top.table("servers", "tables named [servers.NAME]")
    check_servers(len(table.values), source.file)
    for name in table.values:
        if (problem := checks.server_name(name)) is not None:
            raise table.error(problem, name)
        servers[name] = server(name, table.table(name, f"a table [servers.{name}]"), warnings)
    return Config(
        path=source.file,
        project=project,
        client=_client(top.table("client")),
        servers=servers,
        policy=_policy(top.table("policy")),
        alerts=_alerts(top.table("alerts"), warnings, project=project),
        audit=_audit(top.table("audit"), warnings, project=project),
        warnings=tuple(warnings),
    )


def refuse(table: Table, keys: tuple[str, ...]) -> None:
    """Refuse a table that asks for something this version cannot do.

    Raises:
        ConfigError: Naming the key.
    """
    for key in keys:
        if key in table:
            raise table.error(
                "not supported yet; loading the file without it would promise something that nothing enforces",
                key,
                hint=f'remove "{key}" to go on without it',
            )


def server(name: str, table: Table, warnings: list[str]) -> ServerConfig:
    """Check one server's table; warnings are added to the list."""
    refuse(table, _SERVER_REFUSED)
    table.only(_SERVER)
    command = table.texts("command", 'a list of words, as in command = ["python3", "server.py"]')
    url = table.text("url")
    if command is None and url is None:
        near = 'command = ["python3", "server.py"] or url = "https://…"'
        raise table.error(f"needs either a command or a url: {near}")
    if command is not None and url is not None:
        raise table.error("has both a command and a url; keep the one to use", "url")
    if command is not None and (not command or not command[0].strip()):
        raise table.error("names no program", "command")
    if url is not None and "${" not in url and (problem := checks.url(url)) is not None:
        raise table.error(problem, "url")
    for other, keys in (("url", ("headers", "connect_s", "idle_s")), ("command", ("cwd", "env", "inherit"))):
        for key in keys:
            if key in table and other not in table:
                raise table.error(f"is only for servers with a {other}", key)
    revision = table.text("revision")
    if revision is not None and (problem := checks.revision(revision)) is not None:
        raise table.error(problem, "revision")
    limits = _limits(table.table("limits"))
    return ServerConfig(
        name=name,
        command=command,
        url=url,
        cwd=table.text("cwd"),
        env=_env(table.table("env")),
        inherit=_inherit(table),
        headers=_headers(table.table("headers")),
        timeout_s=table.seconds("timeout_s"),
        connect_s=table.seconds("connect_s"),
        idle_s=table.seconds("idle_s"),
        max_timeout_s=_maximum(table),
        breaker=_breaker(table),
        revision=revision,
        heartbeat_s=table.seconds("heartbeat_s", off=True),
        idle_stop_s=table.seconds("idle_stop_s"),
        enabled=table.flag("enabled", True),
        default_tier=_tier(table, "default_tier") or DEFAULT_TIER,
        limits=limits,
        trust=trust(table),
        tools=_tools(table.table("tools"), warnings, limits.frame_bytes),
        source=table.source,
        key=table.path,
    )


def _env(table: Table) -> dict[str, str]:
    for name, value in table.values.items():
        if (problem := checks.variable_name(name)) is not None:
            raise table.error(problem, name)
        if not isinstance(value, str):
            raise table.expected("text in quotes", name, got=value)
        if "\0" in value:
            raise table.error("a NUL character cannot be used here", name)
    return {name: value for name, value in table.values.items() if isinstance(value, str)}


def _headers(table: Table) -> dict[str, str]:
    for name, value in table.values.items():
        if (problem := checks.header_name(name)) is not None:
            raise table.error(problem, name)
        if not isinstance(value, str):
            raise table.expected("text in quotes", name, got=value)
        if (problem := checks.header_value(value)) is not None:
            raise table.error(problem, name)
    return {name: value for name, value in table.values.items() if isinstance(value, str)}


def _inherit(table: Table) -> tuple[str, ...]:
    names = table.texts("inherit", 'a list of names, as in inherit = ["GITHUB_TOKEN", "AWS_*"]') or ()
    for index, name in enumerate(names):
        if name == "*":
            raise table.error("would pass on every variable, secrets included; name the ones the server needs", "inherit", index)
        problem = f"{name!r}: a * may only stand at the end" if "*" in name[:-1] else checks.variable_name(name)
        if problem is not None:
            raise table.error(problem, "inherit", index)
    return names


def _tier(table: Table, key: str) -> Tier | None:
    value = table.values.get(key)
    if value is None or is_tier(value):
        return value
    raise table.error(checks.tier(value) or "", key)


def _limits(table: Table) -> Limits:
    table.only(_LIMITS)
    default = Limits()
    limits = Limits(
        result_bytes=table.integer("result_bytes", default.result_bytes, least=1),
        frame_bytes=table.integer("frame_bytes", default.frame_bytes, least=1024),
        tools=table.integer("tools", default.tools, least=1),
        concurrent=table.integer("concurrent", default.concurrent, least=1),
        queue=table.integer("queue", default.queue, least=0),
        queue_s=table.seconds("queue_s") or default.queue_s,
    )
    if limits.result_bytes > limits.frame_bytes:
        key = "result_bytes" if "result_bytes" in table else "frame_bytes"
        raise table.error(f"result_bytes ({limits.result_bytes}) cannot be above frame_bytes ({limits.frame_bytes})", key)
    return limits


def _maximum(table: Table) -> float | None:
    most, usual = table.seconds("max_timeout_s"), table.seconds("timeout_s")
    if most is not None and usual is not None and most < usual:
        raise table.error(f"cannot be below timeout_s ({usual:g}), got {most:g}", "max_timeout_s")
    return most


def _breaker(table: Table) -> BreakerConfig | None:
    value = table.values.get("breaker")
    default = BreakerConfig()
    if value is None or value is True:
        return default
    if value is False:
        return None
    breaker = table.table("breaker", "false, or a table as in { failures = 10, open_s = 300 }")
    breaker.only(_BREAKER)
    return BreakerConfig(
        failures=breaker.integer("failures", default.failures, least=1), open_s=breaker.seconds("open_s") or default.open_s
    )


def _tools(table: Table, warnings: list[str], frame_bytes: int) -> dict[str, ToolConfig]:
    tools = {}
    for name, value in table.values.items():
        if (problem := checks.pattern(name)) is not None:
            raise table.error(problem, name)
        if isinstance(value, dict):
            entry = table.table(name)
            refuse(entry, _TOOL_REFUSED)
            entry.only(_TOOL, also=_TOOL_INERT)
            for key in _TOOL_INERT:
                if key in entry:
                    warnings.append(str(entry.error("has no effect yet", key)))
            tools[name] = ToolConfig(
                tier=_tier(entry, "tier"),
                say=entry.text("say"),
                timeout_s=entry.seconds("timeout_s"),
                max_timeout_s=_maximum(entry),
                idempotent=entry.flag("idempotent", False) if "idempotent" in entry else None,
                stale_s=entry.seconds("stale_s"),
                result_bytes=_result_bytes(entry, frame_bytes),
                raises=raises(entry),
                enabled=switched_on(entry, name),
                guards=guards.guards(entry.table("guards", 'a table, as in { path = { argument = "path", roots = ["docs"] } }')),
            )
        elif is_tier(value):
            tools[name] = ToolConfig(tier=value)
        else:
            raise table.error(checks.tier(value) or "", name)
    return tools


def _result_bytes(entry: Table, frame_bytes: int) -> int | None:
    if "result_bytes" not in entry:
        return None
    most = entry.integer("result_bytes", 0, least=1)
    if most > frame_bytes:
        raise entry.error(f"cannot be above the server's limits.frame_bytes ({frame_bytes}), got {most}", "result_bytes")
    return most


def _client(table: Table) -> ClientConfig:
    table.only(("name", "version"))
    return ClientConfig(name=table.text("name"), version=table.text("version"))


def _policy(table: Table) -> PolicyConfig:
    refuse(table, _POLICY_REFUSED)
    table.only(_POLICY)
    default = PolicyConfig()
    return PolicyConfig(
        approval_timeout_s=table.seconds("approval_timeout_s") or default.approval_timeout_s,
        retry_budget_per_turn=table.integer("retry_budget_per_turn", default.retry_budget_per_turn, least=0),
        concurrent=table.integer("concurrent", default.concurrent, least=1),
        allow_yes=table.flag("allow_yes", default.allow_yes),
    )


def _alerts(table: Table, warnings: list[str], *, project: bool) -> AlertsConfig:
    table.only(("webhook",))
    webhook = table.text("webhook")
    if webhook is None:
        return AlertsConfig()
    if "${" not in webhook and (problem := checks.webhook(webhook)) is not None:
        raise table.error(problem, "webhook")
    if project:  # nobody agreed to it, and it would get what our variables hold
        warnings.append(
            str(table.error("has no effect in a project file; it counts in your own file, or in one named by --config", "webhook"))
        )
        return AlertsConfig()
    return AlertsConfig(webhook=webhook)


def _audit(table: Table, warnings: list[str], *, project: bool) -> AuditConfig:
    table.only(_AUDIT)
    default = AuditConfig()
    on_failure = table.text("on_failure") or default.on_failure
    if on_failure not in get_args(OnAuditFailure):
        raise table.error('expected "reads-only" or "stop"', "on_failure")
    made = AuditConfig(
        keep_days=table.integer("keep_days", default.keep_days, least=1),
        max_mb=table.integer("max_mb", default.max_mb, least=10),
        on_failure=cast(OnAuditFailure, on_failure),
    )
    if project and made != default:  # the audit is one for all configurations, and a folder must not make this user's forget
        warnings.append(str(table.error("has no effect in a project file; it counts in your own file, or in one named by --config")))
        return default
    return made
