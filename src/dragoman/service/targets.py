"""Servers without a configuration: a command line or URL that a person typed, and the few options that go with it."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from dragoman.config.secrets import looks_secret
from dragoman.errors import ConfigError
from dragoman.runtime.client import Client
from dragoman.service.context import Context
from dragoman.transports.environment import child_environment

#: At its start: an argument of a command may be a URL too.
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One ad hoc server.

    Attributes:
        command: Program and arguments; empty for a URL.
        url: The endpoint, or ``None``.
        env: Variables for the child.
        headers: For a URL.
        timeout_s: Of the handshake and of each request; ``None`` is the default.
        connect_s, idle_s: For a URL: to connect, and the longest silence; ``None`` is the default.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    cwd: str | None = None
    timeout_s: float | None = None
    connect_s: float | None = None
    idle_s: float | None = None
    revision: str | None = None

    @property
    def shown(self) -> str:
        """What to call it in messages."""
        return self.url if self.url is not None else shlex.join(self.command)


def target_of(
    words: Sequence[str],
    context: Context,
    *,
    env: Sequence[str] = (),
    headers: Sequence[str] = (),
    cwd: str | None = None,
    timeout_s: float | None = None,
    connect_s: float | None = None,
    idle_s: float | None = None,
    revision: str | None = None,
) -> Target:
    """A target from what was typed.

    Args:
        words: A command and its arguments, or one URL, or one string that holds a whole command line.
        env: ``NAME=VALUE``, or ``NAME`` to pass on ours.
        headers: ``Key: value``.

    Raises:
        ConfigError: There is nothing to start, a variable is not set, or a header is no header.
    """
    if len(words) == 1 and not _URL.match(words[0]) and " " in words[0]:
        try:
            words = shlex.split(words[0])
        except ValueError as exc:
            raise ConfigError(f"the command line cannot be split: {exc}", hint="check its quotes") from None
    if not words or not words[0].strip():
        raise ConfigError("no server given", hint="name a command after '--', or a URL")
    for seconds in (timeout_s, connect_s, idle_s):
        check_seconds(seconds)
    is_url = len(words) == 1 and _URL.match(words[0]) is not None
    if is_url and cwd is not None:
        raise ConfigError("--cwd is for commands, not URLs")
    if not is_url and not (connect_s is None and idle_s is None):
        raise ConfigError("--connect-timeout and --idle-timeout are for URLs, not commands")
    if cwd is not None and not (context.cwd / cwd).is_dir():
        raise ConfigError(f"{cwd} is not a folder", hint="give --cwd an existing folder")
    target = Target(
        command=() if is_url else tuple(words),
        url=words[0] if is_url else None,
        env=_variables(env, context.env),
        headers=_headers(headers),
        cwd=str(context.cwd / cwd) if cwd is not None else None,
        timeout_s=timeout_s,
        connect_s=connect_s,
        idle_s=idle_s,
        revision=revision,
    )
    for name, value in [*target.env.items(), *target.headers.items()]:
        if looks_secret(name):
            context.redactor.add(value)
    return target


def check_seconds(seconds: float | None) -> None:
    """Refuse a time that is none.

    Raises:
        ConfigError: It is not above 0, or has no end.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise ConfigError(f"a timeout of {seconds:g} s makes no sense", hint="give a positive number of seconds")


def passed_names(target: Target, context: Context) -> list[str]:
    """The names of the variables that the child will get, sorted."""
    return sorted(child_environment(target.env, (), context.env)) if target.url is None else []


def client_for(target: Target, context: Context, **options: Any) -> Client:
    """A fresh, unopened client for a target."""
    if target.timeout_s is not None:
        options = {"timeout_s": target.timeout_s, "connect_timeout_s": target.timeout_s, **options}
    if target.url is not None:
        if target.connect_s is not None:
            options = {"connect_s": target.connect_s, **options}
        if target.idle_s is not None:
            options = {"idle_s": target.idle_s, **options}
        return Client(target.url, headers=target.headers, revision=target.revision, **options)
    cwd = target.cwd or str(context.cwd)
    return Client(list(target.command), env=target.env, base_env=context.env, cwd=cwd, revision=target.revision, **options)


def _variables(items: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items:
        name, has_value, value = item.partition("=")
        if not name:
            raise ConfigError(f"--env {item!r} names no variable", hint="--env NAME=VALUE, or --env NAME to pass on yours")
        if not has_value:
            if name not in base:
                raise ConfigError(f"environment variable {name} is not set", hint=f"--env {name}=VALUE")
            value = base[name]
        found[name] = value
    return found


def _headers(items: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in items:
        name, has_value, value = item.partition(":")
        if not has_value or not name.strip():
            raise ConfigError(f"--header {item!r} is no header", hint="--header 'Key: value'")
        found[name.strip()] = value.strip()
    return found
