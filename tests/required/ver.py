"""Version negotiation and version errors."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Version negotiation and version errors"
REQUIREMENTS = (
    Req(
        "R-VER-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "We offer a revision that we speak, the newest legacy one by preference, and take a counter-offer only if we speak it.",
        "basic/lifecycle#version-negotiation",
        tests=(
            "tests/protocol/test_messages.py::test_initialize_comes_first_with_the_newest_legacy_revision_what_we_can_do_and_who_we_are",
            "tests/protocol/test_handshake.py::test_initialize_answered_with_any_revision_we_speak_is_legacy",
            "tests/protocol/test_handshake.py::test_initialize_answered_with_another_revision_fails_and_names_both",
        ),
    ),
    Req(
        "R-VER-02",
        "MUST*",
        "2024-11-05 to 2026-07-28",
        "initialize never offers a revision that has no initialize.",
        "derived",
        tests=(
            "tests/protocol/test_messages.py::test_initialize_comes_first_with_the_newest_legacy_revision_what_we_can_do_and_who_we_are",
        ),
    ),
    Req(
        "R-VER-03",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "An initialize that is refused for its version is a failure of versions, and no crash.",
        "basic/lifecycle#error-handling",
        tests=(
            "tests/protocol/test_handshake.py::test_initialize_refused_with_a_list_is_repeated_with_one_of_it",
            "tests/runtime/test_robustness.py::test_refuses_initialize",
        ),
    ),
    Req(
        "R-VER-04",
        "MUST",
        "2026-07-28",
        "The revision stands in every request, and in the header with the same value.",
        "basic/versioning#protocol-version-negotiation",
        tests=(
            "tests/protocol/test_stamp.py::test_modern_says_version_name_and_capabilities_with_every_request",
            "tests/protocol/test_streams.py::test_headers_mirror_version_method_and_name_exactly",
        ),
    ),
    Req(
        "R-VER-05",
        "SHOULD",
        "2026-07-28",
        "A refused version is followed by one in common, by initialize where only a legacy one is, or by an error.",
        "basic/versioning#protocol-version-negotiation",
        tests=(
            "tests/protocol/test_handshake.py::test_probe_refused_for_its_version_is_repeated_with_one_that_the_server_names",
            "tests/protocol/test_handshake.py::test_probe_refused_for_its_version_by_a_server_with_legacy_only_leads_to_initialize",
            "tests/protocol/test_handshake.py::test_probe_refused_for_its_version_with_nothing_in_common_fails",
        ),
    ),
    Req(
        "R-VER-06",
        "MUST*",
        "2026-07-28",
        "The list in such a refusal is checked, and the tries are bounded.",
        "schema UnsupportedProtocolVersionError",
        tests=(
            "tests/protocol/test_handshake.py::test_probe_refused_for_its_version_is_repeated_with_one_that_the_server_names",
            "tests/protocol/test_refusals.py::test_versions_of_an_error_are_strings_in_a_list",
            "tests/protocol/test_handshake.py::test_probe_refused_otherwise_is_legacy",
        ),
    ),
    Req(
        "R-VER-07",
        "MUST*",
        "all",
        "Versions are compared for equality with those that are known; a later one is not taken for compatible.",
        "learn/versioning",
        tests=(
            "tests/protocol/test_handshake.py::test_initialize_answered_with_another_revision_fails_and_names_both",
            "tests/runtime/test_robustness.py::test_future_version",
        ),
    ),
)
