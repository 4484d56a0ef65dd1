"""Reads what makes calls harder, or an L3 tool possible at all: ``raise`` and ``enabled`` of a tool, ``trust`` of a server."""

from __future__ import annotations

from ..wire.condition import parse_condition
from .model import RaiseConfig, Trust
from .table import Table

_SHAPE = 'an array of tables, as in [{ when = "amount > 100", tier = "L3" }]'


def raises(entry: Table) -> tuple[RaiseConfig, ...]:
    """The rules of one tool.

    Raises:
        ConfigError: One of them is no rule, with file, line and key.
    """
    value = entry.values.get("raise", [])
    if not isinstance(value, list):
        raise entry.expected(_SHAPE, "raise", got=value)
    found = []
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            raise entry.expected("a table with when and tier", "raise", index, got=item)
        table = Table(item, (*entry.path, "raise", index), entry.source)
        table.only(("when", "tier"))
        when, tier = table.text("when"), item.get("tier")
        if when is None:
            raise table.error('needs a condition, as in when = "amount > 100"')
        try:
            parse_condition(when)
        except ValueError as exc:
            raise table.error(
                f"{when!r} is no condition: {exc}", "when", hint="e.g. when = \"amount > 100 and currency != 'EUR'\""
            ) from None
        if tier not in ("L1", "L2", "L3"):
            raise table.error(f"expected one of L1, L2, L3, got {tier!r}" if "tier" in item else 'needs a tier, as in tier = "L3"', "tier")
        found.append(RaiseConfig(when, tier))
    return tuple(found)


def switched_on(entry: Table, name: str) -> bool:
    """Whether an L3 tool is on: by its name alone, since a pattern would switch on tools that nobody has seen.

    Raises:
        ConfigError: A pattern is to be switched on.
    """
    enabled = entry.flag("enabled", False)
    if enabled and ("*" in name or "?" in name):
        raise entry.error("is for one tool by its name, and this is a pattern", "enabled")
    return enabled


def trust(table: Table) -> Trust:
    """How far a server is trusted.

    Raises:
        ConfigError: It is neither word.
    """
    value = table.text("trust")
    if value is None or value == "normal":
        return "normal"
    if value == "low":
        return "low"
    raise table.error(f'expected "normal" or "low", got {value!r}', "trust")
