"""Streamable HTTP, legacy shape (2025-03-26 .. 2025-11-25)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Streamable HTTP, legacy shape (2025-03-26 .. 2025-11-25)"
REQUIREMENTS = (
    Req(
        "R-HTTPL-01",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "Each message is a POST of its own, as JSON, to the one endpoint.",
        "basic/transports#sending-messages",
        tests=(
            "tests/transports/test_http.py::test_one_post_for_each_message_with_the_headers_of_the_era",
            "tests/transports/test_http_legacy.py::test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete",
        ),
    ),
    Req(
        "R-HTTPL-02",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "A POST accepts JSON and event streams.",
        "basic/transports#sending-messages",
        tests=("tests/transports/test_http.py::test_one_post_for_each_message_with_the_headers_of_the_era",),
    ),
    Req(
        "R-HTTPL-03",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "Both kinds of answers are understood.",
        "basic/transports#sending-messages",
        tests=(
            "tests/transports/test_http.py::test_events_are_reported_as_they_arrive_and_the_end_after_them",
            "tests/transports/test_http_sizes.py::test_messages_of_any_size_pass_both_ways",
            "tests/runtime/test_http_detection.py::test_batches_of_one_are_read_and_batches_of_more_in_bodies_and_events",
        ),
    ),
    Req(
        "R-HTTPL-04",
        "MUST*",
        "2025-03-26 to 2025-11-25",
        "Any 2xx accepts a notice.",
        "basic/transports#sending-messages",
        tests=(
            "tests/transports/test_http.py::test_notice_is_posted_and_a_refusal_of_it_is_only_counted",
            "tests/transports/test_http_legacy.py::test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete",
        ),
    ),
    Req(
        "R-HTTPL-05",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "Requests and notices may come before the answer; they are answered by POSTs of their own.",
        "basic/transports#sending-messages",
        tests=(
            "tests/runtime/test_http_detection.py::test_server_asks_on_the_listening_stream_and_is_answered_in_a_post_of_the_session",
            "tests/demo/test_demo_http.py::test_everything_works_over_each_transport",
        ),
    ),
    Req(
        "R-HTTPL-06",
        "SHOULD",
        "2025-03-26 to 2025-11-25",
        "A dropped connection cancels nothing; a notice does.",
        "basic/transports#sending-messages",
        tests=("tests/protocol/test_streams_legacy.py::test_abandoned_request_is_cancelled_by_a_notice_and_its_stream_not_continued",),
    ),
    Req(
        "R-HTTPL-07",
        "MUST",
        "2025-11-25",
        "The time a server asks for is waited before coming back.",
        "basic/transports#sending-messages",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_clean_end_after_an_event_id_is_continued_after_the_time_asked_for_and_the_answer_counts",
            "tests/protocol/test_streams_legacy.py::test_time_asked_for_is_kept_within_reason",
            "tests/transports/test_http_legacy.py::test_stream_of_a_request_is_continued_by_a_get_that_names_the_last_event",
        ),
    ),
    Req(
        "R-HTTPL-08",
        "SHOULD",
        "2025-11-25",
        "A stream that ended after an event id is continued from there.",
        "basic/transports#sending-messages",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_clean_end_after_an_event_id_is_continued_after_the_time_asked_for_and_the_answer_counts",
            "tests/transports/test_http_legacy.py::test_stream_of_a_request_is_continued_by_a_get_that_names_the_last_event",
        ),
    ),
    Req(
        "R-HTTPL-09",
        "MUST*",
        "2025-11-25",
        "Events that carry only an id are no messages.",
        "basic/transports#sending-messages",
        tests=(
            "tests/transports/test_http_legacy.py::test_messages_of_the_listening_stream_belong_to_no_request_and_its_end_says_how_far_it_came",
            "tests/protocol/test_sse.py::test_id_with_a_null_is_ignored_and_retry_without_data_is_kept",
        ),
    ),
    Req(
        "R-HTTPL-10",
        "MAY",
        "2025-03-26 to 2025-11-25",
        "A GET stream may be opened for what belongs to no request.",
        "basic/transports#listening",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_listening_starts_right_after_initialized_where_the_transport_can",
            "tests/runtime/test_http_detection.py::test_server_asks_on_the_listening_stream_and_is_answered_in_a_post_of_the_session",
        ),
    ),
    Req(
        "R-HTTPL-11",
        "MUST*",
        "2025-03-26 to 2025-11-25",
        "405 to it means that there is none; it is not asked for again.",
        "basic/transports#listening",
        tests=("tests/protocol/test_streams_legacy.py::test_listening_stream_that_is_not_offered_is_asked_for_once",),
    ),
    Req(
        "R-HTTPL-12",
        "MAY",
        "2025-03-26 to 2025-11-25",
        "Several streams may be open, and all are read.",
        "basic/transports#multiple-connections",
        tests=(
            "tests/protocol/test_streams.py::test_answers_interleaved_over_three_streams_each_reach_their_own_request",
            "tests/protocol/test_streams_legacy.py::test_messages_of_no_request_arrive_on_the_listening_stream",
        ),
    ),
    Req(
        "R-HTTPL-13",
        "SHOULD",
        "2025-03-26 to 2025-11-25",
        "Any broken stream is resumed by a GET with its own last event id.",
        "basic/transports#resumability",
        tests=(
            "tests/transports/test_http_legacy.py::test_stream_of_a_request_is_continued_by_a_get_that_names_the_last_event",
            "tests/transports/test_http_legacy.py::test_stream_that_is_cut_still_says_how_far_it_came",
            "tests/protocol/test_streams_legacy.py::test_listening_stream_that_ends_is_opened_again_where_it_was_and_quietly_given_up",
        ),
    ),
    Req(
        "R-HTTPL-14",
        "MUST*",
        "2025-03-26 to 2025-11-25",
        "A resumed stream may bring the answer to an earlier POST; what comes twice counts once.",
        "basic/transports#resumability",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_clean_end_after_an_event_id_is_continued_after_the_time_asked_for_and_the_answer_counts",
            "tests/protocol/test_streams_legacy.py::test_answer_on_another_stream_closes_the_continuation",
            "tests/protocol/test_answers.py::test_late_and_second_answers_are_ignored",
        ),
    ),
    Req(
        "R-HTTPL-15",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "The session id of initialize goes on everything after it; header names in any case.",
        "basic/transports#session-management",
        tests=("tests/transports/test_http_legacy.py::test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete",),
    ),
    Req(
        "R-HTTPL-16",
        "MUST",
        "2025-11-25",
        "It is a secret.",
        "basic/transports#session-management",
        tests=("tests/transports/test_http_legacy.py::test_session_id_is_a_secret",),
    ),
    Req(
        "R-HTTPL-17",
        "MUST",
        "2025-03-26 to 2025-11-25",
        "404 means a new session, begun without an id.",
        "basic/transports#session-management",
        tests=(
            "tests/runtime/test_reopening.py::test_call_in_a_forgotten_session_is_repeated_in_a_new_one",
            "tests/transports/test_http_legacy.py::test_new_initialize_forgets_the_old_session_before_it_is_sent",
            "tests/runtime/test_reopening.py::test_log_level_and_subscriptions_are_set_up_again_and_the_lists_are_stale",
        ),
    ),
    Req(
        "R-HTTPL-18",
        "SHOULD",
        "2025-03-26 to 2025-11-25",
        "A session is ended by DELETE; 405 is fine.",
        "basic/transports#session-management",
        tests=(
            "tests/transports/test_http_legacy.py::test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete",
            "tests/transports/test_http_legacy.py::test_end_of_the_session_is_bounded_and_optional_for_the_server",
        ),
    ),
    Req(
        "R-HTTPL-19",
        "MUST*",
        "2025-03-26 to 2025-11-25",
        "400 about a missing session leads to a new one, not to another era.",
        "basic/transports#session-management",
        tests=(
            "tests/protocol/test_refusals.py::test_sessions_end_by_404_or_by_400_with_a_word_of_it",
            "tests/runtime/test_reopening.py::test_any_way_of_saying_so_will_do",
        ),
    ),
    Req(
        "R-HTTPL-20",
        "MUST",
        "2025-06-18 to 2025-11-25",
        "The agreed revision is a header of everything after initialize, and not of initialize.",
        "basic/transports#protocol-version-header",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_initialize_opens_the_session_and_carries_no_version_and_all_else_belongs_to_it",
            "tests/transports/test_http_legacy.py::test_session_id_of_initialize_goes_on_everything_after_it_and_ends_with_a_delete",
        ),
    ),
    Req(
        "R-HTTPL-21",
        "SHOULD",
        "2025-06-18 to 2025-11-25",
        "Its value is what was agreed on; for the first revision of this transport either way is fine.",
        "basic/transports#protocol-version-header",
        tests=(
            "tests/protocol/test_streams_legacy.py::test_initialize_opens_the_session_and_carries_no_version_and_all_else_belongs_to_it",
        ),
    ),
    Req(
        "R-HTTPL-22",
        "MUST*",
        "2025-06-18 to 2025-11-25",
        "400 about that header means to agree anew.",
        "basic/transports#protocol-version-header",
        tests=("tests/runtime/test_http_features.py::test_version_that_is_refused_in_the_middle_of_a_session_is_agreed_on_anew",),
    ),
    Req(
        "R-HTTPL-23",
        "MUST*",
        "2025-03-26 to 2025-11-25",
        "No Origin of our own making; a 403 may be about it and is then no matter of credentials.",
        "basic/transports#security-warning",
        tests=(
            "tests/protocol/test_refusals.py::test_401_asks_for_a_credential_and_403_only_with_a_challenge",
            "tests/runtime/test_http_features.py::test_header_of_a_browser_is_not_sent",
        ),
    ),
)
