"""``dragoman.Host`` with everything on and many servers in its configuration file: how long they take to connect, what each one weighs."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.drivers import floor, hosts
from bench.drivers.scenarios import Values, cpu_s, memory_kb

SLOW = [sys.executable, "-S", "-E", str(Path(__file__).with_name("slow_server.py"))]


async def bare(argv: list[str], count: int) -> float:
    """Milliseconds until the slowest of so many servers, started at once, has answered, with next to nothing on our side."""
    start = time.perf_counter()
    pipes = [floor.Pipe(argv) for _ in range(count)]
    await asyncio.gather(*(pipe.request("server/discover", {"_meta": floor.META}) for pipe in pipes))
    took = (time.perf_counter() - start) * 1e3
    for pipe in pipes:
        pipe.close()
    return took


async def through_host(servers: dict[str, list[str]], home: Path) -> tuple[float, float]:
    """Milliseconds of wall and CPU from before the host is made until all servers are connected and their tools listed."""
    cpu, start = cpu_s(), time.perf_counter()
    async with hosts.opened(servers, home=home) as counted:
        wall, cpu = time.perf_counter() - start, cpu_s() - cpu
        await asyncio.gather(*(counted.check(name) for name in servers))
    return wall * 1e3, cpu * 1e3


async def connecting(params: dict[str, Any]) -> Values:
    """
    All servers at once through one host, against one server started alone in the same round, and against the slowest of as many at once.

    Where starting costs CPU, many at once take longer than one alone whoever starts them: the machine is shared out among them. The
    second comparison takes that out of the figure.
    """
    argv = SLOW if params.get("python") else [*params["server"], str(params["tools"]), str(params["start_ms"])]
    servers = {f"s{number:03d}": argv for number in range(params["servers"])}
    rounds = []
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder:  # as a program finds it at its second start
        await through_host({"s": argv}, Path(folder))
        for _ in range(params["rounds"]):
            one, slowest = await bare(argv, 1), await bare(argv, len(servers))
            rounds.append((one, slowest, *await through_host(servers, Path(folder))))
    return {
        "one_ms": statistics.median(one for one, *_ in rounds),
        "bare_ms": statistics.median(slowest for _, slowest, *_ in rounds),
        "all_ms": statistics.median(wall for _, _, wall, _ in rounds),
        "times_one": statistics.median(wall / one for one, _, wall, _ in rounds),
        "times_slowest": statistics.median(wall / slowest for _, slowest, wall, _ in rounds),
        "cpu_ms": statistics.median(cpu for *_, cpu in rounds),
    }


async def memory(params: dict[str, Any]) -> Values:
    """Growth of this process from few connected servers to many, each of which has answered one call."""
    argv = [*params["server"], str(params["tools"])]
    first = {f"s{number:03d}": argv for number in range(params["first"])}
    async with hosts.opened(first) as counted:
        for name in first:
            await counted.check(name)
        rss_few, pss_few = memory_kb()
        for number in range(params["first"], params["servers"]):
            await counted.host.add(f"s{number:03d}", command=argv, tools={"*": "L0"})
            await counted.check(f"s{number:03d}")
        rss, pss = memory_kb()
    more = params["servers"] - params["first"]
    return {"rss_kb_each": (rss - rss_few) / more, "pss_kb_each": (pss - pss_few) / more, "rss_few_mb": rss_few / 1024}


if __name__ == "__main__":
    print(json.dumps({"values": asyncio.run({"connecting": connecting, "memory": memory}[sys.argv[1]](json.loads(sys.argv[2])))}))
