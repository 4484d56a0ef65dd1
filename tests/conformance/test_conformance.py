"""The official scenarios that are covered, and the runner that counts them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import client, run

# Stands in for the suite: writes the report it was told to and ends with the status it was told.
FAKE_SUITE = """
import json, pathlib, sys
scenario = sys.argv[sys.argv.index("--scenario") + 1]
statuses, status = json.loads(pathlib.Path(sys.argv[1]).read_text())[scenario]
folder = pathlib.Path(sys.argv[sys.argv.index("-o") + 1]) / scenario
folder.mkdir(parents=True)
if statuses is not None:
    checks = [{"id": "x", "name": "X", "description": "what is checked", "status": s} for s in statuses]
    (folder / "checks.json").write_text(json.dumps(checks))
(folder / "stderr.txt").write_text("the client's own words")
print("the suite's own words")
sys.exit(status)
"""


def fake_line(tmp_path: Path, plan: dict[str, Any]) -> run.Line:
    (tmp_path / "suite.py").write_text(FAKE_SUITE)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    return run.Line(
        "9.9", [sys.executable, str(tmp_path / "suite.py"), str(tmp_path / "plan.json")], [(name, "2026-07-28") for name in plan]
    )


def test_runner_ends_with_the_line_that_scripts_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Our choice: one line, counting scenarios per release and checks that failed or warned; said first if nothing is covered."""
    empty = run.Line("0.1", ["false"], (), "nothing yet")
    assert run.run([empty, fake_line(tmp_path, {"a": [["SUCCESS", "SKIPPED"], 0], "b": [["SUCCESS", "SUCCESS"], 0]})]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "0.1: nothing yet",
        "9.9 a at 2026-07-28: 1 checks, passed",
        "9.9 b at 2026-07-28: 2 checks, passed",
        "conformance: 0.1 0/0, 9.9 2/2, 0 failures, 0 warnings",
    ]


@pytest.mark.parametrize(
    ("outcome", "failures", "warnings"),
    [
        ([["SUCCESS", "FAILURE", "FAILURE"], 1], 2, 0),
        ([["SUCCESS", "WARNING"], 1], 0, 1),
        ([["SUCCESS"], 1], 1, 0),
        ([["SKIPPED", "INFO"], 0], 1, 0),
        ([[], 0], 1, 0),
        ([None, 0], 1, 0),
    ],
    ids=["failure", "warning", "bad-status", "nothing-observed", "empty-report", "no-report"],
)
def test_runner_fails_on_whatever_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], outcome: list[Any], failures: int, warnings: int
) -> None:
    """Our choice: a warning fails too, and a scenario that observed nothing did not pass."""
    assert run.run([fake_line(tmp_path, {"good": [["SUCCESS"], 0], "bad": outcome})]) == 1
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"conformance: 9.9 1/2, {failures} failures, {warnings} warnings"
    assert "the client's own words" in said or outcome[0] is None


def test_every_covered_scenario_is_acted_out_by_the_client() -> None:
    """Our choice: the table of the runner and that of the client do not drift apart."""
    assert set(client.SCENARIOS) == {name for name, _ in (*run.COVERED_STABLE, *run.COVERED_NEXT)}


@pytest.mark.conformance
@pytest.mark.parametrize("release", [0, 1])
def test_whatever_the_suite_has_for_clients_is_run_save_authorization(release: int) -> None:
    """Our contract: each scenario at every revision it applies to, by the suite's own list."""
    line = run.installed_lines()[release]
    assert run.uncovered(line) == set()
    assert len(line.scenarios) > 5


@pytest.mark.conformance
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("release", "scenario", "revision"),
    [*((0, *one) for one in run.COVERED_STABLE), *((1, *one) for one in run.COVERED_NEXT)],
)
def test_official_scenario_passes(release: int, scenario: str, revision: str, tmp_path: Path) -> None:
    """The official suites, 0.1.16 and 0.2.0-alpha.12; the client finds the era by itself."""
    outcome = run.run_scenario(run.installed_lines()[release], scenario, revision, tmp_path)
    assert outcome.passed, "\n".join(outcome.problems)
