"""The rows of the benchmark as data: who is measured, at what, and what was promised."""

from __future__ import annotations

from bench.figures import Goal
from bench.host_rows import HOST_ROWS
from bench.row import Row

LEVEL = 1.25
"""What "level with" allows: repeated runs of one client on a shared machine differ by up to a quarter."""


SDKS = ("mcp2", "mcp1", "ts-sdk1", "ts-client2")

HTTP_COLUMNS = {"p50_us": "p50 µs", "mean_us": "mean µs", "p99_us": "p99 µs", "cpu_us": "client CPU µs"}


def http_goals(metric: str, unit: str, floor: float | None, mcp2: float | None, typescript: float | None) -> tuple[Goal, ...]:
    """Goals against the bare library, mcp 2.3.0 and both TypeScript clients; one that is None is for information."""
    at_least = f" ≥ {mcp2:g} ×" if mcp2 else ""
    more = f" ≥ {typescript:g} ×" if typescript else ""
    return (
        Goal(f"Client{f' ≤ {floor:g} ×' if floor else ' against'} bare aiohttp", metric, "client", "bare", at_most=floor, unit=unit),
        Goal(f"Client{at_least} faster than mcp 2.3.0", metric, "mcp2", "client", at_least=mcp2, unit=unit),
        Goal(f"Client{more} faster than TypeScript SDK 1.32", metric, "ts-sdk1", "client", at_least=typescript, unit=unit),
        Goal(f"Client{more} faster than TypeScript client 2.4", metric, "ts-client2", "client", at_least=typescript, unit=unit),
    )


HTTP_ROWS: tuple[Row, ...] = (
    *(
        Row(
            name,
            f"HTTP: sequential small call, answers {kind}{', client and server pinned to one CPU' if pinned else ', placed by the kernel'}",
            ("bare", "client", *SDKS),
            HTTP_COLUMNS,
            http_goals("p50_us", "µs", *limits),
            scenario="sequential",
            pinned=pinned,
            params={"via": via, "warmup": 500, "calls": 2000},
            quick={"via": via, "warmup": 200, "calls": 600},
        )
        for name, kind, via, pinned, limits in (
            ("http", "as JSON", "/mcp", True, (1.4, 2.5, 1.5)),
            ("http-unpinned", "as JSON", "/mcp", False, (1.4, 2.5, 1.5)),
            ("sse", "as event streams", "/sse", True, (None, 5.0, None)),
        )
    ),
    Row(
        "http-flight",
        "HTTP: 64 calls in flight",
        ("bare", "client", *SDKS),
        {"cpu_us": "client CPU µs per call", "calls_per_s": "calls/s"},
        (
            Goal("calls/s ≥ 4 × mcp 2.3.0", "calls_per_s", "client", "mcp2", at_least=4.0, unit="/s"),
            Goal("calls/s ≥ 2 × TypeScript SDK 1.32", "calls_per_s", "client", "ts-sdk1", at_least=2.0, unit="/s"),
            Goal("calls/s ≥ 2 × TypeScript client 2.4", "calls_per_s", "client", "ts-client2", at_least=2.0, unit="/s"),
            Goal("calls/s against bare aiohttp", "calls_per_s", "client", "bare", unit="/s"),
        ),
        scenario="flight",
        params={"via": "/mcp", "in_flight": 64, "warmup_s": 0.5, "seconds": 2.0},
        quick={"via": "/mcp", "in_flight": 64, "warmup_s": 0.3, "seconds": 0.8},
    ),
    Row(
        "http-connect",
        "HTTP: connect and discover, one after the other in a warm process",
        ("bare", "client", *SDKS),
        {"connect_ms": "ms"},
        (
            Goal("Client ≤ 5 × a bare aiohttp session and POST", "connect_ms", "client", "bare", at_most=5.0, unit="ms"),
            Goal("Client against mcp 2.3.0", "connect_ms", "mcp2", "client", unit="ms"),
        ),
        scenario="reconnect",
        params={"via": "/mcp", "rounds": 40},
        quick={"via": "/mcp", "rounds": 15},
    ),
    *(
        Row(
            name,
            f"HTTP: a 16 MB text result {kind}",
            ("bare", "client", *SDKS),
            {"small_ms": "ms", "peak_times": "peak memory ÷ text", "peak_rss_mb": "peak RSS MB"},
            (
                Goal("Client ≤ 2 × bare aiohttp", "small_ms", "client", "bare", at_most=2.0, unit="ms"),
                Goal("peak memory beyond what there was ≤ 3 × the answer", "peak_times", "client", at_most=3.0),
                Goal("the same of bare aiohttp", "peak_times", "bare"),
                Goal("Client against mcp 2.3.0", "small_ms", "mcp2", "client", unit="ms"),
            ),
            scenario="large",
            params={"via": via, "small_mb": 16, "large_mb": 0, "more": more},
        )
        for name, kind, via, more in (
            ("http-large", "as JSON", "/mcp", {"plain": True}),
            ("sse-large", "as one event", "/sse", {"plain": True}),
            ("http-lines", "as JSON, with 200,000 line breaks, each an escape to be undone", "/mcp", {}),
        )
    ),
    Row(
        "listen",
        "HTTP: subscriptions/listen open on 200 servers, idle",
        ("client",),
        {"idle_cpu_ms_per_s": "client CPU ms per s", "rss_mb": "RSS MB"},
        (Goal("no measurable CPU while idle: below 1 ms per second for all 200", "idle_cpu_ms_per_s", "client", at_most=1.0, strict=True),),
        scenario="listening",
        params={"via": "/mcp", "servers": 200, "settle_s": 10.0, "seconds": 10.0},
        rounds=1,
    ),
)

