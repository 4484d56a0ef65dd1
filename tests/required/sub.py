"""subscriptions/listen (2026-07-28)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "subscriptions/listen (2026-07-28)"
REQUIREMENTS = (
    Req(
        "R-SUB-01",
        "MUST*",
        "2026-07-28",
        "Subscriptions name what they are about.",
        "basic/patterns/subscriptions",
        tests=("tests/runtime/test_subscriptions.py::test_listen_asks_for_what_is_wanted_and_nothing_else_and_tells_changes",),
    ),
    Req(
        "R-SUB-02",
        "MUST*",
        "2026-07-28",
        "The first message of a subscription acknowledges it.",
        "basic/patterns/subscriptions#acknowledgment",
        tests=(
            "tests/runtime/test_subscriptions.py::test_change_before_the_acknowledgement_is_taken_and_counted",
            "tests/runtime/test_subscriptions.py::test_server_that_refuses_or_never_agrees_is_an_error_of_listen",
        ),
    ),
    Req(
        "R-SUB-03",
        "SHOULD",
        "2026-07-28",
        "What was acknowledged is compared with what was asked.",
        "basic/patterns/subscriptions#acknowledgment",
        tests=(
            "tests/runtime/test_subscriptions.py::test_what_the_server_does_not_grant_is_said",
            "tests/runtime/test_subscriptions.py::test_acknowledgement_of_an_odd_shape_grants_nothing_and_hangs_nothing",
        ),
    ),
    Req(
        "R-SUB-04",
        "MUST",
        "2026-07-28",
        "Messages are matched by the id of the subscription, and by its type.",
        "basic/patterns/subscriptions#receiving",
        tests=("tests/runtime/test_subscriptions.py::test_two_subscriptions_are_told_apart_by_id_and_its_type",),
    ),
    Req(
        "R-SUB-05",
        "MAY",
        "2026-07-28",
        "There may be several.",
        "basic/patterns/subscriptions#multiple",
        tests=("tests/runtime/test_subscriptions.py::test_two_subscriptions_are_told_apart_by_id_and_its_type",),
    ),
    Req(
        "R-SUB-06",
        "MUST",
        "2026-07-28",
        "A subscription ends by closing its stream or by a notice.",
        "basic/patterns/subscriptions#cancellation",
        tests=(
            "tests/runtime/test_subscriptions.py::test_listen_asks_for_what_is_wanted_and_nothing_else_and_tells_changes",
            "tests/runtime/test_subscriptions.py::test_cut_stream_is_opened_again_and_everything_counts_as_changed",
        ),
    ),
    Req(
        "R-SUB-07",
        "MUST*",
        "2026-07-28",
        "A result is its good end, a cancellation or the end of the stream are others.",
        "basic/patterns/subscriptions#graceful-closure",
        tests=(
            "tests/runtime/test_subscriptions.py::test_result_ends_it_gracefully",
            "tests/runtime/test_subscriptions.py::test_cancellation_by_the_server_ends_it",
            "tests/runtime/test_subscriptions.py::test_cut_stream_is_opened_again_and_everything_counts_as_changed",
        ),
    ),
    Req(
        "R-SUB-08",
        "MUST*",
        "2026-07-28",
        "It has no deadline, and what may have changed meanwhile is asked for again.",
        "basic/patterns/subscriptions",
        tests=(
            "tests/runtime/test_subscriptions.py::test_it_has_no_deadline_once_agreed",
            "tests/runtime/test_subscriptions.py::test_cut_stream_is_opened_again_and_everything_counts_as_changed",
            "tests/runtime/test_subscriptions.py::test_catalog_lists_again_after_its_stream_was_cut",
        ),
    ),
)
