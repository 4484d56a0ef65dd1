"""Builds hosts: from a configuration file, or for one server without one.

This is where the parts meet: configuration becomes server specs, the store becomes an audit sink, the layers become a
chain. A server of a *project file* (one that was lying in the working folder) is held back until a person approved it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dragoman._version import __version__
from dragoman.config.model import Config, ServerConfig
from dragoman.config.secrets import resolve_server
from dragoman.errors import ConfigError
from dragoman.policy import stack
from dragoman.policy.chain import Outcome
from dragoman.policy.ports import Approver, Caller
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.runtime import host as runtime_host
from dragoman.runtime.client import Client
from dragoman.runtime.slots import ServerSpec
from dragoman.runtime.trace import Tap
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.transports.logfile import LogFile
from dragoman.wire.tier import DEFAULT_TIER

log = logging.getLogger("dragoman")

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
            options: Handlers for what servers ask: ``roots``, ``on_sampling``, ``on_elicitation``, ``on_log``.

        Raises:
            ConfigError: The file is missing or cannot be used.
        """
        context = context or Context(path, env=env, cwd=cwd)
        config = context.config
        plumbing = Plumbing(context.store_path)

        async def specs_later() -> None:
            await plumbing.open()
            for server in config.servers.values():
                host._insert(spec_of(server, context, held_back=await _held_back(server, config, plumbing), tap_for=tap_for))

        host = cls(
            (),
            _builder(plumbing, context, approver, lambda name: host.result_limit(name)),
            options=_client_options(config, plumbing, options),
            watcher=plumbing,
            lazy=lazy,
            openers=[specs_later],
            closers=[plumbing.close],
        )
        host.plumbing = plumbing
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
        plumbing = Plumbing(context.store_path)
        spec = ServerSpec(name=name, make_client=make_client, rules=Rules(name), timeout_s=timeout_s, result_bytes=result_bytes)
        host = cls(
            [spec],
            _builder(plumbing, context, None, lambda server: host.result_limit(server), asks=False),
            options={"eras": plumbing, **options},
            lazy=True,
            adhoc=True,
            openers=[plumbing.open],
            closers=[plumbing.close],
        )
        host.plumbing = plumbing
        return host

    plumbing: Plumbing


def _builder(
    plumbing: Plumbing, context: Context, approver: Approver | None, limit: Callable[[str], int], *, asks: bool = True
) -> Callable[[ToolRegistry, Caller], stack.Stack]:
    def build(registry: ToolRegistry, endpoint: Caller) -> stack.Stack:
        # Where nobody is ever asked, a configuration that cannot be used must not matter.
        timeout_s = context.config.policy.approval_timeout_s if asks else 300.0
        return stack.build(
            sink=plumbing,
            registry=registry,
            approver=approver,
            endpoint=endpoint,
            result_limit=limit,
            redact=context.redactor.redact_text,
            approval_timeout_s=timeout_s,
        )

    return build


def _client_options(config: Config, plumbing: Plumbing, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": config.client.name or "dragoman",
        "version": config.client.version or __version__,
        "eras": plumbing,
        **options,
    }


def spec_of(server: ServerConfig, context: Context, *, held_back: str | None = None, tap_for: TapFor | None = None) -> ServerSpec:
    """What a host needs to know about a configured server. Variables are resolved when it starts, not here."""

    def make(**options: Any) -> Client:
        launch = resolve_server(server, context.env, context.redactor)
        if tap_for is not None:
            options["on_wire"] = tap_for(server.name)
        common: dict[str, Any] = {"revision": server.revision, "frame_limit": server.limits.frame_bytes, **options}
        if launch.command is None:
            assert launch.url is not None
            return Client(launch.url, headers=launch.headers, **common)
        sink = LogFile(context.log_path(server.name))
        return Client(list(launch.command), env=launch.env, cwd=launch.cwd, stderr=sink.write, **common)

    return ServerSpec(
        name=server.name,
        make_client=make,
        rules=rules_of(server),
        timeout_s=server.timeout_s,
        result_bytes=server.limits.result_bytes,
        max_tools=server.limits.tools,
        enabled=server.enabled,
        held_back=held_back,
    )


def rules_of(server: ServerConfig) -> Rules:
    """The tiers of a configured server; a default that its file does not name is nobody's rule."""
    tools = {key: ToolRule(tool.tier, tool.say) for key, tool in server.tools.items()}
    named = server.source is not None and (*server.key, "default_tier") in server.source.lines
    return Rules(server.name, tools, server.default_tier if named or server.default_tier != DEFAULT_TIER else None)


async def _held_back(server: ServerConfig, config: Config, plumbing: Plumbing) -> str | None:
    """Why a server of a project file may not start yet, or ``None``."""
    if not config.project or config.path is None:
        return None
    trusted = await plumbing.store.trusted_command(str(config.path.absolute()), server.name)
    if trusted is not None and trusted.hash == server.launch_hash():
        return None
    what = "changed since it was approved" if trusted is not None else "came with this folder and nobody approved it"
    return f"the server {server.name} in {config.path} {what}: {shown_target(server)}"


def shown_target(server: ServerConfig) -> str:
    """The command line or URL of a server as its file says it, variables unresolved, secrets masked."""
    import shlex

    from dragoman.config.secrets import mask_server

    masked = mask_server(server)
    return shlex.join(masked.command) if masked.command is not None else masked.url or ""


def only(config: Config, names: Sequence[str]) -> Config:
    """The configuration with these servers alone.

    Raises:
        ConfigError: One of them is not in it.
    """
    import difflib

    import msgspec

    for name in names:
        if name not in config.servers:
            near = difflib.get_close_matches(name, list(config.servers), 1)
            known = ", ".join(config.servers) or "none"
            raise ConfigError(f"there is no server {name}", hint=f"did you mean {near[0]}?" if near else f"servers: {known}")
    return msgspec.structs.replace(config, servers={name: config.servers[name] for name in names})


__all__ = ["Host", "Outcome", "only", "shown_target", "spec_of"]
