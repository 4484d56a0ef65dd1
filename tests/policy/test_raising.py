"""Rules that raise: by arguments, by little trust, and never the other way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import NotAllowed
from dragoman.policy.chain import Call
from dragoman.policy.flights import Flights
from dragoman.policy.raising import Raise, one_up, raised
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.resolve import Resolve
from dragoman.policy.rules import Rules, ToolRule
from dragoman.testing.layers import Spawned, spawn_layer
from dragoman.wire.condition import parse_condition
from dragoman.wire.listing import Tool
from dragoman.wire.tier import TIERS, Tier

CONDITIONS = ["a > 1", "a is missing", "a = 'x'", "count(a) > 0", "a != 1", "/a/*/b contains 'y'", "b is present and a >= 0"]


def _raise(when: str, tier: Tier, rule: str = "r") -> Raise:
    return Raise(parse_condition(when), tier, rule)


def _layer(*rules: Raise, tier: Tier = "L0", enabled: bool = False) -> Spawned:
    registry = ToolRegistry()
    registry.set_server("shop", [Tool(name="pay")], Rules("shop", {"pay": ToolRule(tier, raises=rules, enabled=enabled)}))
    return spawn_layer(Resolve(registry, Flights()))


_VALUES = st.none() | st.booleans() | st.integers(-3, 3) | st.text("xy1", max_size=2) | st.lists(st.integers(-3, 3), max_size=2)


@given(
    st.sampled_from(TIERS),
    st.lists(st.tuples(st.sampled_from(CONDITIONS), st.sampled_from(TIERS)), max_size=5),
    st.dictionaries(st.sampled_from(["a", "b"]), _VALUES),
)
def test_no_rule_ever_lowers(tier: Tier, rules: list[tuple[str, Tier]], arguments: dict[str, Any]) -> None:
    """Our contract: rules may raise; the strictest that holds wins, whatever the order."""
    made = [_raise(when, to) for when, to in rules]
    found, _ = raised(tier, "own", made, arguments)
    holding = [to for when, to in rules if parse_condition(when).holds(arguments)]
    assert found == max([tier, *holding], key=TIERS.index)
    assert raised(tier, "own", made[::-1], arguments)[0] == found


@pytest.mark.parametrize(("tier", "higher"), [("L0", "L1"), ("L1", "L2"), ("L2", "L3"), ("L3", "L3"), ("off", "off")])
def test_little_trust_is_one_tier_up(tier: Tier, higher: Tier) -> None:
    """Our contract: never beyond L3, never lower."""
    assert one_up(tier) == higher
    found = Rules("s", {"x": ToolRule(tier)}, little_trust=True).decide("x")
    assert found.tier == higher
    assert ("servers.s.trust" in found.rule) is (tier != higher)


async def test_a_call_whose_arguments_hold_is_of_the_higher_tier_and_names_the_rule() -> None:
    """Our contract: named in ``call.rule``; all rules of all keys that match are looked at."""
    layer = _layer(_raise("amount > 10", "L1", "one"), _raise("amount > 100", "L2", "two"))
    for amount in (5, 50, 500, "500"):
        await layer(Call(id=str(amount), name="shop.pay", arguments={"amount": amount}))
    seen = [(call.tier, call.rule) for call in layer.inside.calls]
    assert seen == [
        ("L0", "servers.shop.tools.pay"),
        ("L1", "one (amount > 10)"),
        ("L2", "two (amount > 100)"),
        ("L2", "two (amount > 100)"),
    ]


async def test_what_is_raised_to_l3_is_refused_unless_the_tool_is_switched_on() -> None:
    """Our contract: as L3 is."""
    call = Call(id="1", name="shop.pay", arguments={"amount": 500})
    error = await _layer(_raise("amount > 100", "L3", "rule")).refused(call)
    assert isinstance(error, NotAllowed)
    assert "switched off, by rule (amount > 100)" in error.for_user()
    layer = _layer(_raise("amount > 100", "L3"), enabled=True)
    await layer(call)
    assert layer.inside.calls[0].tier == "L3"


def test_rules_of_patterns_add_up() -> None:
    """The stricter wins, so an exact name does not take the place of a pattern's rule."""
    rules = Rules("s", {"pay": ToolRule("L0", raises=[_raise("a > 1", "L1")]), "p*": ToolRule(raises=[_raise("a > 2", "L2")])})
    assert [one.tier for one in rules.raises("pay")] == ["L1", "L2"]
    assert rules.decide("pay").tier == "L0"
