"""Prompts."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Prompts"
REQUIREMENTS = (
    Req(
        "R-PROMPT-01",
        "MUST*",
        "all",
        "Prompts are used where they are declared, and are commands of the user.",
        "server/prompts",
        tests=(
            "tests/runtime/test_features_read.py::test_feature_that_was_not_declared_is_not_asked_for",
            "tests/cli/test_read.py::test_prompts_are_listed_and_filled_in",
        ),
    ),
    Req(
        "R-PROMPT-02",
        "SHOULD",
        "all",
        "They are listed over pages.",
        "server/prompts#implementation",
        tests=("tests/runtime/test_features_read.py::test_every_listing_follows_its_pages",),
    ),
    Req(
        "R-PROMPT-03",
        "MUST*",
        "all",
        "Their arguments are texts.",
        "schema GetPromptRequestParams",
        tests=("tests/runtime/test_features_read.py::test_argument_of_a_prompt_that_is_no_text_is_refused_before_anything_is_sent",),
    ),
    Req(
        "R-PROMPT-04",
        "MUST*",
        "all",
        "Each message has one block of any kind.",
        "server/prompts#promptmessage",
        tests=("tests/runtime/test_features_read.py::test_each_message_of_a_prompt_has_one_block_of_any_kind",),
    ),
    Req(
        "R-PROMPT-05",
        "MUST",
        "all",
        "What goes into a prompt and comes out of it is guarded against injection.",
        "server/prompts#security",
        tests=(
            "tests/runtime/test_host_calls.py::test_resources_and_prompts_go_through_the_chain",
            "tests/runtime/test_features_read.py::test_argument_of_a_prompt_that_is_no_text_is_refused_before_anything_is_sent",
            "tests/policy/test_label.py::test_every_result_is_untrusted_and_says_where_it_came_from",
        ),
    ),
    Req(
        "R-PROMPT-06",
        "MAY*",
        "2026-07-28",
        "A prompt may take several rounds.",
        "server/prompts",
        tests=("tests/runtime/test_features_read.py::test_prompts_and_resources_have_rounds_too",),
    ),
)
