"""What could steer a terminal or hide in a text is made visible, and plain writing stays as it is."""

from __future__ import annotations

import json

import pytest

from dragoman.wire.escape import escape_for_terminal, escape_inline, escape_json, hidden_characters

STEERING = [
    ("\x1b[31mred", "\\x1b[31mred"),
    ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
    ("\x00\x08", "\\x00\\x08"),
    ("\x7f", "\\x7f"),
    ("\x9b2J", "\\x9b2J"),
    ("a\rb", "a\\rb"),
    ("a\r\nb", "a\\r\nb"),
    ("\u202egnp.exe", "\\u202egnp.exe"),
    ("\u2066x\u2069", "\\u2066x\\u2069"),
    ("\u200fx", "\\u200fx"),
    ("a\u200bb", "a\\u200bb"),
    ("\ufeffx", "\\ufeffx"),
    ("a\u2028b\u2029", "a\\u2028b\\u2029"),
    ("\U000e0041\U000e007f", "\\U000e0041\\U000e007f"),
    ("a\ufe01", "a\\ufe01"),
    ("a\U000e0101", "a\\U000e0101"),
    ("a\u200db", "a\\u200db"),
    ("\u200d\u200c\u200d", "\\u200d\\u200c\\u200d"),
    ("\ud800", "\\ud800"),
]


@pytest.mark.parametrize(("text", "shown"), STEERING)
def test_what_steers_or_hides_is_made_visible(text: str, shown: str) -> None:
    """Our choice; the kinds are those of Trojan Source (CVE-2021-42574) and of ASCII smuggling by tag characters."""
    assert escape_for_terminal(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\ttext",
        "你好，世界",
        "Grüße – naïve",
        "مرحبا بالعالم",
        "می\u200cخواهم",
        "क्\u200dष",
        "👩\u200d👩\u200d👧",
        "🎉",
    ],
)
def test_plain_writing_of_any_script_stays(text: str) -> None:
    """Our choice: joiners belong to Persian, Hindi and emoji."""
    assert escape_for_terminal(text) is text or escape_for_terminal(text) == text
    assert hidden_characters(text) is None


def test_a_place_inside_a_line_has_no_line_breaks() -> None:
    """Our choice: a name must not be able to start a line of its own."""
    assert escape_inline("a\nb\tc\rd") == "a\\nb\\tc\\rd"
    assert escape_inline("grün\n") == "grün\\n"


@pytest.mark.parametrize("text", ["\x7f\x80\x9f", "\u202e\u2066", "\U000e0041", "\ufe0f\U000e0100", "\u2028"])
def test_json_is_the_same_value_and_harmless(text: str) -> None:
    """Our choice: scripts read the value back exactly."""
    whole = json.dumps({"a": text}, ensure_ascii=False)
    shown = escape_json(whole)
    assert json.loads(shown) == {"a": text}
    assert not any(char in shown for char in text)


@pytest.mark.parametrize("text", ["a\u200bb", "\ufeffx", "a\u2060b", "a\xadb", "می\u200cخواهم", "👩\u200d👧", "\u3164"])
def test_json_has_nothing_that_cannot_be_seen(text: str) -> None:
    """Our contract: the value is the same, joiners of real writing included, and no character of it is invisible."""
    shown = escape_json(json.dumps({"a": text}, ensure_ascii=False))
    assert json.loads(shown) == {"a": text}
    assert not set(shown) & set("\u200b\u200c\u200d\u2060\ufeff\xad\u3164")
    assert "\\u" in shown


def test_json_keeps_readable_writing() -> None:
    """Our choice: Chinese is not turned into escapes."""
    assert escape_json('{"a":"你好 é"}') == '{"a":"你好 é"}'


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("\x1b[0m", "terminal escape"),
        ("é\x9b0m", "terminal escape"),
        ("hi\U000e0041", "tag characters"),
        ("a\u202eb", "bidi"),
        ("a\u200bb", "zero-width"),
        ("a\ufe01\ufe02", "variation selectors"),
        ("❤\ufe0f a\u202eb", "bidi"),
    ],
)
def test_what_hides_is_named(text: str, word: str) -> None:
    """Our choice."""
    assert word in (hidden_characters(text) or "")


def test_all_kinds_that_hide_are_named_once() -> None:
    """Our choice: whoever hides one thing hides two."""
    found = hidden_characters("\x1b[2K a\u202eb\u202ec \U000e0041\U000e0042 re\u200bd")
    assert found is not None
    kinds = found.split("; ")
    assert [kind.split()[0] for kind in kinds] == ["a", "characters", "tag", "zero-width"]


@pytest.mark.parametrize("text", ["❤\ufe0f", "\ufefftext", "a\tb\r\n", "progress\x08\x08"])
def test_what_is_common_and_harmless_is_no_finding(text: str) -> None:
    """Our choice: a warning on every emoji would be ignored."""
    assert hidden_characters(text) is None
