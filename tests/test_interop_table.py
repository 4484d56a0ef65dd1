"""docs/interop.md says what the tests against foreign servers show, and every hole in it has a reason."""

from __future__ import annotations

from tests.interop.table import FEATURES, GAPS, PAGE, ROWS, page, reason_of, shown


def test_every_cell_has_a_test_or_a_reason_and_not_both() -> None:
    """A feature that a new test shows takes its reason away."""
    counts = shown()
    assert {(row, feature) for row, feature in counts} <= {(row, feature) for row in ROWS for feature in FEATURES}
    for row in ROWS:
        for feature in FEATURES:
            assert (counts[row, feature] > 0) != (reason_of(row, feature) is not None), (row, feature, counts[row, feature])


def test_every_reason_is_about_a_cell() -> None:
    """One that is about nothing is out of date."""
    for gap in GAPS:
        assert any(gap.holds(row, feature) for row in ROWS for feature in FEATURES), gap


def test_page_is_what_the_tests_say() -> None:
    """Nothing of it is written by hand."""
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.interop.table"
