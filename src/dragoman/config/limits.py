"""How large and how deep a configuration may be, looked at in one pass before the parsers, some of which take the square of it.

A file in the working folder may come from anybody; reading it must not hold up the command that finds it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ..errors import ConfigError

MAX_BYTES: Final = 2**20
#: Other hosts keep more than servers in their files, chats for example; none of that lies in a project.
MAX_JSON_BYTES: Final = 8 * 2**20
MAX_PARTS: Final = 32
MAX_SERVERS: Final = 500
#: Of a TOML file: each has its line looked for.
MAX_VALUES: Final = 50_000

_TOKEN: Final = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*"
    r"|[\"'.\[\]{}=,\n]"
)


def largest(path: Path, *, project: bool) -> int:
    """Bytes that this file may have."""
    return MAX_JSON_BYTES if path.suffix.lower() in (".json", ".jsonc") and not project else MAX_BYTES


def check_depth(text: str, path: Path, most_values: int | None = None) -> None:
    """Refuse TOML or JSON (without comments) whose keys have too many parts, or whose arrays and tables stand too deep in each other.

    Looks at structure alone and stops, without a word, where the text cannot be valid: the parser will say so.

    Raises:
        ConfigError: Naming the limit.
    """
    parts = depth = values = 0
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == ".":
            parts += 1
            if parts >= MAX_PARTS:
                raise _error(f"a key has more than {MAX_PARTS} parts", text, token.start(), path)
        elif word in ("[", "{"):
            depth += 1
            parts = 0
            if depth > MAX_PARTS:
                raise _error(f"nested deeper than {MAX_PARTS} levels", text, token.start(), path)
        elif word in ("]", "}"):
            depth = max(0, depth - 1)
            parts = 0
        elif word in ("=", ",", "\n"):
            parts = 0
            values += word != "\n"
            if most_values is not None and values > most_values:
                raise _error(f"more than {most_values:,} values", text, token.start(), path)
        elif word in ('"', "'") or (word in ('""', "''") and text.startswith(word[0], token.end())):
            return  # a text without an end


def check_servers(count: int, path: Path) -> None:
    """Refuse more servers than anybody starts.

    Raises:
        ConfigError: Naming the limit.
    """
    if count > MAX_SERVERS:
        raise ConfigError(
            f"has {count:,} servers, limit {MAX_SERVERS}", file=str(path), hint="spread them over several files, and name one with --config"
        )


def _error(message: str, text: str, at: int, path: Path) -> ConfigError:
    return ConfigError(
        message, file=str(path), line=text.count("\n", 0, at) + 1, hint="no configuration needs as many; look at who wrote it"
    )
