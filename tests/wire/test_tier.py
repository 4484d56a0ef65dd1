"""The tier words and their order."""

from __future__ import annotations

from dragoman.wire.tier import DEFAULT_TIER, TIERS, is_tier, stricter


def test_claims_can_raise_a_tier_and_never_lower_it() -> None:
    """Our choice: annotations are claims."""
    assert stricter("L0", "L2") == stricter("L2", "L0") == "L2"
    assert stricter("off", "L3") == "off"
    assert stricter("L1", "L1") == "L1"


def test_tiers_are_spelled_exactly() -> None:
    """Our choice."""
    assert all(is_tier(tier) for tier in TIERS)
    assert not any(is_tier(value) for value in ("l0", "L4", "", None, 0, True, "OFF"))
    assert DEFAULT_TIER == "L2"
