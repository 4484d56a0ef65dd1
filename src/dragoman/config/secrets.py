"""Resolves ``${env:NAME}`` when a server starts, and tells the redactor every secret that it sees on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

from ..errors import ConfigError
from . import checks
from .model import ServerConfig
from .redactor import MASK, Redactor

__all__ = ["MASK", "Launch", "Redactor", "looks_secret", "resolve", "resolve_server", "secret_words"]

# Only these three begin a variable: ${HOME} in a shell command stays as it is.  $${env:X} is the text ${env:X}.
_VARIABLE: Final = re.compile(r"(\$?)\$\{(env|secret|input):([^}]*)(\}?)")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_SECRET_NAME: Final = re.compile(
    r"token|secret|passw|passphrase|credential|authorization|cookie|api[_-]?key|private"
    r"|(?:^|[_-])(?:key|keys|pass|pwd|auth|pat|dsn)(?:$|[_-])",
    re.IGNORECASE,
)
# Redacting these would blacken every path in a trace.
_EVERYWHERE: Final = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR"})
_NOT_SECRET: Final = ("PWD", "OLDPWD", "SSH_AUTH_SOCK")


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What it takes to start or reach a server, with secrets in it: for the transport only, never shown or stored.

    Attributes:
        cwd: Absolute folder to start in, or ``None`` for the caller's.
        env: The variables that the configuration sets for the process.
        inherit: Names of further variables to pass on; a final ``*`` matches any ending.
    """

    command: tuple[str, ...] | None
    url: str | None
    cwd: str | None
    env: dict[str, str]
    inherit: tuple[str, ...]
    headers: dict[str, str]


def resolve(
    value: str,
    env: Mapping[str, str],
    redactor: Redactor | None = None,
    *,
    error: Callable[[str], ConfigError] = ConfigError,
) -> str:
    """``value`` with ``${env:NAME}`` and ``${env:NAME:-default}`` replaced; an empty variable counts as unset for the default.

    Args:
        env: Where variables are looked up.
        redactor: Learns the value of every variable used, save those that every child gets (``HOME``, ``PATH`` …).
        error: Builds the error from a sentence, with file, line and key.

    Raises:
        ConfigError: A variable is not set, or its name is not one, or it is of a kind that is not there yet.
    """

    def one(match: re.Match[str]) -> str:
        escaped, kind, body, end = match.groups()
        if escaped:
            return match.group()[1:]
        if not end:
            raise error(f"${{{kind}: has no closing brace")
        if kind == "secret":
            raise error(f"${{secret:{body}}} needs the secret store, which is not there yet; use ${{env:NAME}}")
        if kind == "input":
            raise error(f"${{input:{body}}} asks a person in another program; use ${{env:NAME}}")
        name, has_default, default = body.partition(":-")
        if not _NAME.fullmatch(name):
            raise error(f"{name!r} in ${{env:{body}}} is not the name of a variable")
        found = env.get(name)
        if not found and has_default:
            return default
        if found is None:
            raise error(f"environment variable {name} is not set; set it, or give a default: ${{env:{name}:-default}}")
        if redactor is not None and name not in _EVERYWHERE:
            redactor.add(found)
        return found

    return _VARIABLE.sub(one, value)


