"""Taking servers over from another host's configuration: where it lies, which servers it has, and how each would be written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from dragoman.config import write
from dragoman.config.load import FILE_NAME, load_file
from dragoman.config.model import Config, ServerConfig, Source
from dragoman.errors import ConfigError
from dragoman.service.adding import names_a_file
from dragoman.service.context import Context

HOSTS: Final = ("claude", "cursor", "vscode")


class Import(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        source: The other host's file.
        file: Where its servers would be written.
        servers: As they would be written, tools and tiers aside.
        left_out: Why a server is left out, by name.
    """

    source: Path
    file: Path
    servers: list[ServerConfig]
    left_out: dict[str, str]
    warnings: tuple[str, ...]


def look(origin: str, context: Context, *, user: bool = False) -> Import:
    """Find and read another host's file; connects to nothing, changes nothing.

    Args:
        origin: ``claude``, ``cursor``, ``vscode``, or a file.
        user: Into the user's file.

    Raises:
        ConfigError: There is no such file, it cannot be read, or it has no servers.
    """
    source, theirs = _read(origin, context)
    file = _target(source, context, user=user)
    present = load_file(file).servers if file.exists() else {}
    servers, left_out = [], {}
    for name, server in theirs.servers.items():
        if name in present:
            left_out[name] = f"there is a server of that name in {file}"
        elif not server.enabled:
            left_out[name] = f"it is switched off in {source}"
        else:
            servers.append(_moved(server, file))
    return Import(source=source, file=file, servers=servers, left_out=left_out, warnings=theirs.warnings)


def places(host: str, context: Context, *, platform: str = sys.platform) -> list[Path]:
    """Where a host keeps its servers, in the order in which we look: this folder first, then the user's.

    Source: the hosts' own documentation, autumn 2026.
    """
    home = Path(context.env.get("HOME") or context.env.get("USERPROFILE") or "~").expanduser()
    programs = home / ".config"
    if platform == "darwin":
        programs = home / "Library" / "Application Support"
    elif platform == "win32":
        programs = Path(context.env.get("APPDATA") or home / "AppData" / "Roaming")
    return {
        "claude": [context.cwd / ".mcp.json", home / ".claude.json", programs / "Claude" / "claude_desktop_config.json"],
        "cursor": [context.cwd / ".cursor" / "mcp.json", home / ".cursor" / "mcp.json"],
        "vscode": [context.cwd / ".vscode" / "mcp.json", programs / "Code" / "User" / "mcp.json"],
    }[host]


def _read(origin: str, context: Context) -> tuple[Path, Config]:
    if origin not in HOSTS:
        path = context.cwd / origin
        if not path.exists():
            raise ConfigError("no such file", file=str(path), hint=f"name a file, or one of {', '.join(HOSTS)}")
        return path, load_file(path)
    looked = places(origin, context)
    trouble: ConfigError | None = None
    for path in looked:
        if path.is_file():
            try:
                found = load_file(path)
            except ConfigError as exc:  # a file of many purposes, with no servers in it; another place may have some
                trouble = trouble or exc
                continue
            if found.servers:
                return path, found
    raise trouble or ConfigError(f"{origin} has no servers here", hint=f"looked at {', '.join(map(str, looked))}; name its file instead")


def _target(source: Path, context: Context, *, user: bool) -> Path:
    try:
        return write.target(context.named, user=user, env=context.env, cwd=context.cwd)
    except ConfigError:
        # The file in use is the very one that is taken over: ours, beside it, is used before it from now on.
        if context.config.path is None or not context.config.path.samefile(source):
            raise
        return context.cwd / FILE_NAME


def _moved(server: ServerConfig, file: Path) -> ServerConfig:
    """The server as it stands in another file: a command that names files of its old folder still starts there."""
    cwd, folder = server.cwd, server.folder
    elsewhere = folder is not None and folder != file.absolute().parent
    if cwd is None and elsewhere and folder is not None and any(names_a_file(word, folder) for word in server.command or ()):
        cwd = str(folder)
    elif cwd is not None and elsewhere and folder is not None and not cwd.startswith(("~", "$")):
        cwd = str(folder / cwd)
    return msgspec.structs.replace(server, cwd=cwd, source=Source(file=file, lines={}), key=("servers", server.name))
