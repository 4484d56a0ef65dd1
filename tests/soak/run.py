"""Fifty servers, most of them bad, and 64 callers, for as long as you like: does every call end, once, and does nothing leak?

``python -m tests.soak.run --seconds 600``. Prints what happened as JSON, and the broken promises if there are any; then it ends with 1.
How much slower healthy servers get beside broken ones is printed and judged by whoever reads it: a shared machine is no clock.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import dragoman

SERVER = Path(__file__).with_name("server.py")
CALL_S = 2.0
#: How long after its deadline a call may need to come back: a machine with two processors and fifty interpreters on it is slow.
GRACE_S = 10.0
FAULTS = 0.02


class Footprint(NamedTuple):
    """What a process holds."""

    descriptors: int
    tasks: int
    children: int
    rss_mb: float


def footprint() -> Footprint:
    """Of this process, now."""
    gc.collect()
    children = sum(len(path.read_text().split()) for path in Path("/proc/self/task").glob("*/children"))
    rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    return Footprint(len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks()), children, round(rss, 1))


class Soak:
    """One run.

    Attributes:
        endings: How calls ended, by word.
        broken: Promises that were broken, in words.
    """

    def __init__(self, folder: Path, servers: int, healthy: int, seed: int) -> None:
        self.folder, self.dice = folder, random.Random(seed)
        self.names = [f"s{number:02}" for number in range(servers)]
        self.healthy = set(self.names[:healthy])
        self.seed = seed
        self.endings: Counter[str] = Counter()
        self.broken: list[str] = []
        # On disk and in plain numbers: what the soak itself remembers must not look like a leak of what it watches.
        self._worked = (folder / "worked").open("a+", encoding="ascii")
        self.took: dict[bool, array[float]] = {True: array("f"), False: array("f")}
        self.calls = self.kills = 0

    def config(self) -> Path:
        """A configuration with all servers; ``work`` is a write, ``look`` reads."""
        lines = []
        for number, name in enumerate(self.names):
            chance = "0" if name in self.healthy else str(FAULTS)
            argv = [sys.executable, "-I", "-S", str(SERVER), str(self.folder), name, chance, str(self.seed + number)]
            lines += [f"[servers.{name}]", f"command = {json.dumps(argv)}", f"[servers.{name}.tools]", 'work = "L1"', 'look = "L0"', ""]
        path = self.folder / "dragoman.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    async def caller(self, host: dragoman.Host, names: list[str], until: float) -> None:
        """Call, and check that each call comes back with exactly one ending."""
        while time.monotonic() < until:
            name, tool = self.dice.choice(names), self.dice.choice(("work", "look"))
            self.calls += 1
            call_id = f"{name}-{self.calls}"
            began = time.monotonic()
            try:
                async with asyncio.timeout(CALL_S + GRACE_S):
                    outcome = await host.call(f"{name}.{tool}", {"id": call_id}, timeout_s=CALL_S)
            except TimeoutError:
                self.broken.append(f"call {call_id} had no ending {CALL_S + GRACE_S:g} s after it was made")
                continue
            except Exception as exc:
                self.broken.append(f"call {call_id} raised {exc!r}")
                continue
            took = time.monotonic() - began
            if outcome.ok:
                self.took[name in self.healthy].append(took)
                if outcome.for_user().strip() != call_id:
                    self.broken.append(f"call {call_id} was answered with {outcome.for_user()[:80]!r}")
                ran = "yes"
            else:
                assert outcome.error is not None
                ran = getattr(outcome.error, "maybe_ran", "no")
                if name in self.healthy and self.quiet:
                    self.broken.append(f"call {call_id} of a healthy server failed: {outcome.error}")
            self.endings["ok" if outcome.ok else type(outcome.error).__name__] += 1
            if tool == "work":
                self.claim(call_id, ran)
            if not outcome.ok:
                await asyncio.sleep(0.05)  # an agent thinks before it tries again

    quiet = False

    async def chaos(self, until: float) -> None:
        """Kill servers at random, four a second."""
        bad = [name for name in self.names if name not in self.healthy]
        while time.monotonic() < until:
            await asyncio.sleep(0.25)
            try:
                os.kill(int((self.folder / f"{self.dice.choice(bad)}.pid").read_text()), signal.SIGKILL)
                self.kills += 1
            except (OSError, ValueError):  # it is down already
                continue

    def claim(self, call_id: str, ran: str) -> None:
        """Note what a call of `work` was said to have done: no, perhaps or yes."""
        self._worked.write(f"{call_id} {ran}\n")

    def check_executions(self) -> None:
        """Nothing ran twice; what ended well ran; what never left did not."""
        self._worked.seek(0)
        worked = [line.split() for line in self._worked]
        self._worked.close()
        ran: Counter[str] = Counter()
        for path in self.folder.glob("*.done"):
            ran.update(path.read_text().split())
        self.broken += [f"call {call_id} was executed {times} times" for call_id, times in ran.items() if times > 1]
        for call_id, claimed in worked:
            if claimed == "yes" and not ran[call_id]:
                self.broken.append(f"call {call_id} ended well and was never executed")
            if claimed == "no" and ran[call_id]:
                self.broken.append(f"call {call_id} was said not to have left, and was executed")

    async def callers(
        self, host: dragoman.Host, names: list[str], count: int, seconds: float, *more: Callable[[float], Awaitable[None]]
    ) -> None:
        """So many callers at once, for so long."""
        until = time.monotonic() + seconds
        await asyncio.gather(*(self.caller(host, names, until) for _ in range(count)), *(one(until) for one in more))

    async def run(self, seconds: float, callers: int) -> dict[str, Any]:
        """All of it; the report."""
        os.environ["DRAGOMAN_HOME"] = str(self.folder / "home")
        before = footprint()
        async with dragoman.Host.from_config(self.config()) as host:
            share = max(1, round(callers * len(self.healthy) / len(self.names)))
            self.quiet = True
            await self.callers(host, sorted(self.healthy), share, max(5.0, seconds * 0.1))
            self.quiet = False
            alone = self.took[True]
            self.took[True] = array("f")
            await self.callers(host, self.names, callers, seconds * 0.3, self.chaos)
            middle = footprint()
            await self.callers(host, self.names, callers, seconds * 0.6, self.chaos)
            late = footprint()
        await asyncio.sleep(0.2)
        after = footprint()
        self.check_executions()
        if late.tasks > middle.tasks + 2 * len(self.names) or late.descriptors > middle.descriptors + 4 * len(self.names):
            self.broken.append(f"tasks or descriptors grow: {middle} then {late}")
        if late.rss_mb > middle.rss_mb * 1.25 + 10:
            self.broken.append(f"memory grows: {middle.rss_mb} MB then {late.rss_mb} MB")
        if after.children > before.children or after.tasks > before.tasks or after.descriptors > before.descriptors + 2:
            self.broken.append(f"left behind after closing: {before} before, {after} after")
        beside = self.took[True]
        return {
            "seconds": seconds,
            "calls": self.calls,
            "kills": self.kills,
            "endings": dict(self.endings.most_common()),
            "healthy_alone_p99_ms": _p99(alone),
            "healthy_beside_p99_ms": _p99(beside),
            "times": round(_p99(beside) / _p99(alone), 2) if alone and beside else None,
            "footprints": {"before": before._asdict(), "middle": middle._asdict(), "late": late._asdict(), "after": after._asdict()},
            "broken": self.broken[:50],
        }


def _p99(seconds: array[float]) -> float:
    return round(statistics.quantiles(seconds, n=100)[98] * 1000, 1) if len(seconds) > 1 else 0.0


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--servers", type=int, default=50)
    parser.add_argument("--healthy", type=int, default=20)
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="dragoman-soak-") as folder:
        soak = Soak(Path(folder), args.servers, args.healthy, args.seed)
        report = asyncio.run(soak.run(args.seconds, args.callers))
    print(json.dumps(report, indent=2))
    return 1 if report["broken"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
