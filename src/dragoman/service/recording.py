"""The use cases of ``record``: which server is meant, what may be written of it, and the recording itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.config.redactor import MASK
from dragoman.config.secrets import resolve_server, secret_words
from dragoman.errors import ConfigError, NotAllowed
from dragoman.service.assemble import why_held_back
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.service.targets import Target, target_of
from dragoman.transports.environment import child_environment
from dragoman.transports.transcript import TranscriptWriter


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """A server to record: how to reach it, with secrets in it.

    Attributes:
        env: The whole environment of a command.
    """

    command: tuple[str, ...] = ()
    url: str | None = None
    env: Mapping[str, str] = {}
    cwd: str | None = None
    headers: Mapping[str, str] = {}


async def subject_of(words: Sequence[str], context: Context, **options: Any) -> Subject:
    """What was typed: one word may name a configured server, everything else is a command or URL.

    Raises:
        ConfigError: As :func:`~dragoman.service.targets.target_of`; the configuration cannot be used, or options were given beside it.
        NotAllowed: The server is one of a project file that nobody approved.
    """
    if len(words) == 1 and "/" not in words[0] and words[0] in context.config.servers:
        if any(options.values()):
            raise ConfigError(f"{words[0]} is a configured server: its variables, headers and folder are in its configuration")
        return await _configured(words[0], context)
    target: Target = target_of(words, context, **options)
    cwd = target.cwd or str(context.cwd)
    env = child_environment(target.env, (), context.env)
    return Subject(command=target.command, url=target.url, env=env, cwd=cwd, headers=target.headers)


async def _configured(name: str, context: Context) -> Subject:
    config, server = context.config, context.config.servers[name]
    if not server.enabled:
        raise NotAllowed(f"the server {name} is switched off", hint=f"dragoman enable {name}", server=name)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        reason = await why_held_back(server, config, plumbing)
    finally:
        await plumbing.close()
    if reason is not None:
        raise NotAllowed(reason, hint=f"on a terminal: dragoman enable {name}", server=name)
    launch = resolve_server(server, context.env, context.redactor)
    env = child_environment(launch.env, launch.inherit, context.env)
    return Subject(command=launch.command or (), url=launch.url, env=env, cwd=launch.cwd or str(context.cwd), headers=launch.headers)


def writer_for(subject: Subject, path: Path | None, context: Context) -> tuple[TranscriptWriter, Path]:
    """A new transcript; without a ``path`` one in the working folder, named for the moment.

    Raises:
        ConfigError: It cannot be written, or is there already.
    """
    place = context.cwd / (path if path is not None else time.strftime("transcript-%Y%m%d-%H%M%S.jsonl"))
    redact = context.redactor.redact_text
    if subject.url is not None:
        target: dict[str, Any] = {"kind": "http", "url": redact(subject.url).partition("?")[0]}
    else:
        hidden = set(secret_words(subject.command))
        target = {"kind": "stdio", "command": [MASK if index in hidden else redact(word) for index, word in enumerate(subject.command)]}
    return TranscriptWriter.create(place, target, redact), place


async def record(subject: Subject, writer: TranscriptWriter, *, port: int, announce: Callable[[str], None]) -> int:
    """Stand between a client and the server until either ends, or we are cancelled.

    Args:
        port: For a URL: where to listen, 0 for any; ``announce`` gets the URL for the client.

    Returns:
        The exit status.

    Raises:
        SpawnFailed, ConfigError: It did not begin.
    """
    try:
        if subject.url is None:
            from dragoman.transports.record_stdio import record_stdio

            return await record_stdio(subject.command, writer, env=subject.env, cwd=subject.cwd)
        return await _record_http(subject, writer, port, announce)
    finally:
        writer.close()


async def _record_http(subject: Subject, writer: TranscriptWriter, port: int, announce: Callable[[str], None]) -> int:
    import asyncio

    from dragoman.transports.record_http import HttpRecorder

    assert subject.url is not None
    proxy = HttpRecorder(subject.url, writer, headers=subject.headers)
    await proxy.start(port)
    try:
        announce(proxy.url)
        await asyncio.Event().wait()
    finally:
        await proxy.close()
    return 0