def resolve_server(server: ServerConfig, env: Mapping[str, str], redactor: Redactor) -> Launch:
    """Everything needed to start ``server``, read from ``env`` now; secrets met on the way are added to ``redactor``.

    Raises:
        ConfigError: A variable is not set, or a value is not valid once its variables are in it.
    """

    def at(value: str, *path: str | int) -> str:
        result = resolve(value, env, redactor, error=lambda message: server.error(message, *path))
        if "\0" in result:
            raise server.error("a NUL character cannot be used here", *path)
        return result

    command = None
    if server.command is not None:
        command = tuple(at(word, "command", index) for index, word in enumerate(server.command))
        if not command[0].strip():
            raise server.error("names no program once its variables are resolved", "command", 0)
    url = None
    if server.url is not None:
        url = at(server.url, "url")
        if (problem := checks.url(url)) is not None:
            raise server.error(problem, "url")
    headers = {name: at(value, "headers", name) for name, value in server.headers.items()}
    for name, value in headers.items():
        if (problem := checks.header_value(value)) is not None:
            raise server.error(problem, "headers", name)
    own = {name: at(value, "env", name) for name, value in server.env.items()}
    inherited = {name: value for name, value in env.items() if any(fnmatchcase(name, entry) for entry in server.inherit)}
    named = inherited | own | headers
    for secret in _secrets(named, command or (), url):
        redactor.add(secret)
    return Launch(command=command, url=url, cwd=_cwd(server, at, env), env=own, inherit=server.inherit, headers=headers)


def _cwd(server: ServerConfig, at: Callable[..., str], env: Mapping[str, str]) -> str | None:
    folder = server.folder
    if server.cwd is None:
        return str(folder) if folder is not None else None
    text = at(server.cwd, "cwd")
    if text == "~" or text.startswith("~/"):
        if not env.get("HOME"):
            raise server.error("~ cannot be resolved: HOME is not set", "cwd")
        text = env["HOME"] + text[1:]
    path = Path(text) if folder is None else folder / text
    if not path.is_dir():
        raise server.error(f"{path} is not a folder", "cwd")
    return str(path.absolute())


def looks_secret(name: str) -> bool:
    """Whether a variable, header or flag of this name holds a secret by the look of it."""
    return name not in _NOT_SECRET and _SECRET_NAME.search(name) is not None


def secret_words(command: Sequence[str]) -> Iterator[int]:
    """Indexes of the words of a command that follow a flag like ``--api-key``, and so hold a secret."""
    for index, word in enumerate(command[:-1]):
        if word.startswith("-") and "=" not in word and looks_secret(word) and not command[index + 1].startswith("-"):
            yield index + 1


def _secrets(named: Mapping[str, str], command: Sequence[str], url: str | None) -> Iterator[str]:
    for name, value in named.items():
        if looks_secret(name):
            yield value
            # "Bearer xyz": the token is found without its scheme as well.
            yield value.rpartition(" ")[2]
    for index in secret_words(command):
        yield command[index]
    for word in command:
        flag, _, value = word.partition("=")
        if value and looks_secret(flag):
            yield value
    for text in (*command, *named.values(), url or ""):
        if "://" in text and "@" in text:
            yield from _password_in(text)


def _password_in(text: str) -> Iterator[str]:
    try:
        password = urlsplit(text).password
    except ValueError:
        return
    if password:
        yield password
        yield unquote(password)


def mask_server(server: ServerConfig) -> ServerConfig:
    """``server`` as it may be shown: literal secrets masked, variables by their names."""
    hide = Redactor().redact_text
    command = server.command
    if command is not None:
        hidden = set(secret_words(command))
        command = tuple(MASK if index in hidden and "${" not in word else hide(word) for index, word in enumerate(command))
    return msgspec.structs.replace(
        server,
        command=command,
        url=hide(server.url) if server.url else None,
        env={name: _shown(name, value) for name, value in server.env.items()},
        headers={name: _shown(name, value) for name, value in server.headers.items()},
    )


def mask_address(url: str) -> str:
    """A URL whose path may be a secret, as those of webhooks are: its origin; one that is a variable as it is."""
    if _WHOLE_VARIABLE.fullmatch(url):
        return url
    scheme, found, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}/{MASK}" if found else MASK


_WHOLE_VARIABLE: Final = re.compile(r"(?:(?:Bearer|Basic|token) )?\$\{(?:env|secret):[A-Za-z_][A-Za-z0-9_]*\}", re.IGNORECASE)


def _shown(name: str, value: str) -> str:
    if _WHOLE_VARIABLE.fullmatch(value):
        return value
    return MASK if looks_secret(name) else Redactor().redact_text(value)
