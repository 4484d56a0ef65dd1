"""Builds hosts: from a configuration file, or for one server without one.

This is where the parts meet: configuration becomes server specs, the store becomes an audit sink, the layers become a
chain. A server of a *project file* (one that was lying in the working folder) is held back until a person approved it.
"""

from __future__ import annotations

import difflib
import inspect
import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman._version import __version__
from dragoman.config import checks
from dragoman.config.model import Config, Limits, OnAuditFailure, PolicyConfig, ServerConfig, ToolConfig, dotted
from dragoman.config.secrets import mask_server, resolve_server
from dragoman.errors import ConfigError
from dragoman.policy import stack
from dragoman.policy.breaker import BreakerRule
from dragoman.policy.bulkhead import LaneRule
from dragoman.policy.chain import Layer, Outcome
from dragoman.policy.names import some
from dragoman.policy.ports import Approver
from dragoman.policy.raising import Raise
from dragoman.policy.rules import Rules, Settings, ToolRule
from dragoman.policy.withdrawal import Withdrawable
from dragoman.runtime import host as runtime_host
from dragoman.runtime.alerts import AlertBook, OnAlert
from dragoman.runtime.client import Client
from dragoman.runtime.link import DEFAULT_TIMEOUT_S
from dragoman.runtime.specs import HEARTBEAT_S, ServerSpec, SpecRules
from dragoman.runtime.trace import Tap, logging_tap, wire_log
from dragoman.service import alerts, trust
from dragoman.service.context import Context
from dragoman.service.credentials import Credentials
from dragoman.service.guards import OwnGuards, check_own, made, with_own
from dragoman.service.plumbing import Plumbing, keep_of
from dragoman.service.restarts import Wishes
from dragoman.service.voices import OnLog, Voice
from dragoman.transports.logfile import LogFile
from dragoman.wire.condition import parse_condition
from dragoman.wire.tier import DEFAULT_TIER, Tier, is_tier

log = logging.getLogger("dragoman")

_USUAL = PolicyConfig()
_PLACES = tuple(name for name, _ in stack.ORDER if name != "dispatch")

TapFor = Callable[[str], Tap | None]
"""Makes the wire's tap for a server, by name."""


