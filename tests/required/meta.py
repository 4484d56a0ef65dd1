"""_meta and trace context."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "_meta and trace context"
REQUIREMENTS = (
    Req(
        "R-META-01",
        "MUST",
        "2025-06-18 to 2026-07-28",
        "Keys of _meta follow a grammar.",
        "basic/index#_meta",
        tests=(
            "tests/protocol/test_messages.py::test_key_of_meta_that_breaks_the_grammar_is_refused",
            "tests/protocol/test_messages.py::test_key_of_meta_that_keeps_to_the_grammar_is_sent",
        ),
    ),
    Req(
        "R-META-02",
        "MUST",
        "2025-06-18 to 2026-07-28",
        "None is made up under the protocol's own prefixes.",
        "basic/index#_meta",
        tests=(
            "tests/protocol/test_messages.py::test_keys_of_ours_in_meta_are_those_that_the_protocol_defines",
            "tests/protocol/test_stamp.py::test_meta_argument_may_not_set_what_the_protocol_owns",
        ),
    ),
    Req(
        "R-META-03",
        "MUST",
        "2025-06-18 to 2026-07-28",
        "Values there mean what is defined, and no more.",
        "basic/index#_meta",
        tests=("tests/protocol/test_messages.py::test_notice_is_handed_on_with_everything_in_it",),
    ),
    Req(
        "R-META-04",
        "MUST",
        "2026-07-28",
        "In the stateless era each request has revision and capabilities in its _meta.",
        "basic/index#_meta",
        tests=(
            "tests/protocol/test_messages.py::test_request_without_params_has_a_meta_all_the_same_in_the_stateless_era",
            "tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",
        ),
    ),
    Req(
        "R-META-05",
        "MUST",
        "2026-07-28",
        "Trace context goes along in the standard's form, when tracing, and to nobody by accident.",
        "basic/index#_meta",
        tests=(
            "tests/runtime/test_tracing.py::test_trace_goes_along_where_it_is_given_and_nowhere_else",
            "tests/runtime/test_tracing.py::test_what_is_no_trace_is_refused_before_anything_is_sent",
        ),
    ),
    Req(
        "R-META-06",
        "MUST*",
        "all",
        "_meta of the caller is kept and completed.",
        "basic/index#_meta",
        tests=(
            "tests/protocol/test_stamp.py::test_meta_inside_the_params_is_merged_and_the_protocols_own_keys_win",
            "tests/protocol/test_stamp.py::test_legacy_adds_nothing_and_a_token_where_progress_is_wanted",
        ),
    ),
)
