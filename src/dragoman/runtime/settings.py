"""Arguments of a client that cannot be meant, refused by name before anything starts. What depends on the target is in targets.py."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from dragoman.errors import ConfigError, LocalProtocolError


def check_target(target: object) -> None:
    """Refuse what is no target at all.

    Raises:
        LocalProtocolError: It is no command, no URL and no transport, or an item of the command is no text.
        ConfigError: It is a URL that cannot be read.
    """
    if isinstance(target, str):
        _check_text("target", target)
        try:
            urlsplit(target)
        except ValueError as exc:
            raise ConfigError(f"the URL {target[:200]} cannot be read: {exc}") from exc
    elif isinstance(target, Sequence):
        for item in target:
            if not isinstance(item, str | os.PathLike):
                raise _refused("target", "a command of text items", item)
            _check_text("target", os.fspath(item))
    elif not (hasattr(target, "open") and hasattr(target, "perform") and hasattr(target, "close")):
        raise _refused("target", "a command as a list, a URL or a transport", target, hint='e.g. ["python3", "server.py"]')


def check_seconds(**values: object) -> None:
    """Refuse deadlines that are no positive numbers, by name."""
    for name, value in values.items():
        if not (_is_number(value) and value > 0):  # type: ignore[operator]  # a number by then
            raise _refused(name, "a positive number of seconds", value)


def check_stop(stop_s: object) -> None:
    """Refuse a time to stop that is no number, endless or below 0; 0 is SIGKILL at once."""
    if not (_is_number(stop_s) and 0 <= stop_s < math.inf):  # type: ignore[operator]  # a number by then
        raise _refused("stop_s", "a finite number of seconds, 0 or more", stop_s)


def check_frame_limit(limit: object) -> None:
    """Refuse a limit that no message could keep to."""
    if not (isinstance(limit, int) and not isinstance(limit, bool) and limit > 0):
        raise _refused("frame_limit", "a positive number of bytes", limit)


def check_names(**values: object) -> None:
    """Refuse names that cannot be sent: no text, or no valid Unicode."""
    for name, value in values.items():
        if not isinstance(value, str):
            raise _refused(name, "text", value)
        _check_text(name, value)


def check_place(env: object, inherit: object, base_env: object, headers: object, cwd: object) -> None:
    """Refuse variables, headers and a folder that are not made of text."""
    for name, pairs in (("env", env), ("base_env", base_env), ("headers", headers)):
        if pairs is None:
            continue
        if not isinstance(pairs, Mapping):
            raise _refused(name, "a mapping of text to text", pairs)
        for key, value in pairs.items():
            if not (isinstance(key, str) and isinstance(value, str)):
                wrong = key if not isinstance(key, str) else value
                raise _refused(f"{name}[{key!r:.80}]", "text", wrong, hint="leave out what is not set")
            if name == "env" and (not key or "=" in key or "\0" in key or "\0" in value):
                raise _refused(f"{name}[{key!r:.80}]", "a name without '=', and no NUL", key)
    if isinstance(inherit, str) or not isinstance(inherit, Iterable):
        raise _refused("inherit", "a list of names", inherit)
    if cwd is not None and not isinstance(cwd, str | os.PathLike):
        raise _refused("cwd", "a path", cwd)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _refused(name, "valid Unicode text", text) from None
    if name == "target" and "\0" in text:
        raise _refused(name, "text without NUL", text)


def _refused(name: str, expected: str, value: object, *, hint: str | None = None) -> LocalProtocolError:
    shown = type(value).__name__ if name.startswith(("env[", "base_env[", "headers[")) else f"{value!r:.80}"  # those may be secrets
    return LocalProtocolError(f"{name} must be {expected}, got {shown}", hint=hint)
