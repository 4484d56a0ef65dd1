"""The benchmark's arithmetic, goals and tables; no timing and no processes."""

from __future__ import annotations

import pytest

from bench import table
from bench.__main__ import arguments
from bench.contenders import CONTENDERS
from bench.figures import Figure, Goal, Judged, Run, Verdict, figure, holds, judge, median, ratio
from bench.prepare import BENCH, error_line
from bench.row import Row
from bench.rows import ROWS

ROW = Row("r", "a row", ("a", "b"), {"ms": "ms"}, ())


def run(contender: str, number: int, ms: float | None, others: float = 0.0, error: str = "") -> Run:
    return Run("r", contender, number, {} if ms is None else {"ms": ms}, error, others)


def test_median_is_the_middle_or_the_mean_of_the_middle_two() -> None:
    """Our choice."""
    assert median([9, 1, 5]) == 5
    assert median([1, 2, 4, 100]) == 3
    with pytest.raises(ValueError, match="median of nothing"):
        median([])


def test_figure_leaves_disturbed_runs_out_while_there_are_others() -> None:
    """Our choice: neighbours may use a quarter of a CPU."""
    runs = [run("a", 0, 10), run("a", 1, 50, others=0.26), run("a", 2, 12, others=0.25)]
    assert figure(runs, "r", "a", "ms") == Figure(11, runs=2)


def test_figure_from_disturbed_runs_only_is_marked() -> None:
    """Our choice."""
    assert figure([run("a", 0, 10, others=1.0), run("a", 1, 20, others=1.0)], "r", "a", "ms") == Figure(15, runs=2, disturbed=True)
    assert figure([run("a", 0, None, error="x")], "r", "a", "ms") is None


def test_ratio_is_taken_within_a_round_so_that_a_slow_minute_cancels_out() -> None:
    """Medians first would give 30 / 10 here."""
    runs = [run("a", 0, 20), run("b", 0, 10), run("a", 1, 200), run("b", 1, 100), run("a", 2, 30), run("b", 2, 5)]
    assert ratio(runs, "r", "ms", "a", "b") == Figure(2, runs=3)


def test_ratio_needs_both_sides_of_a_round_undisturbed_and_marks_it_otherwise() -> None:
    """Our choice."""
    quiet = [run("a", 0, 20), run("b", 0, 10)]
    noisy = [run("a", 1, 90), run("b", 1, 10, others=2)]
    assert ratio(quiet + noisy, "r", "ms", "a", "b") == Figure(2, runs=1)
    assert ratio(noisy, "r", "ms", "a", "b") == Figure(9, runs=1, disturbed=True)


def test_ratio_without_a_common_round_is_that_of_the_figures() -> None:
    """A contender that runs once may have failed in the round that counts."""
    assert ratio([run("a", 0, 30), run("b", 1, 10)], "r", "ms", "a", "b") == Figure(3, runs=1)
    assert ratio([run("a", 0, 30)], "r", "ms", "a", "b") is None
    assert ratio([run("a", 0, 30), run("b", 0, 0)], "r", "ms", "a", "b") is None


@pytest.mark.parametrize(
    ("goal", "value", "kept"),
    [
        (Goal("", "ms", "a", at_most=2), 2.0, True),
        (Goal("", "ms", "a", at_most=2), 2.01, False),
        (Goal("", "ms", "a", at_most=2, strict=True), 2.0, False),
        (Goal("", "ms", "a", at_most=2, strict=True), 1.99, True),
        (Goal("", "ms", "a", at_least=3.5), 3.5, True),
        (Goal("", "ms", "a", at_least=3.5), 3.49, False),
        (Goal("", "ms", "a", at_least=3.5, strict=True), 3.5, False),
        (Goal("", "ms", "a"), 1e9, True),
    ],
)
def test_a_goal_holds_up_to_its_limit(goal: Goal, value: float, kept: bool) -> None:
    """Our choice: limits are inclusive unless strict."""
    assert holds(goal, value) is kept


