"""Finds the configuration file and reads it; every complaint names file, line, key and what was expected."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import ConfigError
from .build import build
from .imports import PROJECT_FILES, read_json
from .limits import MAX_VALUES, check_depth, largest
from .lines import toml_lines
from .model import Config, Source
from .paths import user_config_path

FILE_NAME: Final = "dragoman.toml"
_TOML_PLACE: Final = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class Found(NamedTuple):
    """A configuration file, and whether it was only found lying in the working folder."""

    path: Path
    project: bool


def find(named: str | Path | None, env: Mapping[str, str], cwd: Path, named_by: str = "--config") -> Found | None:
    """The file to use: ``named``, ``$DRAGOMAN_CONFIG``, one in ``cwd``, the user's; ``None`` if there is none.

    ``named_by`` says in errors who named it.
    Only a file in ``cwd`` that nobody named is a project file; the user's own file is none even when it lies there.

    Raises:
        ConfigError: A named file is not there.
    """
    for text, origin in ((named, named_by), (env.get("DRAGOMAN_CONFIG"), "$DRAGOMAN_CONFIG")):
        if text:
            path = cwd / text
            if not path.exists():
                raise ConfigError(
                    f"no such file (named by {origin})",
                    file=str(path),
                    hint=f"create it, or leave {origin} out" if origin[0] in "-$" else "create it, or name another",
                )
            return Found(path, project=False)
    try:
        user = user_config_path(env)
    except ConfigError:  # no home folder: nothing to find there
        user = None
    for name in (FILE_NAME, *PROJECT_FILES):
        path = cwd / name
        if path.is_file():
            mine = user is not None and user.is_file() and path.samefile(user)
            return Found(path, project=not mine)
    return Found(user, project=False) if user is not None and user.is_file() else None


def load(
    named: str | Path | None = None, *, env: Mapping[str, str] | None = None, cwd: Path | None = None, named_by: str = "--config"
) -> Config:
    """Find and read the configuration; an empty one where there is no file.

    Raises:
        ConfigError: The file cannot be read or used.
    """
    found = find(named, os.environ if env is None else env, Path.cwd() if cwd is None else cwd, named_by)
    return Config() if found is None else load_file(found.path, project=found.project)


def load_file(path: Path, *, project: bool = False) -> Config:
    """Read one file, ``dragoman.toml`` or another host's JSON.

    Raises:
        ConfigError: The file cannot be read or used.
    """
    return parse(read_text(path, project=project), path, project=project)


def read_text(path: Path, *, project: bool = False) -> str:
    """The text of a configuration file, without a byte order mark.

    Raises:
        ConfigError: It cannot be read, is no regular file, is too large or is no UTF-8.
    """
    limit = largest(path, project=project)
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode) and not path.samefile(os.devnull):  # opening it might wait for ever
            what = "a named pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
            raise ConfigError(f"is {what}, not a file", file=str(path), hint="write the configuration into a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror or exc}", file=str(path)) from exc
    if len(data) > limit:
        size = max(len(data), path.stat().st_size)
        raise ConfigError(f"is {size / 2**20:.1f} MB, limit {limit // 2**20} MB", file=str(path))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise ConfigError("is not UTF-8 text", file=str(path), line=line, hint="save the file as UTF-8") from exc


def parse(text: str, path: Path, *, project: bool = False) -> Config:
    """Check the text of a file: JSON where it is named ``.json`` or starts with a brace, else TOML.

    Raises:
        ConfigError: For the first thing that is wrong.
    """
    if path.suffix.lower() in (".json", ".jsonc") or text.lstrip().startswith("{"):
        return read_json(text, path, project=project)
    return build(*parse_toml(text, path), project=project)


def parse_toml(text: str, path: Path) -> tuple[dict[str, object], Source]:
    """The values of a TOML file and where they stand, not yet checked.

    Raises:
        ConfigError: The text is not valid TOML, or too deep.
    """
    check_depth(text, path, MAX_VALUES)
    try:
        values = tomllib.loads(text)
        lines = toml_lines(text)
    except tomllib.TOMLDecodeError as exc:
        place = _TOML_PLACE.fullmatch(str(exc))
        if place is None:
            raise ConfigError(f"not valid TOML: {exc}", file=str(path)) from exc
        line = int(place[2]) if place[2] else max(1, len(text.splitlines()))
        column = f" (column {place[3]})" if place[3] else " (end of file)"
        raise ConfigError(f"not valid TOML: {place[1]}{column}", file=str(path), line=line) from exc
    except (RecursionError, ValueError) as exc:  # nested too deeply, or a number of thousands of digits
        raise ConfigError(f"not valid TOML: {str(exc) or type(exc).__name__}", file=str(path)) from exc
    return values, Source(file=path, lines=lines)
