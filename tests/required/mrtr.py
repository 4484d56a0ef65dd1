"""Multi round-trip requests (2026-07-28)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Multi round-trip requests (2026-07-28)"
REQUIREMENTS = (
    Req(
        "R-MRTR-01",
        "MUST*",
        "2026-07-28",
        "Rounds exist for three methods only.",
        "basic/patterns/mrtr#supported-requests",
        tests=(
            "tests/runtime/test_session.py::test_methods_without_rounds_may_not_ask",
            "tests/runtime/test_features_read.py::test_prompts_and_resources_have_rounds_too",
        ),
    ),
    Req(
        "R-MRTR-02",
        "MUST",
        "2026-07-28",
        "All questions of a round are answered under their keys before the next try.",
        "basic/patterns/mrtr#client-requirements",
        tests=("tests/runtime/test_session.py::test_answers_and_state_go_back_in_a_new_request_with_the_same_params",),
    ),
    Req(
        "R-MRTR-03",
        "MAY",
        "2026-07-28",
        "State alone means to try again, perhaps later.",
        "basic/patterns/mrtr#client-requirements",
        tests=("tests/runtime/test_session.py::test_only_the_state_of_the_last_result_is_sent_back",),
    ),
    Req(
        "R-MRTR-04",
        "MUST",
        "2026-07-28",
        "State goes back unchanged, and only the last one.",
        "basic/patterns/mrtr#client-requirements",
        tests=(
            "tests/runtime/test_session.py::test_answers_and_state_go_back_in_a_new_request_with_the_same_params",
            "tests/runtime/test_session.py::test_only_the_state_of_the_last_result_is_sent_back",
        ),
    ),
    Req(
        "R-MRTR-05",
        "MUST",
        "2026-07-28",
        "Each try has a new id, the first params, metadata and headers.",
        "basic/patterns/mrtr#client-requirements",
        tests=(
            "tests/runtime/test_session.py::test_answers_and_state_go_back_in_a_new_request_with_the_same_params",
            "tests/runtime/test_http_features.py::test_every_round_carries_the_headers_of_the_first",
        ),
    ),
    Req(
        "R-MRTR-06",
        "MUST",
        "2026-07-28",
        "Answers and state stay with their call.",
        "basic/patterns/mrtr#client-requirements",
        tests=("tests/runtime/test_features_asked.py::test_answers_of_one_call_reach_no_other_call_of_the_same_tool",),
    ),
    Req(
        "R-MRTR-07",
        "MUST*",
        "2026-07-28",
        "Questions come without envelopes, and so do the answers.",
        "basic/patterns/mrtr",
        tests=(
            "tests/runtime/test_session.py::test_answers_and_state_go_back_in_a_new_request_with_the_same_params",
            "tests/runtime/test_session.py::test_person_who_declines_is_an_answer_too",
        ),
    ),
    Req(
        "R-MRTR-08",
        "SHOULD*",
        "2026-07-28",
        "Rounds are bounded.",
        "docs inspector/protocol-eras",
        tests=("tests/runtime/test_session.py::test_server_that_asks_for_ever_is_stopped_after_ten_rounds_and_nobody_is_asked_in_vain",),
    ),
    Req(
        "R-MRTR-09",
        "MUST",
        "2026-07-28",
        "Results of rounds are not cached.",
        "server/utilities/caching#cache-key",
        tests=("tests/runtime/test_caching.py::test_result_after_a_question_to_us_is_not_kept",),
    ),
    Req(
        "R-MRTR-10",
        "MUST*",
        "2026-07-28",
        "What was not declared is not done for a server, and the call fails.",
        "basic/patterns/mrtr#server-requirements",
        tests=("tests/runtime/test_session.py::test_without_anybody_to_answer_the_call_fails_and_is_not_sent_again",),
    ),
    Req(
        "R-MRTR-11",
        "MUST*",
        "2026-07-28",
        "Each try repeats the headers of the first.",
        "basic/patterns/mrtr ; HTTP",
        tests=("tests/runtime/test_http_features.py::test_every_round_carries_the_headers_of_the_first",),
    ),
)
