"""
What the layers of resilience add to a call: two Hosts in one process take turns, one with every layer, one without these.

Without: no budget, stale, retry, breaker and bulkhead in the chain, and no heartbeat. Both have the audit and all other layers on.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from typing import Any

from bench.drivers import hosts
from bench.drivers.scenarios import ECHO, Values, cpu_s
from dragoman.policy import stack

LEFT_OUT = {"budget", "stale", "retry", "breaker", "bulkhead"}
SETTLE_S = 0.05  # the store's thread ends what a block left it


async def block(counted: hosts.Counted, calls: int, in_flight: int) -> float:
    """CPU of this process per call, in µs, with what the store's thread writes for them."""

    async def worker() -> None:
        for _ in range(calls // in_flight):
            await counted.call("s.echo", ECHO)

    cpu = cpu_s()
    if in_flight == 1:
        await worker()
    else:
        await asyncio.gather(*(worker() for _ in range(in_flight)))
    await asyncio.sleep(SETTLE_S)
    return (cpu_s() - cpu) * 1e6 / (calls // in_flight * in_flight)


async def layers(params: dict[str, Any]) -> Values:
    everything = stack.ORDER
    async with hosts.opened({"s": params["server"]}) as full:
        stack.ORDER = tuple(row for row in everything if row[0] not in LEFT_OUT)  # type: ignore[misc]
        async with hosts.opened({"s": params["server"]}, "heartbeat_s = 0") as bare:
            for counted, expected in ((full, set()), (bare, LEFT_OUT)):
                await counted.check("s")
                there = {row.layer for row in counted.host.stack.explain()}
                if {name for name, _ in everything} - there != expected:
                    raise SystemExit(f"the chain is {sorted(there)}: this would measure something else")
            pairs = []
            for number in range(params["pairs"] + 1):
                turns = (full, bare) if number % 2 else (bare, full)
                took = {id(counted): await block(counted, params["calls"], params["in_flight"]) for counted in turns}
                if number:  # the first warms up
                    pairs.append((took[id(full)], took[id(bare)]))
    return {
        "with_us": statistics.median(pair[0] for pair in pairs),
        "without_us": statistics.median(pair[1] for pair in pairs),
        "extra_us": statistics.median(pair[0] - pair[1] for pair in pairs),
    }


if __name__ == "__main__":
    print(json.dumps({"values": asyncio.run(layers(json.loads(sys.argv[2])))}))
