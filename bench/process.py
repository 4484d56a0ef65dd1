"""Starts one contender once, as a fresh process, and notes how busy the machine was with other things meanwhile."""

from __future__ import annotations

import json
import os
import resource
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import prepare
from bench.contenders import Contender
from bench.figures import Run
from bench.prepare import Unavailable, error_line
from bench.row import Row

DRIVERS = prepare.BENCH / "drivers"
TICKS = os.sysconf("SC_CLK_TCK")


def command(row: Row, contender: Contender, interpreter: Path, server: Path, params: Mapping[str, object]) -> list[str]:
    """The argv of one run; Unavailable when this contender has nothing for this kind of row."""
    on_node = contender.runtime == "node"
    if row.kind == "start" and contender.name == "call":
        script = interpreter.with_name("dragoman")
        if not script.exists():
            raise Unavailable(f"no command {script.name} beside {interpreter}")
        return [str(script), "call", "--on", shlex.quote(str(server)), "echo", "text=hi"]
    if row.kind == "start" and contender.start:
        program = DRIVERS / contender.start
        return [str(interpreter), *([str(program)] if on_node else ["-c", program.read_text(encoding="utf-8")]), str(server)]
    if row.kind == "import" and contender.imports:
        return [str(interpreter), str(DRIVERS / "imports.py"), contender.imports]
    if row.kind == "scenario" and contender.driver:
        payload = json.dumps({**params, "server": [str(server)]})
        if on_node:
            return [str(interpreter), "--expose-gc", str(DRIVERS / contender.driver), row.scenario, payload]
        return [str(interpreter), "-m", f"bench.drivers.{contender.driver.removesuffix('.py')}", row.scenario, payload]
    raise Unavailable(f"{contender.name} has nothing to run for {row.kind}")


def run(row: Row, contender: Contender, argv: Sequence[str], number: int, home: Path) -> Run:
    """Never raises for what a contender does: a failure is a Run with an error. ``home`` is where ours keeps its state."""
    with _one_cpu(row.pinned):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DRAGOMAN_", "NODE_"))}
        env |= {"DRAGOMAN_HOME": str(home), "PYTHONPATH": str(prepare.ROOT / "src")} if contender.runtime == "ours" else {}
        busy, own, start = _busy_s(), _own_s(), time.perf_counter()
        values, error = _first_line(argv, env, row.timeout_s) if row.kind == "start" else _json_line(argv, env, row.timeout_s)
        wall = time.perf_counter() - start
        others = max(0.0, (_busy_s() - busy) - (_own_s() - own)) / wall
    return Run(row.name, contender.name, number, values, error, others if row.noisy else 0.0)


def _json_line(argv: Sequence[str], env: Mapping[str, str], timeout_s: float) -> tuple[dict[str, float], str]:
    child = _start(argv, env)
    try:
        out, err = child.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill(child)
        return {}, f"no result within {timeout_s:.0f} s"
    if child.returncode:
        return {}, error_line(err) or f"exit code {child.returncode}"
    try:
        return dict(json.loads(out.splitlines()[-1])["values"]), ""
    except (IndexError, KeyError, ValueError):
        return {}, f"printed no result: {out[-200:]!r}"


def _first_line(argv: Sequence[str], env: Mapping[str, str], timeout_s: float) -> tuple[dict[str, float], str]:
    """Time from before the process exists to its first line of output, which must be the echo."""
    start = time.perf_counter()
    child = _start(argv, env)
    assert child.stdout is not None
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ)
        ready = waiting.select(timeout_s)
    first = time.perf_counter() - start
    try:
        out, err = child.communicate(timeout=timeout_s if ready else 0.1)
    except subprocess.TimeoutExpired:
        _kill(child)
        return {}, f"did not end within {timeout_s:.0f} s"
    ended = time.perf_counter() - start
    if child.returncode or out.strip() != "hi":
        return {}, error_line(err) or f"exit code {child.returncode}, printed {out[-200:]!r}"
    return {"first_ms": first * 1e3, "exit_ms": ended * 1e3}, ""


def _start(argv: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv,
        cwd=prepare.ROOT,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _kill(child: subprocess.Popen[str]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.communicate()


@contextmanager
def _one_cpu(pinned: bool) -> Iterator[None]:
    """Children inherit the affinity, and their children theirs; so client and server share the CPU that is idlest now."""
    if not pinned or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    idle = _idle_ticks()
    time.sleep(0.05)
    later = _idle_ticks()
    os.sched_setaffinity(0, {max(before, key=lambda cpu: later.get(cpu, 0) - idle.get(cpu, 0))})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _stat() -> Iterator[tuple[str, list[int]]]:
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            name, *ticks = line.split()
            if name.startswith("cpu"):
                yield name, [int(tick) for tick in ticks]


def _idle_ticks() -> dict[int, int]:
    return {int(name[3:]): ticks[3] + ticks[4] for name, ticks in _stat() if name != "cpu"}


def _busy_s() -> float:
    """CPU seconds all processes used so far; guests are contained in user, so not added again."""
    ticks = dict(_stat())["cpu"]
    user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
    return (user + nice + system + irq + softirq + steal) / TICKS


def _own_s() -> float:
    """CPU seconds of this process and of the children that have ended, with theirs."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total
