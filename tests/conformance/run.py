"""Runs what is covered of the official conformance suite and counts; `make conformance` starts it.

Its last line is the one that scripts read: ``conformance: 0.1.16 A/A, 0.2.0-alpha.12 N/N, 0 failures, 0 warnings``, where A and N
count scenarios, each once for every revision it was run at, failures and warnings count checks. Exits with 1 if anything failed or
warned.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHIM = Path(__file__).resolve().parent / "client.py"
JUNE, NOVEMBER, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"
EXTENSION = "extension"  # belongs to no revision: the mock speaks what the suite has it speak
# Scenario and revision. All that the suites have for clients, save authorization; `uncovered` looks whether that is true.
_HANDSHAKE = (
    ("initialize", JUNE),
    ("initialize", NOVEMBER),
    ("tools_call", JUNE),
    ("tools_call", NOVEMBER),
    ("elicitation-sep1034-client-defaults", NOVEMBER),
    ("sse-retry", NOVEMBER),
)
COVERED_STABLE = _HANDSHAKE
COVERED_NEXT = (
    *_HANDSHAKE,
    ("json-schema-2020-12-preservation", NOVEMBER),
    ("json-schema-2020-12-preservation", MODERN),
    ("tools_call", MODERN),
    ("request-metadata", MODERN),
    ("http-standard-headers", MODERN),
    ("http-custom-headers", MODERN),
    ("http-invalid-tool-headers", MODERN),
    ("sep-2322-client-request-state", MODERN),
    ("json-schema-ref-no-deref", MODERN),
    ("sep-2640-client-no-prefetch", EXTENSION),
    ("sep-2640-client-verify-digest", EXTENSION),
    ("sep-2640-client-verify-size", EXTENSION),
    ("sep-2640-client-verify-frontmatter", EXTENSION),
)
CLIENT_MS = 60_000
SUITE_S = 90


@dataclass(frozen=True)
class Line:
    """One release of the suite: how it is started, and which of its client scenarios are covered at which revision."""

    label: str
    command: Sequence[str]
    scenarios: Sequence[tuple[str, str]]
    nothing: str = ""


@dataclass(frozen=True)
class Outcome:
    """How one scenario ended. ``problems`` are lines for a person; ``failures`` is at least 1 where it did not pass."""

    scenario: str
    checks: int
    failures: int
    warnings: int
    problems: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures and not self.warnings


def run_scenario(line: Line, scenario: str, revision: str, folder: Path) -> Outcome:
    """Let the suite test our shim in one scenario; its report goes under ``folder``."""
    # The suite cuts this at blanks, so it holds paths relative to the root, which have none.
    client = f"{os.path.relpath(sys.executable, ROOT)} {os.path.relpath(SHIM, ROOT)}"
    command = [*line.command, "client", "--command", client, "--scenario", scenario, "--timeout", str(CLIENT_MS), "-o", str(folder)]
    if revision != EXTENSION:
        command += ["--spec-version", revision]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=SUITE_S, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return Outcome(scenario, 0, 1, 0, (f"the suite did not end within {SUITE_S} s",))
    return judge(scenario, done.returncode, folder, done.stdout + done.stderr)


def uncovered(line: Line) -> set[tuple[str, str]]:
    """What the suite lists for clients, authorization left out, and we do not run, or the other way round."""
    listed = subprocess.run([*line.command, "list", "--client"], cwd=ROOT, capture_output=True, text=True, timeout=SUITE_S, check=True)
    found = re.findall(r"^\s*- (\S+) \[([^\]]*)\]", listed.stdout, re.MULTILINE)
    there = {(name, revision) for name, revisions in found for revision in revisions.split(",") if not name.startswith("auth/")}
    return there ^ set(line.scenarios)


def judge(scenario: str, status: int, folder: Path, output: str) -> Outcome:
    """Read the suite's report: nothing observed is no success, and its exit status has the last word."""
    reports = list(folder.rglob("checks.json"))
    checks = [check for report in reports for check in json.loads(report.read_text())]
    counted = Counter(check["status"] for check in checks)
    failures, warnings = counted["FAILURE"], counted["WARNING"]
    problems = [
        f"{check['status']} {check['id']} {check.get('name', '')}: {check.get('errorMessage') or check.get('description', '')}"
        for check in checks
        if check["status"] in ("FAILURE", "WARNING")
    ]
    if not failures and not warnings and (status or not counted["SUCCESS"]):
        failures = 1
        problems.append(f"the suite ended with status {status} and {counted['SUCCESS']} checks that succeeded; its last words:")
        problems += [f"  {text}" for text in output.strip().splitlines()[-12:]]
    if problems:
        problems += [f"  client: {text}" for report in reports for text in _stderr_beside(report)]
    return Outcome(scenario, counted["SUCCESS"], failures, warnings, tuple(problems))


def _stderr_beside(report: Path) -> list[str]:
    path = report.parent / "stderr.txt"
    return path.read_text(errors="replace").strip().splitlines()[-12:] if path.exists() else []


def run(lines: Sequence[Line]) -> int:
    """Run everything, say what happened, return the exit status."""
    totals: list[str] = []
    failures = warnings = 0
    for line in lines:
        if not line.scenarios:
            print(f"{line.label}: {line.nothing or 'nothing is covered'}", flush=True)
        outcomes: list[Outcome] = []
        for scenario, revision in line.scenarios:
            with tempfile.TemporaryDirectory() as folder:
                outcome = run_scenario(line, scenario, revision, Path(folder))
            outcomes.append(outcome)
            verdict = "passed" if outcome.passed else f"{outcome.failures} failures, {outcome.warnings} warnings"
            print(f"{line.label} {scenario} at {revision}: {outcome.checks} checks, {verdict}", flush=True)
            for problem in outcome.problems:
                print(f"  {problem}", flush=True)
        totals.append(f"{line.label} {sum(outcome.passed for outcome in outcomes)}/{len(outcomes)}")
        failures += sum(outcome.failures for outcome in outcomes)
        warnings += sum(outcome.warnings for outcome in outcomes)
    print(f"conformance: {', '.join(totals)}, {failures} failures, {warnings} warnings")
    return 1 if failures or warnings else 0


def installed_lines() -> list[Line]:
    """Both releases of the suite, as installed.

    Raises:
        MissingInstall: They are not.
    """
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.interop import envs

    os.environ["PATH"] = envs.node_env()["PATH"]

    def version(alias: str) -> str:
        return str(json.loads((envs.installed(envs.NODE_MODULES / alias) / "package.json").read_text())["version"])

    return [
        Line(version("conformance-stable"), envs.conformance("stable"), COVERED_STABLE),
        Line(version("conformance-next"), envs.conformance("next"), COVERED_NEXT),
    ]


if __name__ == "__main__":
    sys.exit(run(installed_lines()))
