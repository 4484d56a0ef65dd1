"""Changes ``dragoman.toml`` the way a careful person would: comments and order stay, and a broken file is never left behind."""

from __future__ import annotations

import copy
import os
import tempfile
import tomllib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from ..errors import ConfigError
from ..wire.tier import DEFAULT_TIER, Tier
from . import checks
from .guards import as_written
from .load import FILE_NAME, find, parse, parse_toml, read_text
from .model import BreakerConfig, Config, Limits, ServerConfig, ToolConfig
from .paths import user_config_path

_TRIES: Final = 5

#: Changes a table of tables, standard dictionaries and tomlkit's documents alike.
Edit = Callable[[Any], None]


def target(named: str | Path | None, *, user: bool, env: Mapping[str, str], cwd: Path) -> Path:
    """The file that a command writes to: the one in use, else a new one in the working folder (``user``: the user's).

    Raises:
        ConfigError: The file in use belongs to another host.
    """
    if user:
        return user_config_path(env)
    if chosen := named or env.get("DRAGOMAN_CONFIG"):
        path = cwd / chosen
    else:
        found = find(None, env, cwd)
        path = cwd / FILE_NAME if found is None else found.path
    if path.suffix.lower() in (".json", ".jsonc"):
        hint = "write to the user's file with --user, or name another with --config FILE.toml"
        raise ConfigError("belongs to another host and is only read", file=str(path), hint=hint)
    return path


def add_server(path: Path, server: ServerConfig, *, replace: bool = False) -> Config:
    """Write a new server at the end of ``path``, which is created where it is missing; the configuration as it is now.

    Raises:
        ConfigError: There is a server of that name already and not ``replace``, or the file would not be valid.
    """
    if (problem := checks.server_name(server.name)) is not None:
        raise ConfigError(problem)
    table = server_table(server)

    def change(text: str) -> tuple[str, Edit]:
        values = parse_toml(text, path)[0] if text else {}
        servers = values.get("servers")
        if isinstance(servers, dict) and server.name in servers:
            if not replace:
                hint = f"remove it first: dragoman remove {server.name}"
                raise ConfigError(f'there is a server "{server.name}" already', file=str(path), key=f"servers.{server.name}", hint=hint)
            text = _edited(text, lambda doc: doc["servers"].pop(server.name))

        def edit(plain: Any) -> None:
            plain.setdefault("servers", {})[server.name] = table

        # Appended as text: tomlkit would put it behind the first of several groups of servers, far from where one looks.
        block = _dumps({"servers": {server.name: table}})
        return (text.rstrip("\n") + "\n\n" + block if text.strip() else block), edit

    return _rewrite(path, change, create=True)


def remove_server(path: Path, name: str) -> Config:
    """Take a server out of ``path``.

    Raises:
        ConfigError: It is not there.
    """
    return _edit_server(path, name, lambda servers: servers.pop(name))


def delete_if_empty(path: Path) -> bool:
    """Take away a file that says nothing any more and holds no word of a person's; whether it is gone.

    An empty file in the working folder would be used in place of the user's own.

    Raises:
        ConfigError: It cannot be read or taken away.
    """
    text = read_text(path)
    if path.is_symlink() or "#" in text or _pruned(parse_toml(text, path)[0]):
        return False
    try:
        path.unlink()
    except OSError as exc:
        raise ConfigError(f"cannot be taken away: {exc.strerror or exc}", file=str(path)) from exc
    return True


def set_tier(path: Path, server: str, tool: str, tier: Tier) -> Config:
    """Set the tier of a tool or a pattern of tools.

    Raises:
        ConfigError: The server is not in the file, or tool or tier are not valid.
    """
    return set_tiers(path, server, {tool: tier})


def set_tiers(path: Path, server: str, tiers: Mapping[str, Tier], *, drop: Collection[str] = ()) -> Config:
    """Set several tiers of one server, by tool or pattern, in one change.

    Args:
        drop: Rules that are taken out.

    Raises:
        ConfigError: The server is not in the file, or a tool or tier is not valid.
    """
    for tool, tier in tiers.items():
        if (problem := checks.tier(tier) or checks.pattern(tool)) is not None:
            raise ConfigError(problem)

    def edit(servers: Any) -> None:
        tools = servers[server].setdefault("tools", {})
        for tool, tier in tiers.items():
            if isinstance(tools.get(tool), dict):
                tools[tool]["tier"] = tier
            else:
                tools[tool] = tier
        for tool in drop:
            tools.pop(tool, None)

    return _edit_server(path, server, edit)


def set_tool_enabled(path: Path, server: str, tool: str, enabled: bool) -> Config:
    """Switch an L3 tool on or off; its tier, if it has one by its name, stays.

    Raises:
        ConfigError: The server is not in the file, or the file cannot be changed.
    """

    def edit(servers: Any) -> None:
        tools = servers[server].setdefault("tools", {})
        was = tools.get(tool)
        if not enabled and not isinstance(was, dict):
            return
        entry = was if isinstance(was, dict) else {} if was is None else {"tier": was}
        if enabled:
            entry["enabled"] = True
        else:
            entry.pop("enabled", None)
        if not entry:
            del tools[tool]
        elif not isinstance(was, dict):
            tools[tool] = entry

    return _edit_server(path, server, edit)


