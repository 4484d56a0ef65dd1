"""Which configuration is in use, whether it is valid, and what it says with its secrets masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from dragoman.config.describe import describe
from dragoman.config.load import find, load_file
from dragoman.config.paths import user_config_path
from dragoman.service.context import Context
from dragoman.service.overruled import notices


class ConfigPath(msgspec.Struct, frozen=True, kw_only=True):
    """The file in use, or ``None``; ``project``: it was found in the working folder; ``user``: where the user's file is or would be."""

    path: str | None
    project: bool
    user: str


class ConfigCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is valid. ``warnings`` are keys that have no effect, ``notices`` patterns that decide nothing."""

    path: str | None
    servers: list[str]
    warnings: list[str]
    notices: list[str]


def where(context: Context) -> ConfigPath:
    """The file in use, not opened.

    Raises:
        ConfigError: One was named and is not there.
    """
    found = find(context.named, context.env, context.cwd)
    user = str(user_config_path(context.env))
    return ConfigPath(path=str(found.path) if found else None, project=found.project if found else False, user=user)


async def check(context: Context, file: Path | None = None) -> ConfigCheck:
    """Read a file (or the one in use) and check all of it.

    Raises:
        ConfigError: The first thing that is wrong, with file, line and key.
    """
    config = load_file(file) if file is not None else context.config
    return ConfigCheck(
        path=str(config.path) if config.path else None,
        servers=list(config.servers),
        warnings=list(config.warnings),
        notices=await notices(context, config) if context.store_path.exists() else [],
    )


def show(context: Context) -> dict[str, Any]:
    """What the configuration in use says, literal secrets masked.

    Raises:
        ConfigError: It cannot be used.
    """
    return dict(describe(context.config))
