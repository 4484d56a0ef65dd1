"""The tiers of tools: how bad a call can be, as one short word; the names and their order, no decisions.

A person or the configuration assigns them; nothing a server says about itself lowers one.
"""

from __future__ import annotations

from typing import Final, Literal, TypeGuard

Tier = Literal["L0", "L1", "L2", "L3", "off"]

#: From harmless to not offered at all.
TIERS: Final[tuple[Tier, ...]] = ("L0", "L1", "L2", "L3", "off")

#: What a tool is until a person says otherwise.
DEFAULT_TIER: Final[Tier] = "L2"


def is_tier(value: object) -> TypeGuard[Tier]:
    """Whether ``value`` is one of the five words, spelled exactly so."""
    return isinstance(value, str) and value in TIERS


def stricter(one: Tier, other: Tier) -> Tier:
    """The higher of two tiers: claims may raise a tier, never lower it."""
    return one if TIERS.index(one) >= TIERS.index(other) else other
