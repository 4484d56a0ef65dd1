"""Roots."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Roots"
REQUIREMENTS = (
    Req(
        "R-ROOT-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "Roots are declared and listed; changes are told where that was declared.",
        "client/roots",
        tests=(
            "tests/runtime/test_tracing.py::test_other_roots_are_shown_and_told_where_that_exists",
            "tests/runtime/test_asking.py::test_roots_are_declared_with_changes_only_where_changes_can_be_told",
            "tests/runtime/test_client.py::test_roots_and_sampling_are_answered_in_both_eras",
        ),
    ),
    Req(
        "R-ROOT-02",
        "MUST",
        "2026-07-28",
        "In the stateless era they are declared without changes and answered inside of rounds.",
        "client/roots",
        tests=(
            "tests/runtime/test_asking.py::test_roots_are_declared_with_changes_only_where_changes_can_be_told",
            "tests/runtime/test_tracing.py::test_other_roots_are_shown_and_told_where_that_exists",
            "tests/runtime/test_session.py::test_answers_and_state_go_back_in_a_new_request_with_the_same_params",
        ),
    ),
    Req(
        "R-ROOT-03",
        "MUST",
        "all",
        "Roots are file URIs, and only those that are allowed.",
        "client/roots",
        tests=(
            "tests/runtime/test_asking.py::test_root_that_is_no_folder_is_refused_when_it_is_given_and_never_sent",
            "tests/runtime/test_asking.py::test_roots_are_folders_or_uris",
        ),
    ),
    Req(
        "R-ROOT-04",
        "SHOULD",
        "all",
        "A person agrees to roots before they are shown: those that the program hands in, and it is said where one is no folder.",
        "client/roots",
        tests=(
            "tests/runtime/test_asking.py::test_only_what_somebody_is_there_for_is_declared",
            "tests/runtime/test_asking.py::test_root_that_is_no_folder_is_said_when_it_is_given",
        ),
    ),
    Req(
        "R-ROOT-05",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "Roots that are not supported have a code, and failures too.",
        "client/roots#error-handling",
        tests=(
            "tests/runtime/test_asking.py::test_what_was_not_declared_is_refused",
            "tests/runtime/test_driver_life.py::test_handler_that_fails_answers_with_an_error_that_tells_no_secrets",
        ),
    ),
    Req(
        "R-ROOT-06",
        "SHOULD",
        "2026-07-28",
        "Roots inform and give no access.",
        "deprecated",
        na="nothing here opens a root",
    ),
)