def set_enabled(path: Path, name: str, enabled: bool) -> Config:
    """Switch a server on or off.

    Raises:
        ConfigError: It is not in the file.
    """

    def edit(servers: Any) -> None:
        if enabled:
            servers[name].pop("enabled", None)
        else:
            servers[name]["enabled"] = False

    return _edit_server(path, name, edit)


def server_table(server: ServerConfig) -> dict[str, object]:
    """A server as the table that would be written for it; settings at their default are left out."""
    limits = _unusual(server.limits, Limits())
    tools: dict[str, object] = {}
    for name, tool in server.tools.items():
        entry = _unusual(tool, ToolConfig())
        if "raises" in entry:
            del entry["raises"]
            entry["raise"] = [msgspec.structs.asdict(rule) for rule in tool.raises]
        if tool.guards:
            entry["guards"] = as_written(tool.guards)
        tools[name] = tool.tier if list(entry) == ["tier"] else entry
    table: dict[str, object] = {
        "command": list(server.command) if server.command is not None else None,
        "url": server.url,
        "cwd": server.cwd,
        "inherit": list(server.inherit),
        "timeout_s": server.timeout_s,
        "connect_s": server.connect_s,
        "idle_s": server.idle_s,
        "heartbeat_s": server.heartbeat_s,
        "idle_stop_s": server.idle_stop_s,
        "max_timeout_s": server.max_timeout_s,
        "breaker": _unusual(server.breaker, BreakerConfig()) if server.breaker is not None else False,
        "revision": server.revision,
        "default_tier": server.default_tier if server.default_tier != DEFAULT_TIER else None,
        "trust": server.trust if server.trust != "normal" else None,
        "enabled": None if server.enabled else False,
        "env": dict(server.env),
        "headers": dict(server.headers),
        "limits": limits,
        "tools": tools,
    }
    return {key: value for key, value in table.items() if value is False or value not in (None, [], {})}


def _unusual(value: msgspec.Struct, usual: msgspec.Struct) -> dict[str, object]:
    """The settings of a table that are not at their default."""
    return {key: found for key in value.__struct_fields__ if (found := getattr(value, key)) != getattr(usual, key)}


def _edit_server(path: Path, name: str, edit_servers: Edit) -> Config:
    def change(text: str) -> tuple[str, Edit]:
        values, _ = parse_toml(text, path)
        servers = values.get("servers")
        if not isinstance(servers, dict) or name not in servers:
            listed = list(servers) if isinstance(servers, dict) else []
            names = (", ".join(listed[:12]) + (f" and {len(listed) - 12} more" if len(listed) > 12 else "")) or "none"
            raise ConfigError(f'there is no server "{name}"', file=str(path), hint=f"servers in this file: {names}")

        def edit(doc: Any) -> None:
            edit_servers(doc["servers"])

        return _edited(text, edit), edit

    return _rewrite(path, change, create=False)


def _edited(text: str, edit: Edit) -> str:
    import tomlkit

    document = tomlkit.parse(text)
    edit(document)
    return document.as_string()


def _dumps(values: dict[str, object]) -> str:
    import tomlkit

    return tomlkit.dumps(values)


def _rewrite(path: Path, change: Callable[[str], tuple[str, Edit]], *, create: bool) -> Config:
    """Read, change, check and replace ``path``; begun anew where another program changed the file meanwhile."""
    real = Path(os.path.realpath(path))  # a link to a file kept elsewhere stays a link
    for _ in range(_TRIES):
        exists = real.exists()
        if not exists and not create:
            raise ConfigError("no such file", file=str(path))
        before = read_text(real) if exists else ""
        after, edit = change(before)
        config = _checked(before, after, edit, path)
        if (read_text(real) if real.exists() else "") == before:
            _replace(real, after)
            return config
    raise ConfigError("another program keeps changing this file; nothing was written", file=str(path))


def _checked(before: str, after: str, edit: Edit, path: Path) -> Config:
    """The configuration in ``after``, which must be valid and differ from ``before`` by exactly ``edit``."""
    expected = copy.deepcopy(tomllib.loads(before))
    edit(expected)
    try:
        found = tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        found = None
    if found is None or _pruned(found) != _pruned(expected):
        hint = "write each server as a table of its own, [servers.NAME], or make the change by hand"
        raise ConfigError("is written in a way that cannot be changed safely here; nothing was written", file=str(path), hint=hint)
    return parse(after, path)


def _pruned(values: dict[str, Any]) -> dict[str, Any]:
    """Without empty tables: the last key of a table may take its header along."""
    pruned = {key: _pruned(value) if isinstance(value, dict) else value for key, value in values.items()}
    return {key: value for key, value in pruned.items() if value != {}}


def _replace(path: Path, text: str) -> None:
    """Write the whole file beside ``path`` and rename it into place; the mode is kept, a new file is the owner's alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                os.chmod(temporary, path.stat().st_mode & 0o777)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(path.parent)
    except OSError as exc:
        raise ConfigError(f"cannot be written: {exc.strerror or exc}", file=str(path)) from exc


def _sync_folder(folder: Path) -> None:
    """Make the rename last through a power cut, where the platform can open folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
