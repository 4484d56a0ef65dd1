"""Spans of time in words."""

from __future__ import annotations

import pytest

from dragoman.wire.span import span


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-3.0, "0 s"),
        (0.4, "0 s"),
        (40.0, "40 s"),
        (119.4, "119 s"),
        (300.0, "5 min"),
        (7200.0, "2 h"),
        (86_400.0, "24 h"),
        (172_800.0, "2 days"),
    ],
)
def test_span_has_one_unit_and_at_least_two_of_it(seconds: float, words: str) -> None:
    """Our choice: status, breakers and old answers tell time alike."""
    assert span(seconds) == words
