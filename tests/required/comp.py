"""Completion."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Completion"
REQUIREMENTS = (
    Req(
        "R-COMP-01",
        "MUST*",
        "2025-03-26 to 2026-07-28",
        "Completion is used where it is declared, and in the first revision without.",
        "server/utilities/completion",
        tests=(
            "tests/protocol/test_permits.py::test_completions_need_no_capability_before_there_was_one",
            "tests/runtime/test_features_read.py::test_feature_that_was_not_declared_is_not_asked_for",
        ),
    ),
    Req(
        "R-COMP-02",
        "MUST*",
        "all",
        "It names a prompt or a template, and the argument.",
        "schema CompleteRequest",
        tests=("tests/runtime/test_features_read.py::test_completion_names_what_is_completed_and_what_is_known_already",),
    ),
    Req(
        "R-COMP-03",
        "SHOULD*",
        "2025-06-18 to 2026-07-28",
        "What is filled in already goes along.",
        "server/utilities/completion",
        tests=("tests/runtime/test_features_read.py::test_completion_names_what_is_completed_and_what_is_known_already",),
    ),
    Req(
        "R-COMP-04",
        "SHOULD",
        "all",
        "Partial answers are tolerated; how often to ask is up to the program in which somebody types.",
        "server/utilities/completion",
        tests=(
            "tests/runtime/test_features_read.py::test_completion_of_any_size_and_with_parts_missing_is_read",
            "tests/wire/test_lenient.py::test_completion_is_what_of_it_can_be_used",
        ),
    ),
)
