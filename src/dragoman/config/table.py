"""Takes values out of a parsed table with their types checked, and turns each complaint into a ConfigError with file and line."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from ..errors import ConfigError
from .model import KeyPath, Source, dotted

_TYPE_NAMES: Final = ((bool, "true or false"), (str, "text"), (int, "a number"), (float, "a number"), (list, "an array"), (dict, "a table"))


class Table:
    """One table of a configuration file, with its place in it.

    Args:
        values: As the standard parser gave them.
        path: Where the table stands.
        source: The file and its lines.
    """

    def __init__(self, values: dict[str, object], path: KeyPath, source: Source) -> None:
        self.values, self.path, self.source = values, path, source

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, message: str, *path: str | int, hint: str | None = None) -> ConfigError:
        """A complaint about ``path`` in this table."""
        where = self.path + path
        return ConfigError(message, file=str(self.source.file), line=self.source.line(where), key=dotted(where) or None, hint=hint)

    def only(self, known: Collection[str], also: Collection[str] = ()) -> None:
        """Refuse keys that are neither in ``known`` nor in ``also``, offering the nearest name of those in ``known``."""
        for key in self.values:
            if key not in known and key not in also:
                import difflib  # on the way to an error only

                near = difflib.get_close_matches(key, known, n=1)
                message = f'unknown key; did you mean "{near[0]}"?' if near else "unknown key"
                raise self.error(message, key, hint=f"known keys here: {', '.join(sorted(known))}")

    def expected(self, what: str, *path: str | int, got: object) -> ConfigError:
        """The complaint about a wrong type."""
        return self.error(f"expected {what}, got {describe_type(got)}", *path)

    def text(self, key: str, what: str = "text in quotes") -> str | None:
        """The text at ``key``, not empty and without NUL; ``None`` where there is no such key."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.expected(what, key, got=value)
        if not value.strip():
            raise self.error(f"expected {what}, got an empty text", key)
        if "\0" in value:
            raise self.error("a NUL character cannot be used here", key)
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.expected("true or false", key, got=value)
        return value

    def integer(self, key: str, default: int, *, least: int) -> int:
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.expected("a whole number", key, got=value)
        if value < least:
            raise self.error(f"must be at least {least}, got {value}", key)
        return value

    def seconds(self, key: str, *, off: bool = False) -> float | None:
        """The number of seconds at ``key``; 0 only where that switches something ``off``."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.expected("a number of seconds", key, got=value)
        if off and value == 0:
            return 0.0
        if not value > 0 or math.isinf(value):
            raise self.error(f"must be a number of seconds above 0, got {value}", key)
        return float(value)

    def texts(self, key: str, what: str) -> tuple[str, ...] | None:
        """The array of texts at ``key``."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self.expected(what, key, got=value)
        for index, item in enumerate(value):
            if not isinstance(item, str):
                raise self.expected("text in quotes", key, index, got=item)
            if "\0" in item:
                raise self.error("a NUL character cannot be used here", key, index)
        return tuple(value)

    def table(self, key: str, what: str = "a table") -> Table:
        """The table at ``key``; an empty one where there is no such key."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.expected(what, key, got=value)
        return Table(value, (*self.path, key), self.source)


def describe_type(value: object) -> str:
    """A value's type in words, with the value where it is short."""
    name = next((name for kind, name in _TYPE_NAMES if isinstance(value, kind)), "null" if value is None else "a date or time")
    if isinstance(value, (str, int, float)) and len(repr(value)) <= 40:
        return f"{name} ({str(value).lower() if isinstance(value, bool) else repr(value)})"
    return name
