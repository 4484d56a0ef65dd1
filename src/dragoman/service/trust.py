"""Project files: which of their servers a person approved, for exactly which command line, and the approving itself."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from dragoman.config.model import Config, ServerConfig, ToolConfig
from dragoman.config.secrets import mask_server
from dragoman.service.notes import Agreement, note
from dragoman.store.base import Store
from dragoman.store.records import TrustedCommand

TrustState = Literal["not needed", "approved", "new", "changed"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a person must see before a server of a project file may start: secrets masked, variables unresolved.

    Attributes:
        cwd: The folder it starts in, absolute where no variable is in it.
        env, headers: Names with what the file gives them; ``inherit`` are names passed on from our own environment.
        tools: Tier by tool name or pattern; an L3 tool that is on says so.
    """

    name: str
    file: str
    command: tuple[str, ...] | None
    url: str | None
    cwd: str | None
    env: dict[str, str]
    inherit: tuple[str, ...]
    headers: dict[str, str]
    default_tier: str
    tools: dict[str, str]


def facts(server: ServerConfig) -> Facts:
    """A server as it may be shown."""
    shown = mask_server(server)
    folder = server.folder
    cwd = str(folder) if folder is not None else None
    if server.cwd is not None and not server.cwd.startswith(("~", "$")):
        cwd = str((folder or Path()) / server.cwd)
    elif server.cwd is not None:
        cwd = server.cwd
    return Facts(
        name=server.name,
        file=str(server.source.file) if server.source else "",
        command=shown.command,
        url=shown.url,
        cwd=cwd if server.command is not None else None,
        env=dict(shown.env),
        inherit=server.inherit,
        headers=dict(shown.headers),
        default_tier=server.default_tier,
        tools={name: tier for name, tool in server.tools.items() if (tier := _tier_of(tool)) is not None},
    )


def _tier_of(tool: ToolConfig) -> str | None:
    return f"{tool.tier or 'L3'}, switched on" if tool.enabled else tool.tier


async def trust_state(server: ServerConfig, config: Config, store: Store) -> TrustState:
    """Whether a server of ``config`` may start."""
    if not config.project or config.path is None:
        return "not needed"
    trusted = await store.trusted_command(_key(config.path), server.name)
    if trusted is None:
        return "new"
    return "approved" if trusted.hash == server.launch_hash() else "changed"


async def approve(server: ServerConfig, file: Path, store: Store, agreed: Agreement) -> None:
    """Remember a person's yes to exactly this server of exactly this file, and write it down.

    Raises:
        DragomanError: It could not be written.
    """
    await note(store, "server approved", agreed, server=server.name, file=str(file), launch_sha256=server.launch_hash())
    await remember(server, file, store, agreed)


async def remember(server: ServerConfig, file: Path, store: Store, agreed: Agreement) -> None:
    """The same without a note, for a change that has one of its own.

    Raises:
        DragomanError: It could not be written.
    """
    digest = server.launch_hash()
    await store.trust_command(TrustedCommand(path=_key(file), server=server.name, hash=digest, at=agreed.at, by=agreed.by))


async def forget(server: str, file: Path, store: Store) -> None:
    """Forget what was approved for a server of a file, which was taken out of it.

    Raises:
        DragomanError: The store cannot be used.
    """
    await store.distrust_command(_key(file), server)


def _key(file: Path) -> str:
    return str(file.absolute())
