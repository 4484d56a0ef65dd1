"""Cancellation."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Cancellation"
REQUIREMENTS = (
    Req(
        "R-CANCEL-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "Only our own open requests are cancelled, by a notice.",
        "basic/utilities/cancellation",
        tests=(
            "tests/protocol/test_connection.py::test_cancelling_is_a_notice_or_a_closed_stream_as_era_and_transport_want",
            "tests/protocol/test_messages.py::test_what_is_answered_already_is_not_cancelled",
        ),
    ),
    Req(
        "R-CANCEL-02",
        "MUST",
        "2026-07-28",
        "In the stateless era: by closing the stream over HTTP, by a notice on stdio.",
        "basic/patterns/cancellation",
        tests=(
            "tests/protocol/test_connection.py::test_cancelling_is_a_notice_or_a_closed_stream_as_era_and_transport_want",
            "tests/protocol/test_messages.py::test_stream_that_is_closed_is_the_only_sign_of_a_cancellation_over_modern_http",
        ),
    ),
    Req(
        "R-CANCEL-03",
        "SHOULD",
        "all",
        "Late answers are ignored.",
        "same",
        tests=(
            "tests/protocol/test_answers.py::test_late_and_second_answers_are_ignored",
            "tests/protocol/test_pair.py::test_a_cancelled_call_is_forgotten_on_both_sides_and_its_late_answer_ignored",
        ),
    ),
    Req(
        "R-CANCEL-04",
        "MUST",
        "all",
        "Cancellations of what is over do no harm.",
        "same",
        tests=("tests/protocol/test_messages.py::test_cancellation_of_what_nobody_knows_is_ignored",),
    ),
    Req(
        "R-CANCEL-05",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "What a server cancels is stopped and not answered.",
        "same",
        tests=(
            "tests/runtime/test_driver_life.py::test_cancelled_ask_is_not_answered_even_if_its_handler_goes_on_and_the_id_is_used_again",
            "tests/protocol/test_connection.py::test_ask_is_answered_once_and_not_after_it_was_cancelled",
        ),
    ),
    Req(
        "R-CANCEL-06",
        "MUST*",
        "2026-07-28",
        "A modern server may end subscriptions that way, and nothing else.",
        "basic/patterns/cancellation",
        tests=(
            "tests/protocol/test_messages.py::test_modern_server_cancels_subscriptions_and_nothing_else_of_ours",
            "tests/protocol/test_pair.py::test_a_modern_server_may_end_a_subscription_by_cancelling_it",
        ),
    ),
    Req(
        "R-CANCEL-07",
        "MUST",
        "2025-11-25",
        "Tasks are cancelled with tasks/cancel.",
        "basic/utilities/cancellation",
        tests=("tests/runtime/test_tasks.py::test_call_that_is_given_up_is_cancelled_on_the_server",),
    ),
    Req(
        "R-CANCEL-08",
        "SHOULD",
        "all",
        "Reasons are logged, and a person sees that it was cancelled.",
        "same",
        tests=(
            "tests/runtime/test_features_asked.py::test_reason_for_which_a_server_cancels_is_logged",
            "tests/runtime/test_host_calls.py::test_cancelled_call_is_told_to_the_server_and_written_down",
        ),
    ),
)
