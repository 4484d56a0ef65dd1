"""Where this user's files live on this platform: state, logs, configuration; created for the owner only."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..errors import ConfigError

_APP: Final = "dragoman"


def state_home(env: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The state folder: ``$DRAGOMAN_HOME``, else the platform's; created with mode 0700, absolute.

    A folder that is there already keeps its mode: ``$DRAGOMAN_HOME`` may name one that others use.

    Raises:
        ConfigError: It cannot be created, or no home folder is known.
    """
    if own := env.get("DRAGOMAN_HOME"):
        return private_folder(Path(own).absolute(), "DRAGOMAN_HOME")
    if platform == "win32":
        base = _absolute(env.get("LOCALAPPDATA")) or _home(env, platform) / "AppData" / "Local"
    elif platform == "darwin":
        base = _home(env, platform) / "Library" / "Application Support"
    else:
        base = _absolute(env.get("XDG_STATE_HOME")) or _home(env, platform) / ".local" / "state"
    return private_folder(base / _APP, None)


def user_config_path(env: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The user's own ``dragoman.toml``, whether it is there or not.

    Raises:
        ConfigError: No home folder is known.
    """
    if platform == "win32":
        base = _absolute(env.get("APPDATA")) or _home(env, platform) / "AppData" / "Roaming"
    elif platform == "darwin":
        base = _absolute(env.get("XDG_CONFIG_HOME")) or _home(env, platform) / "Library" / "Application Support"
    else:
        base = _absolute(env.get("XDG_CONFIG_HOME")) or _home(env, platform) / ".config"
    return base / _APP / "dragoman.toml"


def logs_folder(state: Path) -> Path:
    """The folder of the servers' stderr, ``NAME.log`` each; created with mode 0700."""
    return private_folder(state / "logs", None)


def private_folder(path: Path, variable: str | None) -> Path:
    """``path`` as a folder, created for the owner only where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
    except OSError as exc:
        hint = f"set {variable} to a folder you can write" if variable else "set DRAGOMAN_HOME to a folder you can write"
        raise ConfigError(f"cannot create the folder {path}: {exc.strerror or exc}", key=variable, hint=hint) from exc
    return path


def _absolute(text: str | None) -> Path | None:
    """A relative path in an XDG variable is to be ignored (XDG base directories, "Environment variables")."""
    return Path(text) if text and Path(text).is_absolute() else None


def _home(env: Mapping[str, str], platform: str) -> Path:
    home = env.get("USERPROFILE" if platform == "win32" else "HOME")
    if home:
        return Path(home)
    try:
        return Path.home()
    except RuntimeError as exc:
        raise ConfigError("no home folder is known", hint="set HOME, or DRAGOMAN_HOME and --config") from exc
