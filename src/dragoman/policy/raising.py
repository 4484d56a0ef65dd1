"""Raises a tool's tier: for the arguments of one call, or for all tools of a server that is trusted little. Nothing here lowers one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dragoman.wire.condition import Condition
from dragoman.wire.tier import Tier, stricter

_ONE_UP: Final[dict[Tier, Tier]] = {"L0": "L1", "L1": "L2", "L2": "L3", "L3": "L3", "off": "off"}


class Raise(NamedTuple):
    """Where a condition holds, a call is of this tier, or of the tool's own where that is stricter. ``rule``: its place in the file."""

    when: Condition
    tier: Tier
    rule: str


def one_up(tier: Tier) -> Tier:
    """One tier higher, at most L3; ``off`` stays off."""
    return _ONE_UP[tier]


def raised(tier: Tier, rule: str, raises: Sequence[Raise], arguments: Mapping[str, Any]) -> tuple[Tier, str]:
    """The tier of a call with these arguments, and what decided it: the strictest of the tool's own and those whose condition holds."""
    for one in raises:
        if stricter(tier, one.tier) != tier and one.when.holds(arguments):
            tier, rule = one.tier, f"{one.rule} ({one.when.text})"
    return tier, rule
