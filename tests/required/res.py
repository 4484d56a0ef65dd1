"""Resources."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Resources"
REQUIREMENTS = (
    Req(
        "R-RES-01",
        "MUST*",
        "all",
        "Resources are used where they are declared, subscriptions where they are.",
        "server/resources",
        tests=(
            "tests/runtime/test_features_read.py::test_feature_that_was_not_declared_is_not_asked_for",
            "tests/protocol/test_permits.py::test_only_what_was_declared_may_be_asked",
        ),
    ),
    Req(
        "R-RES-02",
        "MUST*",
        "all",
        "They are listed over pages; filling in templates is the client's part.",
        "server/resources",
        tests=(
            "tests/runtime/test_features_read.py::test_every_listing_follows_its_pages",
            "tests/wire/test_templates.py::test_template_is_expanded_as_the_standard_shows",
        ),
    ),
    Req(
        "R-RES-03",
        "MUST*",
        "all",
        "One resource may have several parts under other URIs, text or binary.",
        "server/resources#reading",
        tests=("tests/runtime/test_features_read.py::test_resource_has_several_parts_and_need_not_be_listed",),
    ),
    Req(
        "R-RES-04",
        "MUST*",
        "2024-11-05 to 2025-11-25",
        "The old code for a resource that is not there.",
        "server/resources#error-handling",
        tests=("tests/runtime/test_features_read.py::test_resource_that_is_not_there_is_an_error_with_either_code",),
    ),
    Req(
        "R-RES-05",
        "SHOULD",
        "2026-07-28",
        'The new code for it; both are accepted, and no contents is not "not found".',
        "server/resources#error-handling",
        tests=(
            "tests/runtime/test_features_read.py::test_resource_that_is_not_there_is_an_error_with_either_code",
            "tests/runtime/test_features_read.py::test_resource_has_several_parts_and_need_not_be_listed",
        ),
    ),
    Req(
        "R-RES-06",
        "MUST*",
        "2024-11-05 to 2025-11-25",
        "Resources are subscribed to by URI where that is declared; an update may name a part.",
        "server/resources#subscriptions",
        tests=(
            "tests/runtime/test_features_read.py::test_subscription_of_a_resource_is_asked_for_and_given_up_by_its_uri",
            "tests/runtime/test_client.py::test_legacy_subscription_tells_of_a_changed_resource",
        ),
    ),
    Req(
        "R-RES-07",
        "MUST",
        "2026-07-28",
        "In the stateless era subscriptions/listen takes its place.",
        "server/resources#subscriptions",
        tests=(
            "tests/runtime/test_client.py::test_what_the_stateless_era_removed_is_refused_with_what_to_use",
            "tests/runtime/test_subscriptions.py::test_listen_asks_for_what_is_wanted_and_nothing_else_and_tells_changes",
        ),
    ),
    Req(
        "R-RES-08",
        "MAY*",
        "all",
        "Web resources may be fetched directly.",
        "server/resources#common-uri-schemes",
        na="allowed and not used: every resource is read through its server",
    ),
    Req(
        "R-RES-09",
        "MUST*",
        "2025-06-18 to 2026-07-28",
        "Annotations are hints.",
        "server/resources#annotations",
        tests=("tests/runtime/test_features_read.py::test_annotations_of_a_resource_are_handed_on",),
    ),
    Req(
        "R-RES-10",
        "SHOULD*",
        "all",
        "Resource data goes nowhere else without consent.",
        "spec index",
        na="Dragoman hands contents to the program that asked and sends them nowhere",
    ),
)
