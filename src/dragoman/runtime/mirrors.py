"""Arguments that a tool wants repeated in headers, so that what stands before a server can route by them: ``x-mcp-header``.

Only of the stateless era over HTTP. A tool whose annotations break the rules is left out of the listing, and it is said.

Source: MCP 2026-07-28 basic/transports/streamable-http#custom-headers.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Raw

from dragoman.errors import LocalProtocolError, ServerError
from dragoman.protocol.events import short
from dragoman.protocol.stamp import header_value
from dragoman.wire.envelope import HEADER_MISMATCH
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

Headers = tuple[tuple[str, str], ...]

_KEY: Final = "x-mcp-header"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TYPES: Final = frozenset({"string", "integer", "boolean"})
_NAMED: Final = frozenset({"$defs", "definitions", "patternProperties", "dependentSchemas"})  # hold schemas under names
_DATA: Final = frozenset({"enum", "const", "default", "examples"})  # hold values, not schemas
_MAX_INT: Final = 2**53 - 1
_MAX_DEPTH: Final = 64


class _Send(Protocol):
    def __call__(self, *, headers: Headers) -> Awaitable[Raw]: ...


class Mirror(NamedTuple):
    """One argument, by the names that lead to it, and the header it is repeated in."""

    path: tuple[str, ...]
    header: str


class Mirrors:
    """What the tools of one server, as listed last, want repeated."""

    def __init__(self) -> None:
        self._tools: dict[str, tuple[Mirror, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._tools)

    def take(self, tools: list[Tool], problems: list[Flaw]) -> list[Tool]:
        """The tools that may be offered, each with its annotations remembered; flaws are added for the others."""
        kept: list[Tool] = []
        found: dict[str, tuple[Mirror, ...]] = {}
        for index, tool in enumerate(tools):
            try:
                mirrors = mirrors_of(tool.input_schema)
            except ValueError as exc:
                problems.append(Flaw(f"/tools/{index}", f"the tool {short(tool.name)} is left out: {exc}"))
                continue
            kept.append(tool)
            if mirrors:
                found[tool.name] = mirrors
        self._tools = found
        return kept

    def headers(self, name: str, arguments: Mapping[str, Any]) -> Headers:
        """The headers of one call; an argument that is missing or null has none.

        Raises:
            LocalProtocolError: An integer is too large to be repeated.
        """
        found = []
        for mirror in self._tools.get(name, ()):
            value: Any = arguments
            for key in mirror.path:
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, int) and abs(value) > _MAX_INT:
                where = "/".join(mirror.path)
                raise LocalProtocolError(f"{where} is repeated in a header, which holds integers up to {_MAX_INT}; it is {value}")
            if isinstance(value, str | int):
                found.append((mirror.header, header_value(value)))
        return tuple(found)

    async def call(
        self,
        send: _Send,
        list_again: Callable[[], Awaitable[Any]],
        name: str,
        arguments: Mapping[str, Any],
    ) -> Raw:
        """Send a call with its headers; once more where the server refuses them and lists other ones by now."""
        headers = self.headers(name, arguments)
        try:
            return await send(headers=headers)
        except ServerError as exc:
            if exc.code != HEADER_MISMATCH:
                raise
            log.info("%s: the headers of %s were refused; listing the tools again", exc.server, short(name))
            await list_again()
            again = self.headers(name, arguments)
            if again == headers:
                raise
            return await send(headers=again)


def mirrors_of(schema: dict[str, Any] | bool) -> tuple[Mirror, ...]:
    """The annotations of a schema.

    Raises:
        ValueError: One of them breaks the rules, and which.
    """
    found: list[Mirror] = []
    taken: set[str] = set()
    for path, node in _annotated(schema, (), 0):
        name = node[_KEY]
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"{_KEY} {short(name)} is not the name of a header")
        if path is None:
            raise ValueError(f"{_KEY} {short(name)} is on something that cannot be reached by names alone")
        if not _is_plain(node.get("type")):
            raise ValueError(f"{_KEY} {short(name)} is on {'/'.join(path) or 'the root'}, which is no string, integer or boolean")
        if name.lower() in taken:
            raise ValueError(f"{_KEY} {short(name)} is there twice")
        taken.add(name.lower())
        found.append(Mirror(path, f"Mcp-Param-{name}"))
    return tuple(found)


def _is_plain(kind: Any) -> bool:
    if not isinstance(kind, list):
        return isinstance(kind, str) and kind in _TYPES
    rest = [one for one in kind if one != "null"]
    return bool(rest) and all(isinstance(one, str) and one in _TYPES for one in rest)


def _annotated(node: Any, path: tuple[str, ...] | None, depth: int) -> Iterator[tuple[tuple[str, ...] | None, dict[str, Any]]]:
    """Every annotated schema, with the names that lead to it, or ``None`` where there is another way only."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(node, list):
        for item in node:
            yield from _annotated(item, None, depth + 1)
    if not isinstance(node, dict):
        return
    if _KEY in node:
        yield path, node
    for keyword, value in node.items():
        if keyword == "properties" and isinstance(value, dict):
            for name, inner in value.items():
                yield from _annotated(inner, None if path is None else (*path, name), depth + 1)
        elif keyword in _NAMED and isinstance(value, dict):
            for inner in value.values():
                yield from _annotated(inner, None, depth + 1)
        elif keyword not in _DATA and keyword != _KEY:
            yield from _annotated(value, None, depth + 1)
