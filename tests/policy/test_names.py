"""Names for models never collide and always fit."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman.policy.names import LONG, SHORT, model_name

SERVERS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}", fullmatch=True) | st.text(alphabet="ab_", min_size=1, max_size=6)
TOOLS = st.text(min_size=0, max_size=200) | st.text(alphabet="ab_.-", max_size=8)


def test_an_ordinary_name_stays_readable() -> None:
    """Our choice: ``server__tool``."""
    assert model_name("files", "read_text_file") == "files__read_text_file"


def test_two_ways_to_split_never_meet() -> None:
    """Our contract: ``a__b`` + ``c`` and ``a`` + ``b__c``."""
    names = {
        model_name(s, t) for s, t in [("a__b", "c"), ("a", "b__c"), ("a_", "_b"), ("a", "__b"), ("a__", "b"), ("a_", "b"), ("a", "_b")]
    }
    assert len(names) == 7


@pytest.mark.parametrize("tool", ["", " ", "a b", "你好", "a.b", "x" * 200, "\ud800", "a/b", "\n"])
@pytest.mark.parametrize("limit", [SHORT, LONG])
def test_weird_names_fit(tool: str, limit: int) -> None:
    """What OpenAI and Anthropic take: letters, digits, ``_`` and ``-``, 64 and 128 characters."""
    assert re.fullmatch(rf"[A-Za-z0-9_-]{{1,{limit}}}", model_name("files", tool, limit))


def test_a_tool_cannot_take_the_shortened_name_of_another() -> None:
    """An attack: a server calls its tool what another tool of it is shortened to."""
    shortened = model_name("s", "ä")
    assert shortened.startswith("s__")
    assert model_name("s", shortened[3:]) != shortened


@given(SERVERS, TOOLS, SERVERS, TOOLS, st.sampled_from([SHORT, LONG]))
@example("a__b", "c", "a", "b__c", SHORT)
@example("a", "b" * 80, "a", "b" * 81, SHORT)
def test_different_tools_have_different_names(s1: str, t1: str, s2: str, t2: str, limit: int) -> None:
    """Our contract: injective."""
    if (s1, t1) != (s2, t2):
        assert model_name(s1, t1, limit) != model_name(s2, t2, limit)


@given(SERVERS, TOOLS, st.sampled_from([SHORT, LONG]))
def test_names_are_stable_and_within_characters_and_length(server: str, tool: str, limit: int) -> None:
    """Our contract."""
    name = model_name(server, tool, limit)
    assert name == model_name(server, tool, limit)
    assert re.fullmatch(rf"[A-Za-z0-9_-]{{1,{limit}}}", name)
