"""The register of tools: which servers there are, their tools as pinned, each tool's ruling, and every name they go by.

It is told, it never asks: whoever holds the connections and the pins calls ``set_server`` when something changed.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final

from dragoman.policy.chain import Kind
from dragoman.policy.names import LONG, SHORT, model_name
from dragoman.policy.ports import Resolved
from dragoman.policy.rules import Rules, Settings
from dragoman.wire.listing import Tool

#: Makes sure that a server's catalog is loaded; true if it pays to look again.
Load = Callable[[str], Awaitable[bool]]

_READ_RULE: Final = "resources and prompts are read-only by definition"


class ToolRegistry:
    """Implements :class:`~dragoman.policy.ports.Registry` in memory."""

    def __init__(self, load: Load | None = None) -> None:
        self._load = load
        self._tools: dict[str, dict[str, Resolved]] = {}
        self._defaults: dict[str, Settings] = {}
        self._written: dict[str, Resolved] = {}
        self._model: dict[tuple[str, str], Resolved] = {}

    def set_server(
        self,
        server: str,
        tools: Iterable[Tool],
        rules: Rules,
        *,
        held: Mapping[str, str] | None = None,
        enabled: Iterable[str] = (),
    ) -> None:
        """Replace what is known about a server.

        Args:
            tools: As pinned.
            held: Why a tool is held, by name; tools that are held but not in ``tools`` are unknown.
            enabled: L3 tools that a person switched on by name.
        """
        known: dict[str, Resolved] = {}
        switched_on = frozenset(enabled)
        for tool in tools:
            tier, rule, say = rules.decide(tool.name)
            settings = rules.settings(tool.name)
            known[tool.name] = Resolved(
                server=server,
                name=tool.name,
                definition=tool,
                tier=tier,
                rule=rule,
                held=(held or {}).get(tool.name),
                say=say,
                enabled=tool.name in switched_on,
                timeout_s=settings.timeout_s,
                max_timeout_s=settings.max_timeout_s,
                idempotent=settings.idempotent,
                stale_s=settings.stale_s,
            )
        self._tools[server] = known
        self._defaults[server] = rules.defaults
        self._index()

    def drop_server(self, server: str) -> None:
        """Forget a server; unknown names are ignored."""
        self._defaults.pop(server, None)
        if self._tools.pop(server, None) is not None:
            self._index()

    def _index(self) -> None:
        self._written = {entry.full_name: entry for tools in self._tools.values() for entry in tools.values()}
        self._model = {}
        for entry in self._written.values():
            for limit in (SHORT, LONG):
                self._model.setdefault((entry.server, model_name(entry.server, entry.name, limit)), entry)
        for (_, name), entry in self._model.items():
            self._written.setdefault(name, entry)

    def find(self, kind: Kind, server: str, written: str) -> Resolved | None:
        if kind == "tool":
            return self._tools.get(server, {}).get(written) if server else self._written.get(written)
        if not server:
            server, _, written = written.partition(".")
        if server not in self._tools or not written:
            return None
        usual = self._defaults[server]
        return Resolved(
            server=server,
            name=written,
            tier="L0",
            rule=_READ_RULE,
            timeout_s=usual.timeout_s,
            max_timeout_s=usual.max_timeout_s,
            stale_s=usual.stale_s,
        )

    async def load(self, server: str, written: str) -> bool:
        if self._load is None:
            return False
        if not server:
            server = written.partition(".")[0]
            if server not in self._tools:
                server = written.partition("__")[0]
        return await self._load(server) if server in self._tools else False

    def nearest(self, kind: Kind, server: str, written: str) -> list[str]:
        if kind != "tool":
            return difflib.get_close_matches(server or written.partition(".")[0], sorted(self._tools), 3, 0.6)
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
        if not found and dot and where not in self._tools:  # the server is misspelt, and was perhaps never asked for its tools
            found = [f"{near}.{tool}" for near in difflib.get_close_matches(where, sorted(self._tools), 3, 0.6)]
        return found[:3]

    def servers(self) -> list[str]:
        return sorted(self._tools)

    def offered(self, server: str | None = None) -> list[Resolved]:
        """What may be offered now, in order of server and listing: neither off, nor held, nor L3 not switched on, nor only for views."""
        return [entry for entry in self.all(server) if not _withheld(entry)]

    def all(self, server: str | None = None) -> list[Resolved]:
        """Every tool, the withheld ones too."""
        return [entry for name in self.servers() if server in (None, name) for entry in self._tools[name].values()]

    def model_names(self, limit: int = SHORT) -> dict[str, Resolved]:
        """What is offered to a model, by the name it is offered under."""
        return {model_name(entry.server, entry.name, limit): entry for entry in self.offered()}


def _withheld(entry: Resolved) -> bool:
    if entry.definition is not None and not entry.definition.for_models:
        return True
    return entry.tier == "off" or entry.held is not None or (entry.tier == "L3" and not entry.enabled)
