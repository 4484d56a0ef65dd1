"""Capabilities, identity and extensions."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Capabilities, identity and extensions"
REQUIREMENTS = (
    Req(
        "R-CAP-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "In the handshake capabilities are declared once, with the members of its revision.",
        "basic/lifecycle#capability-negotiation",
        tests=(
            "tests/protocol/test_messages.py::test_initialize_comes_first_with_the_newest_legacy_revision_what_we_can_do_and_who_we_are",
            "tests/runtime/test_asking.py::test_only_what_somebody_is_there_for_is_declared",
        ),
    ),
    Req(
        "R-CAP-02",
        "MUST",
        "2026-07-28",
        "In the stateless era they are declared with each request, even if there are none.",
        "basic/index#_meta",
        tests=(
            "tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",
            "tests/protocol/test_messages.py::test_request_without_params_has_a_meta_all_the_same_in_the_stateless_era",
        ),
    ),
    Req(
        "R-CAP-03",
        "SHOULD",
        "2026-07-28",
        "So is the client's name.",
        "basic/index#_meta",
        tests=("tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",),
    ),
    Req(
        "R-CAP-04",
        "SHOULD",
        "2026-07-28",
        "What a server calls itself is for display only.",
        "basic/index#_meta",
        tests=(
            "tests/test_main_path.py::test_every_tricky_name_of_two_servers_is_called_by_its_own_name",
            "tests/protocol/test_handshake.py::test_name_of_a_modern_server_is_found_in_meta_or_in_the_body",
        ),
    ),
    Req(
        "R-CAP-05",
        "SHOULD*",
        "2026-07-28",
        "A capability that a server misses is offered or named.",
        "basic/index#_meta",
        tests=(
            "tests/runtime/test_features.py::test_capability_that_a_server_misses_is_named",
            "tests/runtime/test_features.py::test_capability_that_is_missing_and_not_named_is_an_error_all_the_same",
        ),
    ),
    Req(
        "R-CAP-06",
        "MUST*",
        "all",
        "A feature is used only where its capability was declared.",
        "server/*",
        tests=(
            "tests/runtime/test_features_read.py::test_feature_that_was_not_declared_is_not_asked_for",
            "tests/protocol/test_permits.py::test_only_what_was_declared_may_be_asked",
        ),
    ),
    Req(
        "R-CAP-07",
        "MUST",
        "2026-07-28",
        "Extensions have prefixed names, and every value of a capability is an object.",
        "basic/versioning#extension-negotiation",
        tests=("tests/runtime/test_features_asked.py::test_extension_is_declared_where_it_was_switched_on_and_in_the_place_of_its_era",),
    ),
    Req(
        "R-CAP-08",
        "MUST",
        "2026-07-28",
        "Where only one side has an extension, the core is used or the request fails by name.",
        "basic/versioning#extension-negotiation",
        tests=("tests/runtime/test_session.py::test_result_of_an_unknown_kind_is_an_error_of_that_call",),
    ),
    Req(
        "R-CAP-09",
        "SHOULD*",
        "2026-07-28",
        "Extensions are off until they are switched on.",
        "docs/extensions/overview",
        tests=("tests/runtime/test_features_asked.py::test_extension_is_declared_where_it_was_switched_on_and_in_the_place_of_its_era",),
    ),
    Req(
        "R-CAP-10",
        "MUST*",
        "2025-11-25 to 2026-07-28",
        "Extensions stand among the capabilities, in both eras.",
        "docs/extensions/overview ; SEP-2133",
        tests=(
            "tests/runtime/test_features_asked.py::test_extension_is_declared_where_it_was_switched_on_and_in_the_place_of_its_era",
            "tests/runtime/test_apps.py::test_views_are_declared_only_where_somebody_shows_them_and_read_all_the_same",
        ),
    ),
)
