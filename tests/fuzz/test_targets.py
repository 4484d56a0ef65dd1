"""The targets of ``make fuzz`` on what is known: seeds pass, seeds that were cut pass, and a target fails when what it tests is broken."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.protocol import lines
from tests.fuzz import targets
from tests.fuzz.seeds import WORDS, seeds
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.sends_garbage(reason="questions get an empty answer, whatever they were")


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_pass_whole_and_cut(target: str) -> None:
    """Where fuzzing begins nothing is found."""
    for seed in seeds(target):
        for end in range(len(seed), 0, -max(1, len(seed) // 40)):
            TARGETS[target](seed[:end])


@pytest.mark.parametrize("target", TARGETS)
@given(data=st.data())
@settings(max_examples=60)
def test_words_in_any_order_pass(target: str, data: st.DataObject) -> None:
    """A short look with what fuzzing looks for at length."""
    pieces = data.draw(st.lists(st.sampled_from(WORDS[target]) | st.binary(max_size=6), max_size=30))
    TARGETS[target](bytes(data.draw(st.tuples(*[st.integers(0, 255)] * 2))) + b"".join(pieces))


def test_target_fails_where_what_it_tests_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known answer: a splitter that forgets what it holds between chunks."""
    monkeypatch.setattr(lines.LineSplitter, "_hold", lambda self, piece: None)
    with pytest.raises(AssertionError):
        targets.lines(b"\x01\x04one\ntwo")
