"""Progress."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Progress"
REQUIREMENTS = (
    Req(
        "R-PROG-01",
        "MUST",
        "all",
        "A token of progress is unique among the open requests.",
        "basic/utilities/progress ; basic/patterns/progress",
        tests=(
            "tests/protocol/test_messages.py::test_tokens_of_open_requests_differ",
            "tests/protocol/test_stamp.py::test_legacy_adds_nothing_and_a_token_where_progress_is_wanted",
        ),
    ),
    Req(
        "R-PROG-02",
        "MUST*",
        "all",
        "Progress finds its request by the token; stray one is ignored; fractions, no total and no text are fine.",
        "same",
        tests=(
            "tests/protocol/test_answers.py::test_progress_is_matched_as_answers_are",
            "tests/protocol/test_answers.py::test_progress_that_fits_nothing_is_counted_and_dropped",
            "tests/runtime/test_robustness_of_calls.py::test_stray_progress",
        ),
    ),
    Req(
        "R-PROG-03",
        "MUST*",
        "all",
        "It need not reach the total, and stops with the answer.",
        "same",
        tests=(
            "tests/runtime/test_robustness_of_calls.py::test_stray_progress",
            "tests/runtime/test_driver_life.py::test_progress_reaches_the_callback_of_its_call_in_order",
        ),
    ),
    Req(
        "R-PROG-04",
        "SHOULD",
        "all",
        "Tokens are tracked, and floods bounded.",
        "same",
        tests=(
            "tests/protocol/test_answers.py::test_progress_that_fits_nothing_is_counted_and_dropped",
            "tests/runtime/test_inbox.py::test_oldest_are_dropped_beyond_a_bound_and_counted",
        ),
    ),
    Req(
        "R-PROG-05",
        "MUST",
        "2025-11-25",
        "For a task the token lives until the task ends.",
        "basic/utilities/tasks",
        tests=("tests/runtime/test_tasks.py::test_progress_goes_on_after_the_call_was_answered_with_a_task",),
    ),
    Req(
        "R-PROG-06",
        "MUST*",
        "2026-07-28",
        "Tasks of the extension have no progress.",
        "SEP-2663",
        na="a duty of servers; nothing here waits for it",
    ),
    Req(
        "R-PROG-07",
        "MUST*",
        "2026-07-28",
        "Only servers report progress in the stateless era.",
        "basic/patterns/progress",
        na="nothing here sends progress, in either era",
    ),
)
