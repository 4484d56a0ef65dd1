"""Conditions on arguments: what they mean, what is none, and that what cannot be decided holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.condition import parse_condition

HOLDS: list[tuple[str, dict[str, Any], bool]] = [
    ("amount > 100", {"amount": 101}, True),
    ("amount > 100", {"amount": 100}, False),
    ("amount > 100", {}, False),
    ("amount > 100", {"amount": "500"}, True),  # read as a number further in
    ("amount > 100", {"amount": "5"}, False),
    ("amount > 100", {"amount": "lots"}, True),  # nobody can tell
    ("amount > 100", {"amount": None}, True),
    ("amount > 100", {"amount": {"value": 1}}, True),
    ("amount > 100", {"amount": [1, 200]}, True),
    ("amount >= -1.5", {"amount": -1.5}, True),
    ("amount < 1e3", {"amount": 999}, True),
    ("amount <= 0", {"amount": 1}, False),
    ("amount = 5", {"amount": "5.0"}, True),
    ("amount == 5", {"amount": 6}, False),
    ("amount = 1", {"amount": True}, False),
    ("force = true", {"force": True}, True),
    ("force = true", {"force": "True"}, True),
    ("force = true", {"force": 1}, False),
    ("branch = 'main'", {"branch": " Main "}, True),
    ("branch = 'main'", {"branch": ["dev", "main"]}, True),
    ("branch != 'main'", {"branch": "Main"}, True),
    ("branch != 'main'", {"branch": "main"}, False),
    ("branch != 'main'", {}, False),
    ("count != 3", {"count": 3.0}, False),
    ("branch in [\"main\", 'release']", {"branch": "RELEASE"}, True),
    ("branch in ['main']", {"branch": "dev"}, False),
    ("level in [1, 2]", {"level": "2"}, True),
    ("sql contains 'drop'", {"sql": "DROP TABLE x"}, True),
    ("to contains '@rival.example'", {"to": ["a@b.c", "x@rival.example"]}, True),
    ("options contains 'force'", {"options": {"force": 1}}, True),
    ("path matches '/etc/*'", {"path": "/ETC/passwd"}, True),
    ("path matches '/etc/*'", {"path": "/home/etc/x"}, False),
    ("path matches '*.p?m'", {"path": "a/key.pem"}, True),
    ("path matches 'a*b*c'", {"path": "a-c-b"}, False),
    ("path matches 'a*a'", {"path": "a"}, False),
    ("/items/*/price > 10", {"items": [{"price": 1}, {"price": 11}]}, True),
    ("/items/*/price > 10", {"items": [{"price": 1}, {}]}, False),
    ("/items/*/price > 10", {"items": '[{"price": 1}]'}, True),  # a list within a text is read further in
    ("/items/1/price > 10", {"items": [{"price": 99}, {"price": 1}]}, False),
    ("/a~1b/c~0d = 1", {"a/b": {"c~d": 1}}, True),
    ("count(to) > 2", {"to": ["a", "b", "c"]}, True),
    ("count(to) > 2", {"to": ["a"]}, False),
    ("count(to) > 2", {"to": '["a"]'}, True),
    ("count(/a/b) = 1", {"a": {"b": ["x"]}}, True),
    ("note is missing", {}, True),
    ("note is missing", {"note": None}, False),
    ("note is present", {"note": None}, True),
    ("/a/b is missing", {"a": "{}"}, True),
    ("amount > 1 and currency = 'EUR'", {"amount": 2, "currency": "eur"}, True),
    ("amount > 1 and currency = 'EUR'", {"amount": 2, "currency": "usd"}, False),
    ("count > 1", {"count": 2}, True),  # a name like any other
    ("金额 > 100", {"金额": 200}, True),
]


@pytest.mark.parametrize(("text", "arguments", "holds"), HOLDS)
def test_a_condition_holds_where_it_is_true_or_cannot_be_decided(text: str, arguments: dict[str, Any], holds: bool) -> None:
    """Our grammar; it fails closed, because arguments are repaired only after it was looked at."""
    assert parse_condition(text).holds(arguments) is holds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected the name of an argument or a JSON pointer, got the end"),
        ("amount", "expected one of = != > >= < <= in contains matches"),
        ("amount >", "expected a number, a text in quotes, true, false or null, got the end"),
        ("amount > lots", "expected a number"),
        ("amount > 'lots'", '">" compares numbers here, got "lots"'),
        ("amount > true", '">" compares numbers here'),
        ("amount > 1 or amount < 0", "expected \"and\", got 'or'"),
        ("amount > 1 and", "got the end"),
        ("a matches 3", "followed by a text"),
        ("count(a) contains 'x'", "a count is a number"),
        ("count(a > 1", "expected \")\", got '>'"),
        ("a in 'x'", 'expected "["'),
        ("a in []", "expected a number"),
        ("a is nice", 'expected "present" or "missing"'),
        ("a = 'open", "cannot be read from"),
        ("__import__('os').system('x')", "expected one of"),
        ("a = 1e999", "too large"),
        ("a = " + "'" + "x" * 2000 + "'", "longer than 1000 characters"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_place(text: str, says: str) -> None:
    """One sentence, in our own words."""
    with pytest.raises(ValueError, match=r".") as caught:
        parse_condition(text)
    assert says in str(caught.value)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "*"]), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([text for text, _, _ in HOLDS] + ["a > 1", "/a/*/b != null", "/a contains 'x'", "a matches '*x*'"]), _JSON)
def test_no_arguments_make_a_condition_fail(text: str, value: Any) -> None:
    """A model's guess may hold anything."""
    for arguments in (
        value if isinstance(value, dict) else {"a": value},
        {"amount": value, "branch": value, "to": value, "items": [value]},
    ):
        assert parse_condition(text).holds(arguments) in (True, False)


def test_neither_depth_nor_length_makes_a_condition_slow_or_fail() -> None:
    """Looked at before the bounds of arguments are."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert parse_condition("a > 5").holds({"a": deep}) is True
    assert parse_condition("a matches '" + "*a" * 100 + "b'").holds({"a": "a" * 20_000}) is False
