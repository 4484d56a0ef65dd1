"""Tools as a host offers them, to programs and to models."""

from __future__ import annotations

import msgspec

from dragoman.policy.names import SHORT, model_name
from dragoman.policy.registry import ToolRegistry
from dragoman.wire.listing import Tool
from dragoman.wire.tier import Tier


class HostTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a host offers it.

    Attributes:
        model_name: ``server__tool``, within 64 characters of ``[A-Za-z0-9_-]``.
        rule: What decided the tier.
        held: Why it cannot be called now, or ``None``.
    """

    server: str
    name: str
    model_name: str
    tier: Tier
    rule: str
    definition: Tool
    held: str | None = None

    @property
    def full_name(self) -> str:
        """``server.tool``."""
        return f"{self.server}.{self.name}"

    @property
    def view_uri(self) -> str | None:
        """The page that shows its results, or ``None``."""
        return self.definition.view_uri


def offered(registry: ToolRegistry) -> list[HostTool]:
    """Every tool, the withheld ones too; left out are those that are off, and those that only a view of their server calls."""
    return [
        HostTool(
            server=entry.server,
            name=entry.name,
            model_name=model_name(entry.server, entry.name, SHORT),
            tier=entry.tier,
            rule=entry.rule,
            definition=entry.definition,
            held=entry.held,
        )
        for entry in registry.all()
        if entry.definition is not None and entry.definition.for_models and entry.tier != "off"
    ]
