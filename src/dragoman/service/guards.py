"""Makes guards of what the configuration says about them, and adds those that a program brought along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.config.model import Config, GuardConfig, ServerConfig
from dragoman.errors import ConfigError
from dragoman.policy.guards.base import Guard, Guarded
from dragoman.policy.guards.email import EmailGuard
from dragoman.policy.guards.path import PathGuard
from dragoman.policy.guards.range import RangeGuard
from dragoman.policy.guards.regex import RegexGuard
from dragoman.policy.guards.shell import ShellGuard
from dragoman.policy.guards.sql import SqlGuard
from dragoman.policy.guards.url import UrlGuard
from dragoman.policy.rules import ToolRule

OwnGuards = Mapping[str, Sequence[Guarded]]
"""A program's own guards, by ``server.tool`` or ``server.pattern``."""


def made(server: ServerConfig, key: str, guards: Sequence[GuardConfig]) -> tuple[Guarded, ...]:
    """The guards of one key of ``tools``."""
    exact = "*" not in key and "?" not in key
    found: list[Guarded] = []
    for config in guards:
        guard = _guard(config, server)
        found.extend(Guarded(guard, argument, exact) for argument in config.arguments)
    return tuple(found)


def check_own(own: OwnGuards, config: Config) -> None:
    """Refuse guards that would guard nothing.

    Raises:
        ConfigError: A key names no server and tool.
    """
    for key in own:
        server, dot, tool = key.partition(".")
        if not dot or not tool or server not in config.servers:
            known = ", ".join(config.servers) or "none"
            raise ConfigError(f"guards for {key!r}: there is no such server", hint=f"write server.tool; servers: {known}")


def with_own(rules: dict[str, ToolRule], server: str, own: OwnGuards) -> dict[str, ToolRule]:
    """The rules of a server with the program's own guards in them."""
    merged = dict(rules)
    for key, guards in own.items():
        name, _, tool = key.partition(".")
        if name == server:
            exact = "*" not in tool and "?" not in tool
            rule = merged.get(tool, ToolRule())
            mine = tuple(msgspec.structs.replace(guarded, exact=exact) for guarded in guards)
            merged[tool] = rule._replace(guards=(*rule.guards, *mine))
    return merged


def _guard(config: GuardConfig, server: ServerConfig) -> Guard:
    options: dict[str, Any] = dict(config.options)
    match config.kind:
        case "sql":
            return SqlGuard(**options)
        case "path":
            starts_in = _absolute(server.cwd or ".", server) if server.command is not None else None
            base = _absolute(options["base"], server) if "base" in options else starts_in
            roots = [_absolute(root, server) for root in options["roots"]]
            return PathGuard(roots, base, resolve=options.get("resolve", True))
        case "url":
            return UrlGuard(**options)
        case "email":
            return EmailGuard(**options)
        case "shell":
            return ShellGuard(**options)
        case "regex":
            return RegexGuard(**options)
        case "range":
            return RangeGuard(options.get("min"), options.get("max"))
    raise ConfigError(f"there is no guard {config.kind!r}")


def _absolute(written: str, server: ServerConfig) -> str:
    """A folder as the configuration names it: ``~``, or relative to its file."""
    return str((server.folder or Path.cwd()) / Path(written).expanduser())


__all__ = ["OwnGuards", "check_own", "made", "with_own"]
