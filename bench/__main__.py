"""The benchmark's command: gets ready, runs the rows interleaved, prints Markdown."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from bench import prepare, process, table
from bench.contenders import CONTENDERS
from bench.figures import Judged, Run, judge
from bench.prepare import Unavailable
from bench.row import Row
from bench.rows import ROWS

EXTRA_ROUNDS = 2
"""At most so many rounds are added to a row when neighbours disturbed some."""


@dataclass
class Bench:
    """One run of the benchmark: what is there, what was measured."""

    environments: Path
    rounds: int
    quick: bool
    server: Path
    home: Path
    runtimes: dict[str, Path] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)

    def get_ready(self, rows: Sequence[Row]) -> None:
        wanted = {CONTENDERS[name].runtime for row in rows for name in row.contenders if row.kind != "install"}
        makers: dict[str, Callable[[], Path]] = {
            "ours": lambda: Path(sys.executable),
            "mcp2": lambda: prepare.python("mcp2", self.environments),
            "mcp1": lambda: prepare.python("mcp1", self.environments),
            "node": lambda: prepare.node(self.environments),
        }
        for runtime in sorted(wanted):
            say(f"getting ready: {runtime}")
            try:
                self.runtimes[runtime] = makers[runtime]()
            except Unavailable as exc:
                say(f"  not available: {exc}")
                self.absent.update({one.name: f"not available: {exc}" for one in CONTENDERS.values() if one.runtime == runtime})

    def measure(self, row: Row) -> None:
        if row.kind == "install":
            self.runs.append(self._install(row))
            return
        present = [name for name in row.contenders if name not in self.absent]
        if row.kind in ("import", "start"):
            for name in present:
                self._run(row, name, -1)  # compiled files, page cache, a state folder: what a second start finds, for everybody
        rounds, number = row.rounds or self.rounds, 0
        extra = 0 if self.quick or row.rounds or not row.noisy else EXTRA_ROUNDS
        while number < rounds or (number < rounds + extra and self._quiet_rounds(row) < rounds):
            for name in present:
                if name in row.once and number > 0:
                    continue
                done = self._run(row, name, number)
                shown = done.error or " ".join(f"{metric}={table.number(value)}" for metric, value in done.values.items())
                neighbours = "" if done.quiet else f"   (others used {done.others_cpus:.2f} CPU)"
                say(f"{row.name:>10} {number + 1}/{rounds} {name:<10} {shown}{neighbours}")
                self.runs.append(done)
            number += 1

    def _run(self, row: Row, name: str, number: int) -> Run:
        contender = CONTENDERS[name]
        params = row.quick if self.quick and row.quick else row.params
        params = {**params, **row.quick_for.get(name, {})} if self.quick else params
        try:
            argv = process.command(row, contender, self.runtimes[contender.runtime], self.server, params)
        except Unavailable as exc:
            return Run(row.name, name, number, error=str(exc))
        return process.run(row, contender, argv, number, self.home)

    def _install(self, row: Row) -> Run:
        say("installing the package into a fresh environment")
        try:
            return Run(row.name, "client", 0, prepare.install())
        except Unavailable as exc:
            return Run(row.name, "client", 0, error=str(exc))

    def _quiet_rounds(self, row: Row) -> int:
        mine = [run for run in self.runs if run.row == row.name and run.contender not in row.once]
        noisy = {run.round for run in mine if not run.quiet}
        return len({run.round for run in mine} - noisy)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def machine(bench: Bench, took_s: float) -> str:
    described = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(":")[2].strip() for line in described if line.startswith("model name")), "unknown CPU")
    node = bench.runtimes.get("node")
    node_version = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip() if node else "not used"
    disturbed = sum(not run.quiet for run in bench.runs)
    return (
        f"{os.cpu_count()} × {model}, Linux {platform.release()}, Python {platform.python_version()}, Node {node_version}; "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {took_s:.0f} s, "
        f"{bench.rounds} rounds{' (quick: trust ratios only roughly)' if bench.quick else ''}; "
        f"{disturbed} of {len(bench.runs)} runs disturbed by other processes (> 0.25 CPU); ~ marks figures from disturbed runs only."
    )


def report(bench: Bench, rows: Sequence[Row], judged: Sequence[Judged], took_s: float) -> str:
    labels = {name: one.label for name, one in CONTENDERS.items()}
    parts = ["# Speed and memory", machine(bench, took_s), "## Goals", table.goals(rows, judged), "## All figures"]
    for row in rows:
        parts += [f"### {row.name}: {row.title}", table.figures(row, bench.runs, labels, bench.absent)]
    return "\n\n".join(parts) + "\n"


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description="Compare Dragoman with other MCP clients and a bare pipe, side by side.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter runs")
    parser.add_argument("--only", metavar="ROW,…", help="some rows: " + ", ".join(row.name for row in ROWS))
    parser.add_argument("--without", metavar="WHO,…", default="", help="leave contenders out: " + ", ".join(CONTENDERS))
    parser.add_argument("--runs", type=int, metavar="N", help="rounds per row (default 5, with --quick 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every run and verdict to a file")
    parser.add_argument(
        "--environments", type=Path, default=prepare.ROOT / ".venv-interop", metavar="DIR", help="where the peers' environments are or go"
    )
    parsed = parser.parse_args(argv)
    names = [row.name for row in ROWS]
    for given, known in ((parsed.only, names), (parsed.without, list(CONTENDERS))):
        if unknown := [name for name in (given or "").split(",") if name and name not in known]:
            parser.error(f"no such name: {', '.join(unknown)}; there are {', '.join(known)}")
    if parsed.runs is not None and parsed.runs < 1:
        parser.error("--runs needs 1 or more")
    return parsed


def main(argv: Sequence[str] | None = None) -> int:
    """0 when it ran or had to be skipped, whatever the verdicts: a benchmark, not a gate."""
    options = arguments(argv)
    rows = [row for row in ROWS if not options.only or row.name in options.only.split(",")]
    try:
        server = prepare.server()
    except Unavailable as exc:
        print(f"bench skipped: {exc}")
        return 0
    rounds = options.runs or (1 if options.quick else 5)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as home:
        bench = Bench(options.environments.resolve(), rounds, options.quick, server, Path(home))
        bench.absent.update({name: "left out by --without" for name in options.without.split(",") if name})
        bench.get_ready(rows)
        for row in rows:
            bench.measure(row)
    judged = [judge(bench.runs, row.name, goal, bench.absent) for row in rows for goal in row.goals]
    took_s = time.monotonic() - started
    print(report(bench, rows, judged, took_s))
    if options.json:
        document = {
            "machine": machine(bench, took_s),
            "absent": bench.absent,
            "goals": [asdict(one) for one in judged],
            "runs": [asdict(run) for run in bench.runs],
        }
        options.json.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
