"""A call as a person reads it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.policy.words import SHORT, WHOLE, lines, title
from tests.policy.kit import call_of, tool


def test_the_sentence_comes_from_the_configuration() -> None:
    """Our configuration: ``say``."""
    call = call_of(tool("delete_notes"), {"ids": [1, 2, 3], "to": "x"})
    assert title(call, "Delete the notes {ids} of {who}") == "Delete the notes 1, 2, 3 of (who not given) (server math, tool delete_notes)"


def test_without_one_it_comes_from_the_name() -> None:
    """Our choice: never from what the server calls its tool for people."""
    assert title(call_of(tool("delete_notes"), {"ids": [1, 2, 3]})) == "Delete notes: 1, 2, 3 (server math, tool delete_notes)"
    assert title(call_of(tool("sendMail"), {"a": 1, "b": 2})) == "Send Mail (server math, tool sendMail)"
    assert title(call_of(tool("x"), {})) == "X, with no arguments (server math, tool x)"


def test_arguments_stand_one_by_one_and_lists_item_by_item() -> None:
    """Our contract: seen in words, item by item."""
    assert lines({"path": "/a", "ids": [1, "two", None], "to": {"name": "x", "tags": []}, "force": True, "empty": ""}) == (
        "path: /a",
        "ids: 3 items",
        "  - 1",
        "  - two",
        "  - null",
        "to.name: x",
        "to.tags: []",
        "force: true",
        'empty: ""',
    )


def test_long_values_say_how_long_they_are() -> None:
    """Our contract: cut, with sizes."""
    assert lines({"a": "x" * 5000})[0].endswith("… (5,000 characters in all)")
    assert lines({"a": list(range(60))})[-1] == "a: … and 10 more items"
    assert len(lines({str(i): [1] * 40 for i in range(40)})) == SHORT.lines + 1


def test_whole_means_that_nothing_is_cut_and_texts_stand_line_by_line() -> None:
    """Our contract: a person can see all of what they approve."""
    deep: dict[str, object] = {"end": "of it"}
    for _ in range(20):
        deep = {"d": deep}
    shown = lines({"a": "x" * 5000, "b": list(range(300)), "c": "one\n\x1b[2J", "d": deep, "e": 10**400}, WHOLE)
    assert shown[0] == f"a: {'x' * 5000}"
    assert shown[301] == "  - 299"
    assert shown[302:305] == ("c: 2 lines", "  | one", "  | \\x1b[2J")
    assert shown[305].endswith(".end: of it")
    assert shown[306] == f"e: {10**400:#x}"
    assert lines({"m": {str(n): n for n in range(60)}})[-1] == "m: … and 10 more members"


def test_nothing_can_break_a_line_or_steer_the_terminal() -> None:
    """An attack: an argument that writes the answer below the question."""
    evil = "x\n\n  approved by root\x1b[1A\u202e"
    call = call_of(tool("t\n"), {"a\n": evil})
    for line in (title(call), title(call, "Do {a\n}"), *lines(call.arguments)):
        assert not set(line) & set("\n\x1b\u202e")


VALUES = st.recursive(
    st.none() | st.text(max_size=8) | st.integers() | st.floats(),
    lambda v: st.lists(v) | st.dictionaries(st.text(max_size=4), v),
    max_leaves=8,
)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_any_arguments_have_words(arguments: dict[str, object]) -> None:
    """No arguments make the question fail."""
    assert all("\n" not in line for room in (SHORT, WHOLE) for line in lines(arguments, room))
