"""Tables line up on a terminal of any width, in any script, and are whole in a pipe."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.fit import columns
from dragoman.cli.table import render

HEAD = ("TOOL", "TIER", "WHAT")


def test_columns_line_up() -> None:
    """Our contract."""
    assert render(HEAD, [("h.echo", "L0", "say"), ("h.delete_notes", "L2", "delete")]) == [
        "TOOL            TIER  WHAT",
        "h.echo          L0    say",
        "h.delete_notes  L2    delete",
    ]


def test_wide_and_combining_characters_count_as_what_they_take_up() -> None:
    """Unicode TR 11: wide characters take two columns, combining ones none."""
    assert [columns(text) for text in ("abc", "搜索", "e\u0301", "ｱ", "ﾊ")] == [3, 4, 1, 1, 1]
    first, second = render(("A", "B"), [("搜索", "x")])
    assert (first, second) == ("A     B", "搜索  x")


def test_a_pipe_gets_everything_on_one_line_each() -> None:
    """Our contract: no cutting when piped."""
    long = "word " * 100
    assert render(HEAD, [("a" * 300, "L0", long)])[1] == f"{'a' * 300}  L0    {long}".rstrip()


def test_a_terminal_gets_the_last_column_wrapped_and_the_others_cut() -> None:
    """Our contract."""
    lines = render(HEAD, [("a" * 60, "L0", "one two three four five six seven eight nine ten")], 60)
    assert all(columns(line) <= 60 for line in lines)
    assert "…" in lines[1]
    assert " ".join(part for line in lines[1:] for part in line.replace("L0", " ").split() if part[0] != "a").split()[-1] == "ten"


def test_where_too_little_would_be_left_each_row_is_folded() -> None:
    """Our choice: half a name is no name."""
    lines = render(("TIME", "TOOL", "CALL"), [("12:00:00", "harbour.delete_all_notes", "abcdef-1")], 30)
    assert lines == ["TIME  TOOL  CALL", "12:00:00", "    harbour.delete_all_notes", "    abcdef-1"]


def test_cells_are_escaped() -> None:
    """Our contract: what servers send is escaped."""
    assert render(("A",), [("\x1b[2J\n",)])[1] == "\\x1b[2J\\n"


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60)), max_size=4), st.integers(50, 120))
def test_no_line_is_wider_than_the_terminal(rows: list[tuple[str, str, str]], width: int) -> None:
    """Whatever servers call their tools."""
    assert all(columns(line) <= width for line in render(HEAD, rows, width))
