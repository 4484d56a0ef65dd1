"""Makes the doctor for a target: a server of the configuration by its name, or any command or URL."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dragoman.config.secrets import resolve_server
from dragoman.errors import NotAllowed
from dragoman.service.assemble import shown_target, spec_of, why_held_back
from dragoman.service.context import Context
from dragoman.service.doctor import Arguments, Checkup, Doctor
from dragoman.service.doctor_http import look
from dragoman.service.plumbing import Plumbing
from dragoman.service.targets import Target, client_for

Calls = Sequence[tuple[str, Arguments]]


def of_target(target: Target, context: Context, calls: Calls, step_s: float) -> Doctor:
    """For a command or URL that a person typed."""
    make = functools.partial(client_for, target, context)
    return Doctor(make, target.shown, command=target.command, calls=calls, look=_look(target.url, target.headers), step_s=step_s)


async def of_configured(context: Context, name: str, calls: Calls, step_s: float) -> Doctor:
    """For a server of the configuration.

    Raises:
        NotAllowed: It is one of a project file that nobody approved.
        ConfigError: A variable that it needs is not set.
    """
    server = context.config.servers[name]
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        held_back = await why_held_back(server, context.config, plumbing)
    finally:
        await plumbing.close()
    if held_back is not None:
        raise NotAllowed(held_back, hint=f"on a terminal: dragoman enable {name}", server=name)
    spec = spec_of(server, context, timeout_s=step_s, connect_timeout_s=step_s)
    launch = resolve_server(server, context.env, context.redactor)
    make = functools.partial(spec.make_client, label=name)
    at = _look(launch.url, launch.headers)
    return Doctor(make, f"{name}: {shown_target(server)}", command=launch.command or (), calls=calls, look=at, step_s=step_s)


def for_others(checkup: Checkup, redact: Callable[[str], str]) -> Checkup:
    """The same without secrets, whoever wrote them where: a finding is made to be passed on, to the author of a server above all."""
    return msgspec.convert(_without(msgspec.to_builtins(checkup), redact), Checkup)


def _without(value: Any, redact: Callable[[str], str]) -> Any:
    match value:
        case str():
            return redact(value)
        case list():
            return [_without(one, redact) for one in value]
        case dict():
            return {key: _without(one, redact) for key, one in value.items()}
    return value


def _look(url: str | None, headers: Mapping[str, str]) -> Any:
    return functools.partial(look, url, headers) if url is not None and url.startswith("http") else None