ROWS: tuple[Row, ...] = (
    Row(
        "sequential",
        "sequential small call, client and server pinned to one CPU",
        ("floor", "client", *SDKS),
        {"p50_us": "p50 µs", "mean_us": "mean µs", "p99_us": "p99 µs", "cpu_us": "client CPU µs"},
        (
            Goal("Client ≤ 2.0 × the asyncio raw-pipe floor", "p50_us", "client", "floor", at_most=2.0, unit="µs"),
            Goal("Client ≥ 3.5 × faster than mcp 2.3.0", "p50_us", "mcp2", "client", at_least=3.5, unit="µs"),
            Goal("Client level with TypeScript SDK 1.32, by the median", "p50_us", "client", "ts-sdk1", at_most=LEVEL, unit="µs"),
            Goal(
                "Client level with TypeScript SDK 1.32, by the mean (counts pauses)",
                "mean_us",
                "client",
                "ts-sdk1",
                at_most=LEVEL,
                unit="µs",
            ),
        ),
        scenario="sequential",
        pinned=True,
        params={"warmup": 1000, "calls": 5000},
        quick={"warmup": 500, "calls": 2000},
    ),
    Row(
        "unpinned",
        "the same, placed by the kernel",
        ("floor", "client", *SDKS),
        {"p50_us": "p50 µs", "mean_us": "mean µs", "p99_us": "p99 µs", "cpu_us": "client CPU µs"},
        (
            Goal("Client against mcp 2.3.0", "p50_us", "mcp2", "client", unit="µs"),
            Goal("Client against TypeScript SDK 1.32, by the median", "p50_us", "client", "ts-sdk1", unit="µs"),
            Goal("Client against TypeScript SDK 1.32, by the mean", "mean_us", "client", "ts-sdk1", unit="µs"),
        ),
        scenario="sequential",
        params={"warmup": 1000, "calls": 5000},
        quick={"warmup": 500, "calls": 2000},
    ),
    Row(
        "host",
        "the same call through Host at L0, all layers and audit on",
        ("host", "mcp2"),
        {"p50_us": "p50 µs", "mean_us": "mean µs", "p99_us": "p99 µs", "cpu_us": "client CPU µs"},
        (
            Goal("Host ≥ 2 × faster than bare mcp 2.3.0", "p50_us", "mcp2", "host", at_least=2.0, unit="µs"),
            Goal("the same by the mean, which counts what the audit writes in between", "mean_us", "mcp2", "host", unit="µs"),
        ),
        scenario="sequential",
        pinned=True,
        params={"warmup": 1000, "calls": 5000},
        quick={"warmup": 500, "calls": 2000},
    ),
    Row(
        "callbacks",
        "event-loop callbacks per call",
        ("floor", "client", "host", "mcp2", "mcp1"),
        {"callbacks": "callbacks per call"},
        (Goal("Client ≤ 3 callbacks per call", "callbacks", "client", at_most=3.0),),
        scenario="callbacks",
        params={"calls": 1000},
        noisy=False,
        rounds=1,
    ),
    Row(
        "flight",
        "64 calls in flight",
        ("floor", "client", "host", *SDKS),
        {"cpu_us": "client CPU µs per call", "calls_per_s": "calls/s"},
        (
            Goal("Client CPU per call ≤ 1/14 of mcp 2.3.0", "cpu_us", "mcp2", "client", at_least=14.0, unit="µs"),
            Goal("Client CPU per call below TypeScript SDK 1.32", "cpu_us", "client", "ts-sdk1", at_most=1.0, strict=True, unit="µs"),
            Goal("calls/s against mcp 2.3.0", "calls_per_s", "client", "mcp2", unit="/s"),
        ),
        scenario="flight",
        params={"in_flight": 64, "warmup_s": 0.5, "seconds": 2.0},
        quick={"in_flight": 64, "warmup_s": 0.3, "seconds": 0.8},
    ),
    Row(
        "large",
        "one 16 MB and one 64 MB text result on one line",
        ("floor", "client", *SDKS),
        {"small_ms": "16 MB ms", "large_ms": "64 MB ms", "growth": "growth (1.0 is linear)", "peak_rss_mb": "peak RSS MB"},
        (
            Goal("Client linear from 16 to 64 MB (1 is linear, 4 quadratic)", "growth", "client", at_most=1.5),
            Goal("Client ≤ 2 × the floor at 16 MB", "small_ms", "client", "floor", at_most=2.0, unit="ms"),
            Goal("Client ≤ 2 × the floor at 64 MB", "large_ms", "client", "floor", at_most=2.0, unit="ms"),
            Goal("16 MB against mcp 2.3.0", "small_ms", "mcp2", "client", unit="ms"),
        ),
        scenario="large",
        params={"small_mb": 16, "large_mb": 64},
        quick_for={"mcp2": {"large_mb": 0}, "mcp1": {"large_mb": 0}},
        once=("mcp2", "mcp1"),
        timeout_s=240.0,
    ),
    Row(
        "list",
        "tools/list of 1,000 tools (640 KB), pinned",
        ("floor", "client", *SDKS),
        {"list_ms": "ms", "cpu_ms": "client CPU ms"},
        (
            Goal("Client ≤ 2.5 × the floor", "list_ms", "client", "floor", at_most=2.5, unit="ms"),
            Goal("Client ≥ 9 × faster than mcp 2.3.0", "list_ms", "mcp2", "client", at_least=9.0, unit="ms"),
        ),
        scenario="listing",
        pinned=True,
        params={"tools": 1000},
    ),
    Row(
        "flood",
        "20,000 notifications during a call, pinned",
        ("floor", "client", *SDKS),
        {"late_ms": "answer later by ms"},
        (Goal("Client's answer ≤ 0.5 s late", "late_ms", "client", at_most=500.0, unit="ms"),),
        scenario="flood",
        pinned=True,
        params={"notifications": 20000},
    ),
    Row(
        "import",
        "import, CPU in a fresh process",
        ("floor", "client", "loaded", "mcp2", "mcp1"),
        {"import_cpu_ms": "CPU ms", "import_wall_ms": "wall ms", "modules": "modules"},
        (
            Goal("import dragoman ≤ 1.4 × import asyncio, msgspec", "import_cpu_ms", "client", "floor", at_most=1.4, unit="ms"),
            Goal("the same with dragoman.Client used, which loads it", "import_cpu_ms", "loaded", "floor", at_most=1.4, unit="ms"),
            Goal("import dragoman ≤ 1/7 of import mcp (2.3.0)", "import_cpu_ms", "mcp2", "client", at_least=7.0, unit="ms"),
            Goal("import dragoman ≤ 1/7 of import mcp (1.30.0)", "import_cpu_ms", "mcp1", "client", at_least=7.0, unit="ms"),
            Goal("import mcp (2.3.0) against dragoman with Client loaded", "import_cpu_ms", "mcp2", "loaded", unit="ms"),
        ),
        kind="import",
    ),
    Row(
        "start",
        "process start to first result",
        ("floor", "client", "call", *SDKS),
        {"first_ms": "first result ms", "exit_ms": "process end ms"},
        (
            Goal("python -c with Client ≥ 4 × faster than mcp 1.30.0", "first_ms", "mcp1", "client", at_least=4.0, unit="ms"),
            Goal("dragoman call --on ≤ 2 × that of Client", "first_ms", "call", "client", at_most=2.0, unit="ms"),
            Goal("python -c with Client against mcp 2.3.0", "first_ms", "mcp2", "client", unit="ms"),
        ),
        kind="start",
    ),
    Row(
        "memory",
        "memory per further connected server (1 to 50), each with one call done",
        ("floor", "client", *SDKS),
        {"rss_kb_each": "RSS KB each", "pss_kb_each": "PSS KB each", "rss_one_mb": "RSS MB with one"},
        (
            Goal("Client ≤ 30 KB per further server, RSS", "rss_kb_each", "client", at_most=30.0, unit="KB"),
            Goal("Client ≤ 30 KB per further server, PSS", "pss_kb_each", "client", at_most=30.0, unit="KB"),
        ),
        scenario="memory",
        noisy=False,
        params={"servers": 50},
    ),
    Row(
        "connect",
        "connecting 50 servers at once",
        ("floor", "client", *SDKS),
        {"connect_ms": "ms", "cpu_ms": "client CPU ms"},
        (Goal("Client ≤ 2 × the floor", "connect_ms", "client", "floor", at_most=2.0, unit="ms"),),
        scenario="connecting",
        params={"servers": 50, "rounds": 5},
        quick={"servers": 50, "rounds": 3},
    ),
    *HOST_ROWS,
    *HTTP_ROWS,
    Row(
        "install",
        "base install (command line, stdio, HTTP, governance) in a fresh environment",
        ("client",),
        {"distributions": "distributions", "megabytes": "MB without .pyc", "megabytes_pyc": "MB with .pyc"},
        (
            Goal("≤ 20 distributions", "distributions", "client", at_most=20.0),
            Goal("≤ 36 MB", "megabytes", "client", at_most=36.0, unit="MB"),
        ),
        kind="install",
        noisy=False,
        rounds=1,
        timeout_s=600.0,
    ),
)
