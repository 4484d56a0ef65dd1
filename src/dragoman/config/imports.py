"""Reads the ``mcpServers`` / ``servers`` JSON of other hosts as it is: their words for our keys, their spelling of variables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from ..errors import ConfigError
from . import build, checks
from .limits import check_depth, check_servers
from .lines import json_lines, without_comments
from .model import Config, ServerConfig, Source
from .table import Table

#: Where other hosts keep such a file in a project, in the order in which we look.
PROJECT_FILES: Final = (".mcp.json", "mcp.json", ".cursor/mcp.json", ".vscode/mcp.json")

_FOLDERS: Final = (".cursor", ".vscode")
_URLS: Final = ("url", "serverUrl", "httpUrl")
_TAKEN: Final = ("command", "args", *_URLS, "cwd", "env", "headers", "disabled", "enabled", "excludeTools", "disabledTools")
# Claude, Gemini, Cline and others: permissions that we do not grant on a file's word, and labels for people.
_DROPPED: Final = ("type", "transport", "alwaysAllow", "autoApprove", "trust", "description", "name", "icon", "gallery", "timeout")
# Protection that the other host gives and we would not.
_REFUSED: Final = ("sandbox", "sandboxEnabled", "includeTools", "enabledTools")


def read_json(text: str, path: Path, *, project: bool) -> Config:
    """Read another host's file.

    Names that cannot be ours are rewritten, with a warning.

    Raises:
        ConfigError: The JSON is broken, holds no servers, or a server cannot be used; with file and line.
    """
    plain = without_comments(text)
    check_depth(plain, path)
    try:
        values = json.loads(plain, object_pairs_hook=_no_duplicates)
        lines = json_lines(plain)
    except json.JSONDecodeError as exc:
        raise ConfigError(f"not valid JSON: {exc.msg} (column {exc.colno})", file=str(path), line=exc.lineno) from exc
    except _Duplicate as exc:
        raise ConfigError(f'the key "{exc}" is there twice in one object', file=str(path)) from exc
    except (RecursionError, ValueError) as exc:
        raise ConfigError(f"not valid JSON: {type(exc).__name__}", file=str(path)) from exc
    source = Source(file=path, lines=lines)
    if not isinstance(values, dict):
        raise ConfigError('expected an object with "mcpServers" or "servers"', file=str(path), line=1)
    top = Table(values, (), source)
    if "mcp" in top and "servers" not in top and "mcpServers" not in top:  # an editor's settings.json
        top = top.table("mcp", "an object")
    container = next((key for key in ("mcpServers", "servers") if key in top), None)
    if container is None:
        raise top.error('no "mcpServers" or "servers" in this file', hint="name a dragoman.toml, or another host's mcp.json")
    table = top.table(container, "an object of servers")
    check_servers(len(table.values), path)
    warnings: list[str] = []
    servers: dict[str, ServerConfig] = {}
    for original in table.values:
        name = _our_name(original)
        if name in servers:
            raise table.error(f"two servers of this file would be called {name} here; rename one", original)
        if name != original:
            warnings.append(str(table.error(f"is called {name} here", original)))
        servers[name] = _server(name, table.table(original, "an object"), path, warnings)
    return Config(path=path, project=project, servers=servers, warnings=tuple(warnings))


class _Duplicate(Exception):
    pass


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = {}
    for key, value in pairs:
        if key in result:
            raise _Duplicate(key)
        result[key] = value
    return result


def _our_name(original: str) -> str:
    if checks.server_name(original) is None:
        return original
    return re.sub(r"[^A-Za-z0-9_-]+", "-", original).strip("-_")[:32].rstrip("-_") or "server"


def _server(name: str, theirs: Table, path: Path, warnings: list[str]) -> ServerConfig:
    for key in theirs.values:
        if key in _REFUSED:
            hint = 'copy the server into a dragoman.toml and switch tools off by their tier ("off")'
            raise theirs.error("another host's protection that is not supported here", key, hint=hint)
        if key not in _TAKEN and key not in _DROPPED:
            warnings.append(str(theirs.error("is not read", key)))
    folder = path.absolute().parent
    workspace = folder.parent if folder.name in _FOLDERS else folder
    ours: dict[str, object] = {}
    command = theirs.text("command")
    args = theirs.texts("args", "an array of text")
    if command is not None:
        ours["command"] = [_translate(word, workspace) for word in (command, *(args or ()))]
        ours["env"] = {key: _as_text(value, workspace) for key, value in theirs.table("env").values.items() if value is not None}
        cwd = theirs.text("cwd")
        if cwd is not None or workspace != folder:
            ours["cwd"] = str(workspace / _translate(cwd or ".", workspace))
    url = next((value for key in _URLS if (value := theirs.text(key)) is not None), None)
    if url is not None:
        ours["url"] = _translate(url, workspace)
        headers = theirs.table("headers").values
        ours["headers"] = {key: _translate(value, workspace) if isinstance(value, str) else value for key, value in headers.items()}
    ours["enabled"] = theirs.flag("enabled", True) and not theirs.flag("disabled", False)
    off = (*(theirs.texts("excludeTools", "an array of text") or ()), *(theirs.texts("disabledTools", "an array of text") or ()))
    ours["tools"] = dict.fromkeys(off, "off")
    return build.server(name, Table(ours, theirs.path, theirs.source), warnings)


def _as_text(value: object, workspace: Path) -> object:
    """JSON files write numbers and booleans as they are; a process gets text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    return _translate(value, workspace) if isinstance(value, str) else value


_THEIR_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}")


def _translate(text: str, workspace: Path) -> str:
    """``${NAME}`` and ``${NAME:-default}`` as our ``${env:…}``; editors' words for folders as what they stand for."""

    def one(match: re.Match[str]) -> str:
        name, default = match[1], match[2] or ""
        match name:
            case "workspaceFolder" | "workspaceRoot":
                return str(workspace)
            case "workspaceFolderBasename":
                return workspace.name
            case "userHome":
                return "${env:HOME}"
            case "pathSeparator":
                return "/"
            case _:
                return f"${{env:{name}{default}}}"

    return _THEIR_VARIABLE.sub(one, text)
