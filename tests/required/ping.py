"""Ping."""

from __future__ import annotations

from tests.required.entry import Req

TITLE = "Ping"
REQUIREMENTS = (
    Req(
        "R-PING-01",
        "MUST",
        "2024-11-05 to 2025-11-25",
        "A ping is answered at any time.",
        "basic/utilities/ping",
        tests=(
            "tests/protocol/test_messages.py::test_ping_reaches_whoever_answers_it_also_before_the_handshake_is_over",
            "tests/runtime/test_asking.py::test_ping_is_always_answered",
            "tests/runtime/test_robustness_of_calls.py::test_asks_unknown",
        ),
    ),
    Req(
        "R-PING-02",
        "SHOULD",
        "2024-11-05 to 2025-11-25",
        "Pings may be sent from time to time.",
        "basic/utilities/ping",
        tests=(
            "tests/runtime/test_heartbeat.py::test_silent_server_is_asked_every_minute",
            "tests/runtime/test_heartbeat.py::test_three_misses_in_a_row_mean_dead",
            "tests/runtime/test_heartbeat.py::test_zero_switches_it_off",
        ),
    ),
    Req(
        "R-PING-03",
        "MUST*",
        "2026-07-28",
        "There is no ping in the stateless era.",
        "changelog",
        tests=(
            "tests/runtime/test_features_read.py::test_each_level_is_asked_for_as_its_era_wants_it",
            "tests/protocol/test_permits.py::test_what_the_stateless_era_removed_is_refused_with_what_to_use_instead",
        ),
    ),
)