class Host(runtime_host.Host):
    """Many servers, one policy; see :class:`dragoman.runtime.host.Host`. Made by :meth:`from_config`."""

    @classmethod
    def from_config(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        approver: Approver | None = None,
        lazy: bool = False,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        context: Context | None = None,
        tap_for: TapFor | None = None,
        layers: Mapping[str, Sequence[Layer]] | None = None,
        guards: OwnGuards | None = None,
        on_alert: OnAlert | None = None,
        on_log: OnLog | None = None,
        **options: Any,
    ) -> Host:
        """A host over the servers of a configuration file.

        Args:
            path: The file; ``None`` looks for one (working folder, then the user's).
            approver: Answers for L2 calls; without one they are denied.
            lazy: Start a server when it is first needed.
            env: Where variables come from, ``os.environ`` by default.
            cwd: The working folder, by default the process's.
            context: Instead of ``path``, ``env`` and ``cwd``.
            tap_for: Makes a tap of the wire for each server.
            layers: Layers of the program's own, by the name of the layer that they stand right inside of, e.g. ``resolve``.
            guards: More :class:`~dragoman.policy.guards.base.Guarded` arguments, by ``server.tool`` or ``server.pattern``.
            on_alert: Gets each :class:`~dragoman.Alert`, besides the log and the webhook of the file; may be ``async``.
            on_log: Gets each log message of each server as a :class:`~dragoman.LogMessage`; may be ``async``.
            options: Handlers for what servers ask: ``roots``, ``on_sampling``, ``on_elicitation``.

        Raises:
            ConfigError: The file is missing or cannot be used; or ``layers`` names no layer, or ``guards`` no server.
        """
        for place in layers or {}:
            if place not in _PLACES:  # a layer that is silently not there would be worse than none
                raise ConfigError(f"there is no layer {place!r} to stand inside of", hint=f"one of {', '.join(_PLACES)}")
        inspect.signature(Client).bind(None, **options)  # TypeError now, and not in the background when servers start
        context = context or Context(path, env=env, cwd=cwd, named_by="Host.from_config")
        config = context.config
        own_guards = guards or {}
        check_own(own_guards, config)
        book = alerts.book(context, on_alert)
        plumbing = Plumbing(
            context.store_path, context.scope, on_failure=alerts.audit_stopped(book, config.audit.on_failure), keep=keep_of(config.audit)
        )

        async def specs_later() -> None:
            for server in config.servers.values():
                held_back = await why_held_back(server, config, plumbing)
                host._insert(spec_of(server, context, held_back=held_back, tap_for=tap_for, on_log=on_log, guards=own_guards))

        host = cls._of(
            plumbing,
            context,
            approver=approver,
            layers=layers,
            policy=config.policy,
            on_failure=config.audit.on_failure,
            options={
                "name": config.client.name or "dragoman",
                "version": config.client.version or __version__,
                "eras": plumbing,
                **options,
            },
            watcher=plumbing if context.remembers_servers else None,
            alerts=book,
            lazy=lazy,
            openers=[plumbing.open, specs_later],
            wanted=Wishes(context.home, context.scope),
        )
        host._tap_for, host._on_log = tap_for, on_log
        return host

    @classmethod
    def for_target(
        cls,
        make_client: Callable[..., Client],
        *,
        name: str,
        context: Context,
        timeout_s: float | None = None,
        result_bytes: int = 1_000_000,
        **options: Any,
    ) -> Host:
        """A host over one server that has no configuration: no tiers; validation, limits, trace and audit stay on."""
        book = AlertBook(redact=context.redactor.redact_text)
        plumbing = Plumbing(context.store_path, on_failure=alerts.audit_stopped(book))
        spec = ServerSpec(name=name, make_client=make_client, rules=Rules(name), timeout_s=timeout_s, result_bytes=result_bytes)
        options = {"eras": plumbing, **options}
        return cls._of(plumbing, context, specs=[spec], options=options, alerts=book, lazy=True, adhoc=True, openers=[plumbing.open])

    @classmethod
    def _of(
        cls,
        plumbing: Plumbing,
        context: Context,
        *,
        specs: Sequence[ServerSpec] = (),
        approver: Approver | None = None,
        layers: Mapping[str, Sequence[Layer]] | None = None,
        policy: PolicyConfig = _USUAL,
        on_failure: OnAuditFailure = "reads-only",
        **parts: Any,
    ) -> Host:
        questions = Withdrawable(approver) if approver is not None else None
        redact = context.redactor.redact_text

        def build(host: runtime_host.Host) -> stack.Stack:
            rules = SpecRules(host.slots)
            return stack.build(
                sink=plumbing,
                registry=host.registry,
                approver=questions,
                endpoint=host.dispatch,
                in_vain=lambda call: host.obstacle(call.server),
                result_limit=host.result_limit,
                unrecorded=lambda call: plumbing.refuses(call.tier, on_failure),
                breaker_rule=rules.breaker,
                lane_rule=rules.lane,
                concurrent=policy.concurrent,
                retries_per_turn=policy.retry_budget_per_turn,
                alert=host.notice,
                redact=redact,
                approval_timeout_s=policy.approval_timeout_s,
                extra={name: list(own) for name, own in (layers or {}).items()},
            )

        withdraw = questions.withdraw if questions is not None else None
        host = cls(specs, build, redact=redact, withdraw=withdraw, closers=[plumbing.close], **parts)
        host.plumbing, host._context = plumbing, context
        return host

    plumbing: Plumbing
    _context: Context
    _tap_for: TapFor | None = None
    _on_log: OnLog | None = None

    async def add(
        self,
        name: str,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        tools: Mapping[str, str] | None = None,
        default_tier: Tier = DEFAULT_TIER,
        env: Mapping[str, str] | None = None,
        inherit: Sequence[str] = (),
        cwd: str | os.PathLike[str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        result_bytes: int = Limits().result_bytes,
        revision: str | None = None,
        on_log: OnLog | None = None,
        **client: Any,
    ) -> None:
        """Add a server while the host runs, and start it unless the host is lazy. Nothing is written to the configuration.

        Args:
            command, url: One of them.
            tools: Tiers by tool name or pattern.
            env, inherit, cwd, headers, timeout_s, revision: As in a configuration file; ``${env:NAME}`` is resolved at the start.
            result_bytes: Longest result a call may bring.
            on_log: For this server, instead of the host's.
            client: More for :class:`~dragoman.runtime.client.Client`: ``connect_timeout_s``, ``stop_s`` …

        Raises:
            ConfigError: The name is taken or not allowed, a tier is none, or not exactly one of ``command`` and ``url`` is given.
            DragomanError: It did not start; it stays, and is tried again when it is needed.
        """
        inspect.signature(Client).bind(None, **client)
        tiers: dict[str, ToolConfig] = {}
        for key, tier in (tools or {}).items():
            if not is_tier(tier):
                raise ConfigError(checks.tier(tier) or "", key=f"tools.{key}")
            tiers[key] = ToolConfig(tier=tier)
        if (problem := checks.server_name(name) or checks.tier(default_tier)) is not None:
            raise ConfigError(problem)
        if (command is None) == (url is None) or (command is not None and not command):
            raise ConfigError(f"the server {name} needs exactly one of command and url")
        if url is not None and "${" not in url and (problem := checks.url(url)) is not None:
            raise ConfigError(problem, key="url")
        server = ServerConfig(
            name=name,
            command=tuple(str(word) for word in command) if command is not None else None,
            url=url,
            cwd=str(self._context.cwd / (cwd or "")) if command is not None else None,
            env=dict(env or {}),
            inherit=tuple(inherit),
            headers=dict(headers or {}),
            timeout_s=timeout_s,
            revision=revision,
            default_tier=default_tier,
            limits=Limits(result_bytes=result_bytes),
            tools=tiers,
        )
        on_log = on_log if on_log is not None else self._on_log
        await self.add_spec(spec_of(server, self._context, tap_for=self._tap_for, on_log=on_log, **client))


def spec_of(
    server: ServerConfig,
    context: Context,
    *,
    held_back: str | None = None,
    tap_for: TapFor | None = None,
    on_log: OnLog | None = None,
    guards: OwnGuards | None = None,
    **client: Any,
) -> ServerSpec:
    """What a host needs to know about a configured server. Variables are resolved when it starts, not here.

    Args:
        client: More for its :class:`Client`; wins over what the host gives to all.
    """

    voices: list[Voice] = []
    credentials = Credentials(server, context)

    def make(**options: Any) -> Client:
        launch = resolve_server(credentials.latest(), context.env, context.redactor)
        tap = tap_for(server.name) if tap_for is not None else None
        if tap is None and wire_log.isEnabledFor(logging.DEBUG):
            tap = logging_tap(server.name, context.redactor.redact_text)
        if not voices:
            path = context.log_path(server.name, file=server.source.file if server.source else None, claim=True)
            voices.append(Voice(server.name, LogFile(path), context.redactor.redact_text, on_log))
        common: dict[str, Any] = {
            "revision": server.revision,
            "frame_limit": server.limits.frame_bytes,
            "on_wire": tap,
            "on_log": voices[0].heard,
            **options,
            **client,
        }
        if launch.command is None:
            assert launch.url is not None
            web = {"connect_s": server.connect_s, "idle_s": server.idle_s}
            return Client(
                launch.url, headers=launch.headers, **{**{key: value for key, value in web.items() if value is not None}, **common}
            )
        return Client(
            list(launch.command),
            env=launch.env,
            inherit=launch.inherit,
            base_env=context.env,
            cwd=launch.cwd,
            **{"stderr": voices[0].stderr, **common},
        )

    def when_down() -> None:
        for voice in voices:
            voice.close()

    return ServerSpec(
        name=server.name,
        make_client=make,
        rules=rules_of(server, guards),
        timeout_s=server.timeout_s,
        result_bytes=server.limits.result_bytes,
        max_tools=server.limits.tools,
        breaker=BreakerRule(server.breaker.failures, server.breaker.open_s) if server.breaker is not None else None,
        lane=LaneRule(server.limits.concurrent, server.limits.queue, server.limits.queue_s),
        enabled=server.enabled,
        held_back=held_back,
        when_down=when_down,
        remote=server.url is not None,
        heartbeat_s=HEARTBEAT_S if server.heartbeat_s is None else server.heartbeat_s,
        idle_stop_s=server.idle_stop_s,
        credential=credentials if server.url is not None else None,
    )


def rules_of(server: ServerConfig, guards: OwnGuards | None = None) -> Rules:
    """The tiers and guards of a configured server, the program's own too; a default that its file does not name is nobody's rule."""
    tools = {
        key: ToolRule(
            tool.tier,
            tool.say,
            tool.timeout_s,
            tool.max_timeout_s,
            tool.idempotent,
            tool.stale_s,
            tool.result_bytes,
            raises=[
                Raise(parse_condition(one.when), one.tier, dotted(("servers", server.name, "tools", key, "raise", place)))
                for place, one in enumerate(tool.raises)
            ],
            enabled=tool.enabled,
            guards=made(server, key, tool.guards),
        )
        for key, tool in server.tools.items()
    }
    tools = with_own(tools, server.name, guards or {})
    named = server.source is not None and (*server.key, "default_tier") in server.source.lines
    tier = server.default_tier if named or server.default_tier != DEFAULT_TIER else None
    usual = Settings(server.timeout_s or DEFAULT_TIMEOUT_S, server.max_timeout_s)
    return Rules(server.name, tools, tier, usual, little_trust=server.trust == "low")


async def why_held_back(server: ServerConfig, config: Config, plumbing: Plumbing) -> str | None:
    """Why a server of a project file may not start yet, or ``None``."""
    state = await trust.trust_state(server, config, plumbing.store)
    if state in ("not needed", "approved"):
        return None
    what = "changed since it was approved" if state == "changed" else "came with this folder and nobody approved it"
    return f"the server {server.name} in {config.path} {what}: {shown_target(server)}"


def shown_target(server: ServerConfig) -> str:
    """The command line or URL of a server as its file says it, variables unresolved, secrets masked."""
    masked = mask_server(server)
    return shlex.join(masked.command) if masked.command is not None else masked.url or ""


def only(config: Config, names: Sequence[str]) -> Config:
    """The configuration with these servers alone.

    Raises:
        ConfigError: One of them is not in it.
    """
    for name in names:
        if name not in config.servers:
            near = difflib.get_close_matches(name, list(config.servers), 1)
            known = some(list(config.servers)) or "none"
            raise ConfigError(f"there is no server {name}", hint=f"did you mean {near[0]}?" if near else f"servers: {known}")
    return msgspec.structs.replace(config, servers={name: config.servers[name] for name in names})


__all__ = ["Host", "Outcome", "only", "shown_target", "spec_of", "why_held_back"]
