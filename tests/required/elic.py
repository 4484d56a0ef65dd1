"""Elicitation."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Elicitation"
REQUIREMENTS = (
    Req(
        "R-ELIC-01",
        "MUST",
        "2025-06-18 to 2025-11-25",
        "Elicitation is declared in the handshake, with the modes of its revision.",
        "client/elicitation#capabilities",
        tests=("tests/runtime/test_asking.py::test_only_what_somebody_is_there_for_is_declared",),
    ),
    Req(
        "R-ELIC-02",
        "MUST",
        "2026-07-28",
        "In the stateless era with each request and at least one mode.",
        "client/elicitation#capabilities",
        tests=(
            "tests/runtime/test_asking.py::test_only_what_somebody_is_there_for_is_declared",
            "tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",
        ),
    ),
    Req(
        "R-ELIC-03",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "No mode means a form.",
        "client/elicitation",
        tests=("tests/runtime/test_asking.py::test_accepted_form_is_filled_up_with_defaults_and_a_declined_one_has_no_content",),
    ),
    Req(
        "R-ELIC-04",
        "MUST",
        "2025-11-25",
        "A mode that was not declared is refused with -32602.",
        "client/elicitation#error-handling",
        tests=("tests/runtime/test_elicitation.py::test_mode_that_was_not_declared_is_refused",),
    ),
    Req(
        "R-ELIC-05",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "A person sees who asks, can say no, and sees where a URL leads.",
        "client/elicitation (warning)",
        tests=(
            "tests/runtime/test_elicitation.py::test_handler_is_told_whose_address_it_is",
            "tests/runtime/test_session.py::test_person_who_declines_is_an_answer_too",
            "tests/runtime/test_elicitation.py::test_handler_can_look_for_problems_before_it_answers",
        ),
    ),
    Req(
        "R-ELIC-06",
        "MUST*",
        "2025-06-18 to 2026-07-28",
        "The answer is accept, decline or cancel; values go along only with an accepted form.",
        "client/elicitation#response-actions",
        tests=(
            "tests/runtime/test_asking.py::test_accepted_form_is_filled_up_with_defaults_and_a_declined_one_has_no_content",
            "tests/runtime/test_asking.py::test_url_mode_shows_the_url_and_sends_no_content",
        ),
    ),
    Req(
        "R-ELIC-07",
        "MUST*",
        "2025-06-18 to 2026-07-28",
        "Flat forms with the kinds of fields of their revision are understood.",
        "client/elicitation#requested-schema",
        tests=(
            "tests/runtime/test_elicitation.py::test_answer_is_sent_only_if_it_fits_the_form",
            "tests/runtime/test_elicitation.py::test_form_with_a_field_that_is_no_primitive_is_not_shown",
        ),
    ),
    Req(
        "R-ELIC-08",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "Defaults are filled in.",
        "client/elicitation#requested-schema",
        tests=(
            "tests/runtime/test_asking.py::test_accepted_form_is_filled_up_with_defaults_and_a_declined_one_has_no_content",
            "tests/runtime/test_elicitation.py::test_required_field_that_is_left_out_is_not_sent_unless_it_has_a_default",
            "tests/runtime/test_elicitation.py::test_default_that_does_not_fit_its_own_field_is_not_filled_in",
        ),
    ),
    Req(
        "R-ELIC-09",
        "SHOULD",
        "2025-06-18 to 2026-07-28",
        "Answers are checked before they are sent.",
        "client/elicitation#form-mode-security",
        tests=(
            "tests/runtime/test_elicitation.py::test_answer_is_sent_only_if_it_fits_the_form",
            "tests/runtime/test_elicitation.py::test_required_field_that_is_left_out_is_not_sent_unless_it_has_a_default",
            "tests/runtime/test_elicitation.py::test_what_nests_is_not_sent_even_where_the_form_does_not_name_it",
        ),
    ),
    Req(
        "R-ELIC-10",
        "SHOULD",
        "2025-06-18 to 2025-11-25",
        "Questions are bounded, and can be declined at any time.",
        "client/elicitation#security",
        tests=(
            "tests/protocol/test_connection.py::test_too_many_asks_at_once_are_refused_and_the_others_kept",
            "tests/runtime/test_session.py::test_person_who_declines_is_an_answer_too",
        ),
    ),
    Req(
        "R-ELIC-11",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "A URL is never fetched ahead.",
        "client/elicitation#safe-url-handling",
        tests=("tests/runtime/test_features_asked.py::test_address_is_neither_fetched_nor_opened_here",),
    ),
    Req(
        "R-ELIC-12",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "It is never opened without consent.",
        "client/elicitation#safe-url-handling",
        tests=("tests/runtime/test_features_asked.py::test_address_is_neither_fetched_nor_opened_here",),
    ),
    Req(
        "R-ELIC-13",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "The whole of it is shown before.",
        "client/elicitation#safe-url-handling",
        tests=("tests/runtime/test_asking.py::test_url_mode_shows_the_url_and_sends_no_content",),
    ),
    Req(
        "R-ELIC-14",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "It is opened where neither client nor model can look.",
        "client/elicitation#safe-url-handling",
        na="Dragoman opens no URL: the program that shows it does",
    ),
    Req(
        "R-ELIC-15",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "The host stands out, and look-alikes are warned about.",
        "client/elicitation#safe-url-handling",
        tests=(
            "tests/runtime/test_elicitation.py::test_handler_is_told_whose_address_it_is",
            "tests/runtime/test_elicitation.py::test_address_that_no_browser_should_open_is_not_shown",
        ),
    ),
    Req(
        "R-ELIC-16",
        "MUST*",
        "2025-11-25 to 2026-07-28",
        "Accepting is consent and no more; credentials are not added.",
        "client/elicitation#url-mode",
        tests=(
            "tests/runtime/test_asking.py::test_url_mode_shows_the_url_and_sends_no_content",
            "tests/runtime/test_elicitation.py::test_handler_is_told_whose_address_it_is",
        ),
    ),
    Req(
        "R-ELIC-17",
        "MUST",
        "2025-11-25",
        "Completions that are told of unknown elicitations are ignored.",
        "client/elicitation#completion-notifications",
        tests=("tests/runtime/test_features_asked.py::test_completion_of_an_elicitation_that_nobody_knows_does_nothing",),
    ),
    Req(
        "R-ELIC-18",
        "MUST*",
        "2025-11-25",
        "The error that wants URLs visited first is understood, and the request repeated.",
        "client/elicitation#url-elicitation-required-error",
        tests=(
            "tests/runtime/test_visits.py::test_call_is_sent_once_more_when_the_person_agreed_to_every_address",
            "tests/runtime/test_visits.py::test_refusal_that_stays_is_raised_with_what_to_do",
        ),
    ),
    Req(
        "R-ELIC-19",
        "SHOULD",
        "2026-07-28",
        "After a URL was accepted the request can be tried again by hand.",
        "client/elicitation",
        na="the call goes on by itself in rounds, and a person may decline or cancel each of them",
    ),
)
