"""Times as people type them."""

from __future__ import annotations

from datetime import datetime

import pytest

from dragoman.errors import ConfigError
from dragoman.service.moments import moment

NOW = datetime(2026, 11, 30, 14, 5, 30).timestamp()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW - 7_200),
        ("30 m ago", NOW - 1_800),
        ("7D", NOW - 7 * 86_400),
        ("1w", NOW - 7 * 86_400),
        ("now", NOW),
        ("today", datetime(2026, 11, 30).timestamp()),
        ("Yesterday", datetime(2026, 11, 29).timestamp()),
        ("2026-11-29", datetime(2026, 11, 29).timestamp()),
        ("2026-11-29T12:30", datetime(2026, 11, 29, 12, 30).timestamp()),
        ("2026-11-29T12:30:00Z", 1_795_955_400.0),
        ("2026-11-29T12:30:00+02:00", 1_795_948_200.0),
    ],
)
def test_moments(text: str, expected: float) -> None:
    assert moment(text, NOW, "--since") == expected


@pytest.mark.parametrize("text", ["", "2x", "tomorrow-ish", "2026-13-01", "9999999h", "٣h"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--since: .* is no time") as caught:
        moment(text, NOW, "--since")
    assert "yesterday" in (caught.value.hint or "")
