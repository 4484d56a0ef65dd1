"""The register of tools: which servers there are, their tools as pinned, each tool's ruling, and every name they go by.

It is told, it never asks: whoever holds the connections and the pins calls ``set_server`` when something changed.

A definition is kept as JSON until somebody wants its tool: decoded it takes four times the memory, and of many tools few are called.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from dragoman.policy.chain import Kind
from dragoman.policy.names import LONG, SHORT, model_name
from dragoman.policy.ports import Resolved
from dragoman.policy.rules import Rules
from dragoman.wire.listing import Tool

#: Makes sure that a server's catalog is loaded; true if it pays to look again.
Load = Callable[[str], Awaitable[bool]]

_READ_RULE: Final = "resources and prompts are read-only by definition"

_pack: Final = msgspec.json.Encoder().encode
_unpack: Final = msgspec.json.Decoder(Tool).decode


class _Server:
    """What is known about one server. ``used`` holds its tools that somebody asked for by name, which are asked for again."""

    __slots__ = ("held", "name", "packed", "rules", "used")

    def __init__(self, name: str, tools: Iterable[Tool], rules: Rules, held: Mapping[str, str]) -> None:
        self.name, self.rules = name, rules
        self.held = dict(held)
        self.packed = {tool.name: _packed(tool) for tool in tools}
        self.used: dict[str, Resolved] = {}

    def get(self, tool: str) -> Resolved | None:
        found = self.used.get(tool)
        if found is None and tool in self.packed:
            found = self.used[tool] = self._resolved(tool)
        return found

    def all(self) -> Iterator[Resolved]:
        for tool in self.packed:
            yield self.used.get(tool) or self._resolved(tool)

    def _resolved(self, tool: str) -> Resolved:
        packed = self.packed[tool]
        tier, rule, say = self.rules.decide(tool)
        settings = self.rules.settings(tool)
        return Resolved(
            server=self.name,
            name=tool,
            definition=packed if isinstance(packed, Tool) else _unpack(packed),
            tier=tier,
            rule=rule,
            held=self.held.get(tool),
            say=say,
            enabled=self.rules.enabled(tool),
            raises=self.rules.raises(tool),
            timeout_s=settings.timeout_s,
            max_timeout_s=settings.max_timeout_s,
            idempotent=settings.idempotent,
            stale_s=settings.stale_s,
            max_bytes=settings.max_bytes,
            guards=settings.guards,
        )


def _packed(tool: Tool) -> bytes | Tool:
    try:
        return _pack(tool)
    except (TypeError, ValueError, OverflowError, RecursionError):  # made by hand, of what JSON does not hold
        return tool


class ToolRegistry:
    """Implements :class:`~dragoman.policy.ports.Registry` in memory."""

    def __init__(self, load: Load | None = None) -> None:
        self._load = load
        self._servers: dict[str, _Server] = {}
        self._shortened: dict[str, tuple[str, str]] = {}  # names for models that do not show whose they are

    def set_server(
        self,
        server: str,
        tools: Iterable[Tool],
        rules: Rules,
        *,
        held: Mapping[str, str] | None = None,
    ) -> None:
        """Replace what is known about a server.

        Args:
            tools: As pinned.
            held: Why a tool is held, by name; tools that are held but not in ``tools`` are unknown.
        """
        self.drop_server(server)
        known = self._servers[server] = _Server(server, tools, rules, held or {})
        for name, tool in _shortened(known):
            self._shortened.setdefault(name, (server, tool))

    def drop_server(self, server: str) -> None:
        """Forget a server; unknown names are ignored."""
        known = self._servers.pop(server, None)
        if known is not None:
            for name, tool in _shortened(known):
                if self._shortened.get(name) == (server, tool):
                    del self._shortened[name]

    def find(self, kind: Kind, server: str, written: str) -> Resolved | None:
        if kind == "tool":
            return self._at(server, written) if server else self._named(written)
        if not server:
            server, _, written = written.partition(".")
        if server not in self._servers or not written:
            return None
        usual = self._servers[server].rules.defaults
        return Resolved(
            server=server,
            name=written,
            tier="L0",
            rule=_READ_RULE,
            timeout_s=usual.timeout_s,
            max_timeout_s=usual.max_timeout_s,
            stale_s=usual.stale_s,
        )

    def _at(self, server: str, tool: str) -> Resolved | None:
        known = self._servers.get(server)
        return known.get(tool) if known is not None else None

    def _named(self, written: str) -> Resolved | None:
        """By ``server.tool``, else by a name for models: plain ones split back at their first ``__``."""
        server, dot, tool = written.partition(".")
        if dot:
            return self._at(server, tool)
        if (shortened := self._shortened.get(written)) is not None:
            return self._at(*shortened)
        server, _, tool = written.partition("__")
        return self._at(server, tool) if written in _model_names(server, tool) else None

    async def load(self, server: str, written: str) -> bool:
        if self._load is None:
            return False
        if not server:
            server = written.partition(".")[0]
            if server not in self._servers:
                server = written.partition("__")[0]
        return await self._load(server) if server in self._servers else False

    def nearest(self, kind: Kind, server: str, written: str) -> list[str]:
        if kind != "tool":
            return difflib.get_close_matches(server or written.partition(".")[0], sorted(self._servers), 3, 0.6)
        if server:
            return [f"{server}.{name}" for name in difflib.get_close_matches(written, [e.name for e in self.offered(server)], 3, 0.6)]
        offered = self.offered()
        names = [entry.full_name for entry in offered]
        found = difflib.get_close_matches(written.replace("__", ".", 1) if "." not in written else written, names, 3, 0.6)
        bare = written.rpartition(".")[2].rpartition("__")[2]
        for entry in offered:  # the right tool at another server, or without its server
            if entry.name == bare and entry.full_name not in found:
                found.insert(0, entry.full_name)
        where, dot, tool = written.partition(".")
        if not found and dot and where not in self._servers:  # the server is misspelt, and was perhaps never asked for its tools
            found = [f"{near}.{tool}" for near in difflib.get_close_matches(where, sorted(self._servers), 3, 0.6)]
        return found[:3]

    def servers(self) -> list[str]:
        return sorted(self._servers)

    def offered(self, server: str | None = None) -> list[Resolved]:
        """What may be offered now, in order of server and listing: neither off, nor held, nor L3 not switched on, nor only for views."""
        return [entry for entry in self.all(server) if not _withheld(entry)]

    def all(self, server: str | None = None) -> list[Resolved]:
        """Every tool, the withheld ones too."""
        return [entry for name in self.servers() if server in (None, name) for entry in self._servers[name].all()]

    def model_names(self, limit: int = SHORT) -> dict[str, Resolved]:
        """What is offered to a model, by the name it is offered under."""
        return {model_name(entry.server, entry.name, limit): entry for entry in self.offered()}


def _model_names(server: str, tool: str) -> tuple[str, str]:
    return model_name(server, tool, SHORT), model_name(server, tool, LONG)


def _shortened(known: _Server) -> Iterator[tuple[str, str]]:
    """The names for models from which a tool cannot be read off, each with its tool."""
    for tool in known.packed:
        plain = f"{known.name}__{tool}"
        for name in _model_names(known.name, tool):
            if name != plain:
                yield name, tool


def _withheld(entry: Resolved) -> bool:
    if entry.definition is not None and not entry.definition.for_models:
        return True
    return entry.tier == "off" or entry.held is not None or (entry.tier == "L3" and not entry.enabled)
