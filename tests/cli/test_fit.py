"""Text fits the terminal there is, in any script, and no word of it is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.fit import columns, cut, fold, wrap
from dragoman.wire.escape import escape_inline


@pytest.mark.parametrize("text", ["搜索文件内容搜索文件内容", "a搜b索c文d件", "no_spaces_at_all_in_this_word"])
def test_words_longer_than_a_line_are_broken(text: str) -> None:
    """Scripts without spaces."""
    lines = wrap(text, 8)
    assert "".join(lines) == text
    assert all(columns(line) <= 8 for line in lines)


@given(st.text(max_size=40), st.integers(2, 40))
def test_wrapping_loses_no_word_and_cutting_keeps_the_beginning(text: str, width: int) -> None:
    """Our contract."""
    text = escape_inline(text)
    assert "".join("".join(wrap(text, width)).split()) == "".join(text.split())
    assert columns(cut(text, width)) <= width


def test_prose_is_folded_at_spaces_and_goes_on_further_in() -> None:
    """Our choice: a word is never broken, since a path must stay one to be copied."""
    folded = fold("error: /a/path/that/is/longer/than/a/line is not there\n  short", 20)
    assert folded.split("\n") == ["error:", "  /a/path/that/is/longer/than/a/line", "  is not there", "  short"]
    assert fold("never mind how long", None) == "never mind how long"


def test_what_goes_on_can_be_kept_from_where_a_line_begins() -> None:
    """An attack: a word as long as the line, so that what follows looks like a line of its own."""
    text = fold("  a: " + "x" * 15 + "\u00a0amount:\u00a05", 20, hang="    ", whole_words=False)
    first, *more = text.split("\n")
    assert first == "  a: xxxxxxxxxxxxxxx"
    assert more
    assert all(line.startswith("      ") for line in more)


@given(st.text(max_size=80), st.integers(8, 40), st.booleans())
def test_folding_loses_no_word(text: str, width: int, whole: bool) -> None:
    """Our contract, and with words broken no line is too long."""
    text = escape_inline(text)
    folded = fold(text, width, whole_words=whole)
    assert "".join(folded.split()) == "".join(text.split())
    if not whole:
        assert all(columns(line) <= width for line in folded.split("\n"))
