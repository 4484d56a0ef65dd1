"""Deprecated HTTP+SSE transport (2024-11-05)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Deprecated HTTP+SSE transport (2024-11-05)"
REQUIREMENTS = (
    Req(
        "R-SSE-01",
        "SHOULD",
        "2026-07-28",
        "The old transport is there for old servers only.",
        "basic/transports/streamable-http#httpsse",
        tests=("tests/runtime/test_http_detection.py::test_old_transport_is_the_last_resort_and_says_how_to_leave_it",),
    ),
    Req(
        "R-SSE-02",
        "MUST*",
        "2024-11-05",
        "The first event says where to post to, relative to the stream and within its origin.",
        "basic/transports#http-with-sse",
        tests=(
            "tests/transports/test_sse_legacy.py::test_messages_are_posted_where_the_first_event_says_and_answers_come_on_the_stream",
            "tests/transports/test_sse_legacy.py::test_endpoint_elsewhere_is_refused_by_name_and_nothing_is_posted_there",
        ),
    ),
    Req(
        "R-SSE-03",
        "MUST",
        "2024-11-05",
        "Messages go there by POST, and all that comes back comes as events.",
        "basic/transports#http-with-sse",
        tests=("tests/transports/test_sse_legacy.py::test_messages_are_posted_where_the_first_event_says_and_answers_come_on_the_stream",),
    ),
    Req(
        "R-SSE-04",
        "SHOULD*",
        "2025-03-26 to 2025-06-18",
        "It is tried after any 4xx to initialize.",
        "basic/transports#backwards-compatibility",
        tests=(
            "tests/runtime/test_http_detection.py::test_old_transport_is_the_last_resort_and_says_how_to_leave_it",
            "tests/protocol/test_handshake_http.py::test_both_refused_ends_with_the_status_of_initialize_for_whoever_knows_another_transport",
            "tests/runtime/test_http_features.py::test_old_transport_is_tried_after_any_refusal_that_is_not_about_credentials",
        ),
    ),
    Req(
        "R-SSE-05",
        "SHOULD*",
        "2025-11-25",
        "Later: after 400, 404 and 405.",
        "basic/transports#backwards-compatibility",
        tests=(
            "tests/protocol/test_handshake_http.py::test_both_refused_ends_with_the_status_of_initialize_for_whoever_knows_another_transport",
            "tests/runtime/test_http_detection.py::test_old_transport_is_the_last_resort_and_says_how_to_leave_it",
            "tests/runtime/test_http_features.py::test_old_transport_is_tried_after_any_refusal_that_is_not_about_credentials",
        ),
    ),
    Req(
        "R-SSE-06",
        "SHOULD*",
        "2026-07-28",
        "And not after a modern error.",
        "basic/transports/streamable-http#httpsse",
        tests=(
            "tests/protocol/test_handshake_http.py::test_modern_errors_are_modern_whatever_the_status",
            "tests/protocol/test_handshake_http.py::test_credentials_gateways_and_dead_hosts_end_it_at_once",
            "tests/runtime/test_http_features.py::test_old_transport_is_not_tried_after_an_error_that_only_a_modern_server_gives",
        ),
    ),
    Req(
        "R-SSE-07",
        "MUST*",
        "2024-11-05",
        "When its stream ends, so does the session.",
        "basic/transports",
        tests=("tests/transports/test_sse_legacy.py::test_end_of_the_stream_is_the_end_of_the_connection",),
    ),
)
