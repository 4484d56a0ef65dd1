"""Icons."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Icons"
REQUIREMENTS = (
    Req(
        "R-ICON-01",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "Whoever shows icons knows the common formats.",
        "basic/index#icons",
        na="no icon is shown",
    ),
    Req(
        "R-ICON-02",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "They come from HTTPS or from data only.",
        "basic/index#icons",
        tests=(
            "tests/wire/test_icons.py::test_bad_icon_is_dropped_and_said_and_nothing_else_is",
            "tests/wire/test_icons.py::test_good_icons_are_kept_as_they_came",
        ),
    ),
    Req(
        "R-ICON-03",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "They are fetched without credentials and within bounds.",
        "basic/index#icons",
        na="no icon is fetched",
    ),
    Req(
        "R-ICON-04",
        "MAY*",
        "2025-11-25 to 2026-07-28",
        "One is chosen by size and theme.",
        "basic/index#icons",
        na="no icon is shown",
    ),
)
