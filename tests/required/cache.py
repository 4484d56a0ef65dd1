"""Result caching (2026-07-28)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Result caching (2026-07-28)"
REQUIREMENTS = (
    Req(
        "R-CACHE-01",
        "MUST",
        "2026-07-28",
        "Results are kept by method and params.",
        "server/utilities/caching#cache-key",
        tests=(
            "tests/runtime/test_caching.py::test_other_params_are_another_result",
            "tests/runtime/test_caching.py::test_two_servers_share_nothing",
        ),
    ),
    Req(
        "R-CACHE-02",
        "SHOULD",
        "2026-07-28",
        "They are fresh as long as their server says.",
        "server/utilities/caching#ttl",
        tests=(
            "tests/runtime/test_caching.py::test_six_methods_are_kept_until_their_time_is_over",
            "tests/runtime/test_caching.py::test_result_without_a_time_is_stale_at_once",
        ),
    ),
    Req(
        "R-CACHE-03",
        "MUST",
        "2026-07-28",
        "Private ones stay with their credentials.",
        "server/utilities/caching#cache-scope",
        tests=("tests/runtime/test_caching.py::test_only_what_is_public_is_shared_between_principals",),
    ),
    Req(
        "R-CACHE-04",
        "SHOULD",
        "2026-07-28",
        "A lifetime is no interval for polling.",
        "server/utilities/caching#freshness",
        na="nothing polls by it",
    ),
    Req(
        "R-CACHE-05",
        "MAY",
        "2026-07-28",
        "Stale results may be used when there are no others.",
        "server/utilities/caching#freshness",
        tests=("tests/runtime/test_catalog.py::test_failed_refresh_after_a_change_is_logged_and_the_old_list_stays_marked_stale",),
    ),
    Req(
        "R-CACHE-06",
        "MUST*",
        "2026-07-28",
        "A notice of a change ends the freshness of what it is about.",
        "server/utilities/caching#notifications",
        tests=(
            "tests/runtime/test_caching.py::test_notice_of_a_change_drops_what_it_is_about",
            "tests/runtime/test_caching.py::test_result_that_was_on_its_way_when_it_changed_is_not_kept",
        ),
    ),
    Req(
        "R-CACHE-07",
        "SHOULD",
        "2026-07-28",
        "Each page has a lifetime of its own; a list is taken from the start, whole.",
        "server/utilities/caching#pagination",
        tests=(
            "tests/runtime/test_caching.py::test_listing_is_good_as_long_as_the_shortest_of_its_pages",
            "tests/runtime/test_features.py::test_listing_starts_without_a_cursor_each_time_also_after_one_was_refused",
        ),
    ),
    Req(
        "R-CACHE-08",
        "MUST*",
        "2026-07-28",
        "Six kinds of results may be kept, if complete.",
        "server/utilities/caching",
        tests=(
            "tests/runtime/test_caching.py::test_six_methods_are_kept_until_their_time_is_over",
            "tests/runtime/test_caching.py::test_call_of_a_tool_and_ping_are_never_kept",
            "tests/runtime/test_caching.py::test_result_after_a_question_to_us_is_not_kept",
        ),
    ),
)
