"""JSON Schema rules."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "JSON Schema rules"
REQUIREMENTS = (
    Req(
        "R-SCHEMA-01",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "Schemas are of 2020-12 unless they say otherwise.",
        "basic/index#json-schema-usage",
        tests=(
            "tests/policy/test_dialects.py::test_schema_without_a_dialect_is_of_2020_12",
            "tests/policy/test_validate.py::test_older_drafts_are_known",
            "tests/policy/test_dialects.py::test_dialects_that_the_page_names_are_checked",
            "tests/runtime/test_features.py::test_tools_keep_their_order_and_every_word_of_their_schemas",
        ),
    ),
    Req(
        "R-SCHEMA-02",
        "MUST",
        "2025-11-25 to 2026-07-28",
        "A dialect that is not known is an error in words, and no crash.",
        "basic/index#json-schema-usage",
        tests=("tests/policy/test_validate.py::test_a_schema_that_cannot_be_used_is_set_aside_with_a_note_and_the_call_goes_through",),
    ),
    Req(
        "R-SCHEMA-03",
        "SHOULD",
        "2025-11-25 to 2026-07-28",
        "Which dialects are known is documented.",
        "basic/index#json-schema-usage",
        tests=("tests/policy/test_dialects.py::test_dialects_that_the_page_names_are_checked",),
    ),
    Req(
        "R-SCHEMA-04",
        "MUST",
        "2026-07-28",
        "References are not fetched.",
        "basic/index#ref-resolution",
        tests=(
            "tests/policy/test_validate.py::test_no_reference_is_fetched_from_network_or_file",
            "tests/test_main_path.py::test_no_schema_of_a_server_is_fetched_over_the_whole_path",
        ),
    ),
    Req(
        "R-SCHEMA-05",
        "SHOULD",
        "2026-07-28",
        "A schema with references to elsewhere is refused rather than ignored.",
        "basic/index#ref-resolution",
        tests=("tests/policy/test_validate.py::test_guess_that_no_schema_can_check_is_refused_and_a_person_is_not",),
    ),
    Req(
        "R-SCHEMA-06",
        "SHOULD",
        "2026-07-28",
        "Depth, number and time are bounded.",
        "basic/index#composition",
        tests=(
            "tests/policy/test_schemas.py::test_measure_counts_nodes_and_levels",
            "tests/policy/test_schemas.py::test_long_chains_of_references_are_followed_only_so_deep",
            "tests/policy/test_validate.py::test_recursion_that_doubles_at_every_level_is_not_followed",
            "tests/policy/test_validate.py::test_a_schema_that_cannot_be_used_is_set_aside_with_a_note_and_the_call_goes_through",
        ),
    ),
)
