"""Sampling (client feature)."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Sampling (client feature)"
REQUIREMENTS = (
    Req(
        "R-SAMP-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "In the handshake sampling is declared by whoever supports it.",
        "client/sampling#capabilities",
        tests=(
            "tests/runtime/test_asking.py::test_only_what_somebody_is_there_for_is_declared",
            "tests/protocol/test_messages.py::test_initialize_comes_first_with_the_newest_legacy_revision_what_we_can_do_and_who_we_are",
        ),
    ),
    Req(
        "R-SAMP-02",
        "MUST",
        "2026-07-28",
        "In the stateless era with each request; it is asked for inside of results only.",
        "client/sampling#capabilities",
        tests=(
            "tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",
            "tests/runtime/test_client.py::test_roots_and_sampling_are_answered_in_both_eras",
            "tests/protocol/test_pair.py::test_a_modern_client_answers_no_requests",
        ),
    ),
    Req(
        "R-SAMP-03",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "Tools in sampling are declared of their own, and refused otherwise.",
        "client/sampling#tools-in-sampling",
        tests=("tests/runtime/test_sampling.py::test_sampling_with_tools_is_declared_only_where_the_handler_says_so",),
    ),
    Req(
        "R-SAMP-04",
        "SHOULD",
        "all",
        "A person can see and change what is asked of a model and what it said.",
        "client/sampling",
        tests=(
            "tests/runtime/test_asking.py::test_layers_stand_around_every_ask_outermost_first",
            "tests/runtime/test_sampling.py::test_person_can_change_what_is_asked_of_a_model_and_what_it_said",
            "tests/runtime/test_sampling.py::test_samplings_of_a_server_in_a_minute_are_bounded",
        ),
    ),
    Req(
        "R-SAMP-05",
        "MUST",
        "2026-07-28",
        "maxTokens is kept to: whoever runs the model is given it.",
        "client/sampling#sampling-parameters",
        tests=(
            "tests/runtime/test_asking.py::test_sampling_handler_gets_the_params_and_gives_the_result",
            "tests/runtime/test_sampling.py::test_person_can_change_what_is_asked_of_a_model_and_what_it_said",
        ),
    ),
    Req(
        "R-SAMP-06",
        "MAY",
        "all",
        "The other wishes of a server may be ignored.",
        "client/sampling",
        na="allowed; the handler of the program sees them all",
    ),
    Req(
        "R-SAMP-07",
        "MUST",
        "all",
        "Hints are read in order, as parts of names.",
        "schema ModelPreferences.hints",
        na="the program chooses the model",
    ),
    Req(
        "R-SAMP-08",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "Context of servers is included only where that is declared.",
        "client/sampling#capabilities",
        tests=("tests/runtime/test_features_asked.py::test_context_in_sampling_is_declared_only_where_the_handler_takes_it",),
    ),
    Req(
        "R-SAMP-09",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "Results of tools stand alone and answer every use of a tool.",
        "client/sampling#message-content-constraints",
        tests=(
            "tests/runtime/test_sampling.py::test_uses_of_tools_without_their_results_are_refused",
            "tests/runtime/test_sampling.py::test_sampling_with_tools_and_lists_of_content_passes_whole",
        ),
    ),
    Req(
        "R-SAMP-10",
        "SHOULD",
        "2025-11-25",
        "A person's no and a wrong order have codes of their own.",
        "client/sampling#error-handling",
        tests=(
            "tests/runtime/test_sampling.py::test_person_who_declines_a_sampling_is_an_error_of_its_own",
            "tests/runtime/test_sampling.py::test_uses_of_tools_without_their_results_are_refused",
        ),
    ),
    Req(
        "R-SAMP-11",
        "MAY*",
        "2026-07-28",
        "In the stateless era a no means that the request is not sent again.",
        "client/sampling#error-handling",
        tests=(
            "tests/runtime/test_session.py::test_without_anybody_to_answer_the_call_fails_and_is_not_sent_again",
            "tests/runtime/test_session.py::test_handler_that_fails_ends_the_call_with_its_reason",
        ),
    ),
    Req(
        "R-SAMP-12",
        "MUST*",
        "2025-11-25 to 2026-07-28",
        "A result has a role, content, a model and perhaps a reason to stop; several blocks only in later revisions.",
        "schema CreateMessageResult",
        tests=(
            "tests/runtime/test_sampling.py::test_sampling_handler_that_gives_no_message_is_an_internal_error",
            "tests/runtime/test_sampling.py::test_sampling_with_tools_and_lists_of_content_passes_whole",
            "tests/runtime/test_client.py::test_roots_and_sampling_are_answered_in_both_eras",
            "tests/runtime/test_sampling.py::test_older_server_gets_one_block_of_content_or_an_error",
        ),
    ),
    Req(
        "R-SAMP-13",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "Loops of tools are bounded, and _meta of blocks is kept.",
        "client/sampling#security",
        tests=(
            "tests/runtime/test_sampling.py::test_sampling_with_tools_and_lists_of_content_passes_whole",
            "tests/runtime/test_session.py::test_server_that_asks_for_ever_is_stopped_after_ten_rounds_and_nobody_is_asked_in_vain",
            "tests/runtime/test_sampling.py::test_samplings_of_a_server_in_a_minute_are_bounded",
        ),
    ),
    Req(
        "R-SAMP-14",
        "SHOULD",
        "2026-07-28",
        "Messages are not kept from one request to the next.",
        "client/sampling",
        na="nothing is kept: a handler sees one request",
    ),
    Req(
        "R-SAMP-15",
        "SHOULD",
        "2026-07-28",
        "New implementations need not have sampling.",
        "deprecated",
        na="kept for the servers that sample",
    ),
)