def test_verdicts_and_the_reasons_for_having_none() -> None:
    """A peer that is not there or fails is said so, never dropped."""
    runs = [run("a", 0, 30), run("b", 0, 10), run("c", 0, None, error="Connection closed")]
    assert judge(runs, "r", Goal("", "ms", "a", "b", at_most=3), {}).verdict is Verdict.OK
    assert judge(runs, "r", Goal("", "ms", "a", "b", at_most=2.9), {}).verdict is Verdict.MISSED
    assert judge(runs, "r", Goal("", "ms", "a", "b"), {}).verdict is Verdict.INFO
    failed = judge(runs, "r", Goal("", "ms", "a", "c", at_most=1), {})
    assert (failed.verdict, failed.reason) == (Verdict.NOT_MEASURED, "c fails: Connection closed")
    assert judge(runs, "r", Goal("", "ms", "d", at_most=1), {"d": "not available: no npm"}).reason == "d: not available: no npm"
    assert judge(runs, "r", Goal("", "ms", "e", at_most=1), {}).reason == "e was not run"


@pytest.mark.parametrize(
    ("value", "shown"), [(0.416, "0.42"), (3.14159, "3.14"), (98.06, "98.1"), (123.4, "123"), (1736.2, "1,736"), (-0.5, "-0.50")]
)
def test_numbers_have_about_three_digits(value: float, shown: str) -> None:
    """Our choice."""
    assert table.number(value) == shown


def test_goal_table_shows_both_figures_the_ratio_and_a_miss_in_bold() -> None:
    """Our choice."""
    goal = Goal("a ≤ 2 × b", "ms", "a", "b", at_most=2, unit="ms")
    judged = Judged("r", goal, Figure(3, 2), Verdict.MISSED, Figure(30, 2), Figure(10, 2, disturbed=True))
    assert table.goals([ROW], [judged]).splitlines() == [
        "| row | goal | measured | figure |  |",
        "| --- | --- | --- | ---: | ---: |",
        "| a row | a ≤ 2 × b | a 30.0 ms, b ~10.0 ms | 3.00 × | **missed** |",
    ]


def test_figure_table_has_a_line_for_every_contender_with_its_failure() -> None:
    """A pipe in an error must not break the table."""
    runs = [run("a", 0, 30), run("a", 1, 50, others=1), run("b", 0, None, error="died | badly")]
    assert table.figures(ROW, runs, {"a": "A"}, {}).splitlines()[2:] == [
        "| A | 30.0 | 1/2 undisturbed |",
        "| b | – | fails (1 of 1 runs): died \\| badly |",
    ]
    assert table.figures(ROW, [], {}, {"b": "no npm"}).splitlines()[2:] == ["| a | – | not run |", "| b | – | no npm |"]


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        ('Traceback (most recent call last):\n  File "x", line 1\nValueError: bad\n', "ValueError: bad"),
        ("file:///x.js:9\n  throw error;\n\nMcpError: MCP error -32000: Connection closed\n    at McpError.fromError (x)\n\nNode.js v20\n",
         "McpError: MCP error -32000: Connection closed"),
        ("command not found\n", "command not found"),
        ("error: no such option\nhint: see --help\n", "error: no such option"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_that_names_the_error_is_found(stderr: str, line: str) -> None:
    """Node writes it in the middle of its output, Python at the end."""
    assert error_line(stderr) == line


def test_rows_name_only_contenders_metrics_and_drivers_that_exist() -> None:
    """A goal about a metric that is not shown, or a contender that is not run, would never be judged."""
    assert len({row.name for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert set(row.contenders) <= set(CONTENDERS), row.name
        for goal in row.goals:
            assert goal.metric in row.metrics, goal.text
            assert {goal.top, goal.bottom} - {""} <= set(row.contenders), goal.text
    for one in CONTENDERS.values():
        for file in filter(None, (one.driver, one.start)):
            assert (BENCH / "drivers" / file).is_file()


def test_unknown_rows_are_refused_with_the_names_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Our choice: a typo must not measure nothing."""
    with pytest.raises(SystemExit) as stopped:
        arguments(["--only", "sequentail"])
    assert stopped.value.code == 2
    assert "no such name: sequentail; there are sequential, " in capsys.readouterr().err
