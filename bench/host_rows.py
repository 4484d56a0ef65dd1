"""The rows about a Host with many servers and all its layers; as data."""

from __future__ import annotations

from bench.figures import Goal
from bench.row import Row

HOST_ROWS: tuple[Row, ...] = (
    *(
        Row(
            name,
            f"what the layers of resilience add to a call through Host, {how}",
            ("layers",),
            {"with_us": "client CPU µs with", "without_us": "client CPU µs without", "extra_us": "difference µs"},
            (Goal("at most 40 µs more client CPU per call", "extra_us", "layers", at_most=40.0, unit="µs"),),
            scenario="layers",
            params={"in_flight": in_flight, "pairs": 24, "calls": calls},
            quick={"in_flight": in_flight, "pairs": 10, "calls": calls},
        )
        for name, how, in_flight, calls in (
            ("layers", "one after the other", 1, 500),
            ("layers-flight", "64 in flight", 64, 1280),
        )
    ),
    *(
        Row(
            name,
            f"50 servers on one Host, connected at once: {what}",
            ("many",),
            {
                "one_ms": "one alone, bare ms",
                "bare_ms": "slowest of 50, bare ms",
                "all_ms": "50 by Host ms",
                "times_one": "÷ one alone",
                "times_slowest": "÷ slowest",
                "cpu_ms": "client CPU ms",
            },
            goals,
            scenario="connecting",
            params={"servers": 50, "rounds": 5, **params},
            quick={"servers": 50, "rounds": 2, **params},
        )
        for name, what, params, goals in (
            (
                "host-connect",
                "each is up after 0.3 s, at no cost of CPU, and lists 15 tools",
                {"tools": 15, "start_ms": 300},
                (Goal("within 1.5 × of the slowest one's own start", "times_one", "many", at_most=1.5),),
            ),
            (
                "host-connect-python",
                "each is an interpreter that is up after 0.3 s",
                {"python": True},
                (
                    Goal("within 1.5 × of the slowest one's own start, with as many at once", "times_slowest", "many", at_most=1.5),
                    Goal("against one alone, which has the machine for itself", "times_one", "many"),
                ),
            ),
            (
                "host-connect-quick",
                "each is up at once",
                {"tools": 15, "start_ms": 0},
                (Goal("against as many at once on bare pipes", "times_slowest", "many"),),
            ),
        )
    ),
    *(
        Row(
            name,
            f"memory per further server connected to a Host with everything on (20 to 70), each with {tools} listed and one call done",
            ("many",),
            {"rss_kb_each": "RSS KB each", "pss_kb_each": "PSS KB each", "rss_few_mb": "RSS MB with 20"},
            (Goal("≤ 60 KB per further server, RSS", "rss_kb_each", "many", at_most=60.0, unit="KB"),),
            scenario="memory",
            noisy=False,
            params={"first": 20, "servers": 70, "tools": count},
        )
        for name, tools, count in (("host-memory", "15 tools", 15), ("host-memory-1", "one tool", 1))
    ),
)
