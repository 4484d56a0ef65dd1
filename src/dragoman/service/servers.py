"""Servers of the configuration: take them out, switch them on and off; every change leaves a note in the audit."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dragoman.config import write
from dragoman.config.model import Config, ServerConfig
from dragoman.config.paths import user_config_path
from dragoman.errors import ConfigError, NotAllowed
from dragoman.service import trust
from dragoman.service.assemble import only, shown_target
from dragoman.service.context import Context
from dragoman.service.notes import Agreement, note
from dragoman.service.plumbing import Plumbing
from dragoman.service.scopes import scope_of


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What ``remove`` did.

    Attributes:
        file: Where the server stood.
        file_deleted: Nothing but what was written here had been left in it.
        file_empty: It has no servers left, and stays for what else it says.
        project: It lies in the working folder, where it is used in place of the user's own.
        log: The server's log, which stays; ``None`` where it has none.
    """

    file: Path
    file_deleted: bool
    file_empty: bool
    project: bool
    log: Path | None


async def remove(name: str, context: Context, agreed: Agreement) -> Removed:
    """Take a server out of the file in use, and forget what was known about it; its audit and its log stay.

    A file in the working folder of which nothing is left is deleted.

    Raises:
        ConfigError: There is no such server, or the file cannot be changed.
    """
    server, file = _in_file(name, context)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        left = write.remove_server(file, name).servers
        project = context.config.project
        deleted = not left and project and write.delete_if_empty(file)
        await note(plumbing.store, "server removed", agreed, server=name, file=str(file), target=shown_target(server))
        await plumbing.store.forget_server(scope_of(file), name)
        await trust.forget(name, file, plumbing.store)
    finally:
        await plumbing.close()
    log = context.log_path(name)
    return Removed(
        file=file,
        file_deleted=deleted,
        file_empty=not left and not deleted,
        project=project,
        log=log if log.exists() else None,
    )


class Enabling(msgspec.Struct, frozen=True, kw_only=True):
    """What ``enable`` would do.

    Attributes:
        approval: ``new`` or ``changed`` when a person has to look at ``facts`` first.
        switch_on: It is switched off in the file.
    """

    server: ServerConfig
    facts: trust.Facts
    file: Path
    approval: trust.TrustState
    switch_on: bool

    @property
    def asks(self) -> bool:
        """Whether a person has to agree."""
        return self.approval in ("new", "changed")


async def enabling(name: str, context: Context) -> Enabling:
    """What enabling a server takes.

    Raises:
        ConfigError: There is no such server.
    """
    server, file = _in_file(name, context, changing=False)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        state = await trust.trust_state(server, context.config, plumbing.store)
    finally:
        await plumbing.close()
    return Enabling(server=server, facts=trust.facts(server), file=file, approval=state, switch_on=not server.enabled)


async def enable(plan: Enabling, context: Context, agreed: Agreement) -> None:
    """Switch a server on, and approve it where that was needed: exactly what the plan shows, whatever the file says by now.

    Raises:
        NotAllowed: ``--yes`` was said, and the policy does not take it.
        ConfigError: The file cannot be changed.
    """
    name = plan.server.name
    if plan.asks and agreed.how == "--yes":
        refuse_yes(context)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        if plan.switch_on:
            write.set_enabled(write.target(context.named, user=False, env=context.env, cwd=context.cwd), name, True)
            await note(plumbing.store, "server enabled", agreed, server=name, file=str(plan.file))
        if plan.asks:
            await trust.approve(plan.server, plan.file, plumbing.store, agreed)
    finally:
        await plumbing.close()


async def disable(name: str, context: Context, agreed: Agreement) -> bool:
    """Switch a server off in the file; false if it was off already.

    Raises:
        ConfigError: There is no such server, or the file cannot be changed.
    """
    server, file = _in_file(name, context)
    if not server.enabled:
        return False
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        write.set_enabled(file, name, False)
        await note(plumbing.store, "server disabled", agreed, server=name, file=str(file))
    finally:
        await plumbing.close()
    return True


def refuse_yes(context: Context) -> None:
    """Stop ``--yes`` where the policy switched it off.

    Raises:
        NotAllowed: It did.
    """
    if not context.config.policy.allow_yes:
        raise NotAllowed("--yes is switched off by policy.allow_yes", hint="answer on a terminal, without --yes")


def find_server(name: str, config: Config) -> ServerConfig:
    """A server by its name.

    Raises:
        ConfigError: There is none; the hint has the nearest names.
    """
    return only(config, [name]).servers[name]


def for_user(context: Context) -> Context:
    """The same surroundings with the user's own file in place of the one in use.

    Raises:
        ConfigError: There is none.
    """
    file = user_config_path(context.env)
    if not file.exists():
        raise ConfigError("no such file", file=str(file), hint="dragoman add --user makes it")
    return Context(file, env=context.env, cwd=context.cwd)


def _in_file(name: str, context: Context, *, changing: bool = True) -> tuple[ServerConfig, Path]:
    config = context.config
    server = find_server(name, config)
    file = write.target(context.named, user=False, env=context.env, cwd=context.cwd) if changing else config.path
    assert file is not None, "a server that was found stands in a file"
    return server, file
