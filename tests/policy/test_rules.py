"""Tiers by exact name, pattern and default."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.policy.rules import Rules, ToolRule


def test_exact_beats_longest_pattern_beats_default() -> None:
    """Our configuration: keys of ``tools`` may be patterns."""
    rules = Rules("files", {"read_*": ToolRule("L0"), "read_secret*": ToolRule("L2"), "read_secrets": ToolRule("off")}, "L1")
    assert rules.decide("read_secrets") == ("off", "servers.files.tools.read_secrets", None)
    assert rules.decide("read_secret_x") == ("L2", 'servers.files.tools."read_secret*"', None)
    assert rules.decide("read_text") == ("L0", 'servers.files.tools."read_*"', None)
    assert rules.decide("write") == ("L1", "servers.files.default_tier", None)


def test_a_tool_nobody_named_is_risky() -> None:
    """Our choice: a new tool is L2 until a person says otherwise."""
    assert Rules("files").decide("anything").tier == "L2"


def test_a_rule_without_tier_leaves_it_to_the_next_and_keeps_its_sentence() -> None:
    """Our configuration: ``say`` may stand alone."""
    rules = Rules("s", {"move": ToolRule(None, "Move {a}"), "m*": ToolRule("L1")})
    assert rules.decide("move") == ("L1", 'servers.s.tools."m*"', "Move {a}")


def test_only_star_and_question_mark_are_special() -> None:
    """Our choice: brackets and dots in names are literal."""
    rules = Rules("s", {"a[bc]?": ToolRule("L0"), "x.y*": ToolRule("L0")}, "L2")
    assert rules.decide("a[bc]1").tier == "L0"
    assert rules.decide("ab1").tier == "L2"
    assert rules.decide("xzy").tier == "L2"


def test_among_patterns_of_one_length_the_stricter_counts() -> None:
    """Our choice: a tie must not make a call easier."""
    for keys in (["a*", "*a"], ["*a", "a*"]):
        tiers = {keys[0]: ToolRule("L0"), keys[1]: ToolRule("L2")}
        assert Rules("s", tiers).decide("aa").tier == "L2"


def test_a_run_of_stars_is_one_star() -> None:
    """Bad input: such a pattern must not take exponential time; the time limit of the test run would end it."""
    assert Rules("s", {"*" * 60 + "x": ToolRule("L0")}, "L2").decide("a" * 5000).tier == "L2"


@given(st.text(max_size=8), st.text(alphabet="ab*?[", min_size=1, max_size=6))
def test_every_name_gets_exactly_one_tier(name: str, key: str) -> None:
    """No name and no pattern makes the rules fail."""
    assert Rules("s", {key: ToolRule("L0")}, "L1").decide(name).tier in ("L0", "L1")
