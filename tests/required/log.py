"""Logging."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Logging"
REQUIREMENTS = (
    Req(
        "R-LOG-01",
        "MUST*",
        "2024-11-05 to 2025-11-25",
        "A level is set for the session where logging is declared; without one messages may come all the same.",
        "server/utilities/logging",
        tests=(
            "tests/runtime/test_features_read.py::test_each_level_is_asked_for_as_its_era_wants_it",
            "tests/runtime/test_features_read.py::test_log_message_is_handed_on_though_no_level_was_set_and_whatever_its_data_is",
            "tests/runtime/test_features_read.py::test_feature_that_was_not_declared_is_not_asked_for",
        ),
    ),
    Req(
        "R-LOG-02",
        "MUST",
        "2026-07-28",
        "In the stateless era each request says its level, or gets no logs.",
        "server/utilities/logging",
        tests=(
            "tests/runtime/test_features_read.py::test_each_level_is_asked_for_as_its_era_wants_it",
            "tests/runtime/test_client.py::test_log_level_is_set_and_logs_arrive",
        ),
    ),
    Req(
        "R-LOG-03",
        "MUST*",
        "2026-07-28",
        "Logs come on the stream of their request.",
        "server/utilities/logging",
        tests=("tests/protocol/test_streams.py::test_answers_interleaved_over_three_streams_each_reach_their_own_request",),
    ),
    Req(
        "R-LOG-04",
        "MUST*",
        "all",
        "There are eight levels, and the data is any JSON.",
        "server/utilities/logging",
        tests=(
            "tests/runtime/test_features_read.py::test_each_level_is_asked_for_as_its_era_wants_it",
            "tests/runtime/test_features_read.py::test_log_message_is_handed_on_though_no_level_was_set_and_whatever_its_data_is",
        ),
    ),
    Req(
        "R-LOG-05",
        "MAY",
        "all",
        "Messages may be shown, filtered and kept, in bounds.",
        "server/utilities/logging",
        tests=(
            "tests/runtime/test_inbox.py::test_oldest_are_dropped_beyond_a_bound_and_counted",
            "tests/runtime/test_inbox.py::test_oldest_are_dropped_beyond_a_size",
        ),
    ),
    Req(
        "R-LOG-06",
        "SHOULD",
        "2026-07-28",
        "New implementations need not have logging.",
        "deprecated",
        na="kept for the servers that log",
    ),
)
