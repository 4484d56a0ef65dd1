"""
What is measured, once for all Python contenders; each contender hands in only how it connects.

Run as ``python DRIVER SCENARIO PARAMS`` with PARAMS a JSON object that holds ``server`` (an argv) and the scenario's own keys. With ``via``
(a path) the server is started first, serves HTTP, and what the contender connects to is a URL with that path.
Prints one JSON line: ``{"values": {metric: number}, "errors": {metric: text}, "client": version}``. Times are of this process, CPU is
user + system of this process with all its threads, never the server's.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

ECHO = {"text": "hello, world"}
LIST_ENOUGH_S = 2.0
LARGE_ENOUGH_S = 8.0


@dataclass(frozen=True)
class Peer:
    """One connected client, reduced to what the scenarios need."""

    call: Callable[[str, dict[str, Any]], Awaitable[Any]]
    text: Callable[[Any], str]
    list_tools: Callable[[], Awaitable[int]]
    listen: Callable[[], Awaitable[Any]] | None = None


Connect = Callable[[Any], AbstractAsyncContextManager[Peer]]
Values = dict[str, float]


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory_kb() -> tuple[float, float]:
    """RSS and PSS of this process in KB."""
    gc.collect()
    found: dict[str, float] = {}
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        for line in file:
            name, _, rest = line.partition(":")
            if name in ("Rss", "Pss"):
                found[name] = float(rest.split()[0])
    return found["Rss"], found["Pss"]


def rss_mb() -> float:
    """RSS of this process now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


async def check(peer: Peer) -> None:
    """A client that answers wrongly is not fast."""
    answer = peer.text(await peer.call("echo", ECHO))
    if answer != ECHO["text"]:
        raise SystemExit(f"echo answered {answer!r}, expected {ECHO['text']!r}")


async def sequential(connect: Connect, params: dict[str, Any]) -> Values:
    async with connect(params["server"]) as peer:
        await check(peer)
        call = peer.call
        took: list[int] = []
        for _ in range(params["warmup"]):
            await call("echo", ECHO)
        cpu = cpu_s()
        for _ in range(params["calls"]):
            start = time.perf_counter_ns()
            await call("echo", ECHO)
            took.append(time.perf_counter_ns() - start)
        cpu = cpu_s() - cpu
    took.sort()
    calls = len(took)
    return {
        "p50_us": statistics.median(took) / 1e3,
        "mean_us": sum(took) / calls / 1e3,
        "p99_us": took[int(calls * 0.99)] / 1e3,
        "cpu_us": cpu * 1e6 / calls,
    }


async def flight(connect: Connect, params: dict[str, Any]) -> Values:
    """A constant number of calls in flight, for a given time; each worker sends its next call when its last one is answered."""
    async with connect(params["server"]) as peer:
        await check(peer)
        call = peer.call
        done, stop = 0, False

        async def worker() -> None:
            nonlocal done
            while not stop:
                await call("echo", ECHO)
                done += 1

        workers = [asyncio.create_task(worker()) for _ in range(params["in_flight"])]
        await asyncio.sleep(params["warmup_s"])
        before, cpu, start = done, cpu_s(), time.perf_counter()
        await asyncio.sleep(params["seconds"])
        calls, cpu, wall = done - before, cpu_s() - cpu, time.perf_counter() - start
        stop = True
        await asyncio.gather(*workers)
    return {"cpu_us": cpu * 1e6 / calls, "calls_per_s": calls / wall}


async def large(connect: Connect, params: dict[str, Any]) -> Values:
    """``growth`` is time per byte of the larger result over time per byte of the smaller: 1.0 is linear, 4.0 quadratic for sizes 1 : 4."""
    values: Values = {}
    async with connect(params["server"]) as peer:
        await check(peer)
        for name, megabytes in (("small", params["small_mb"]), ("large", params["large_mb"])):
            if not megabytes:
                continue
            size, began = megabytes << 20, time.perf_counter()
            took: list[float] = []
            resident = rss_mb()
            while len(took) < 3 and time.perf_counter() - began < LARGE_ENOUGH_S:
                start = time.perf_counter()
                length = len(peer.text(await peer.call("big", {"size": size, **params.get("more", {})})))
                took.append(time.perf_counter() - start)
                if length != size:
                    raise SystemExit(f"asked for {size} characters, got {length}")
            values[f"{name}_ms"] = statistics.median(took) * 1e3
            if name == "small":
                values["peak_times"] = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - resident) / megabytes
    if params["large_mb"]:
        values["growth"] = values["large_ms"] / values["small_ms"] / (params["large_mb"] / params["small_mb"])
    values["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return values


async def listing(connect: Connect, params: dict[str, Any]) -> Values:
    async with connect([*params["server"], str(params["tools"])]) as peer:
        await check(peer)
        before = int(peer.text(await peer.call("lists", {})))
        took: list[float] = []
        cpu, began = cpu_s(), time.perf_counter()
        while len(took) < 5 or (time.perf_counter() - began < LIST_ENOUGH_S and len(took) < 100):
            start = time.perf_counter()
            count = await peer.list_tools()
            took.append(time.perf_counter() - start)
            if count != params["tools"]:
                raise SystemExit(f"expected {params['tools']} tools, got {count}")
        cpu = cpu_s() - cpu
        asked = int(peer.text(await peer.call("lists", {}))) - before
        if asked < len(took):
            raise SystemExit(f"{len(took)} listings, but the server was asked {asked} times: this would measure a cache")
    return {"list_ms": statistics.median(took) * 1e3, "cpu_ms": cpu * 1e3 / len(took)}


async def flood(connect: Connect, params: dict[str, Any]) -> Values:
    """How much later the answer of a call comes when the server sends that many notifications before it."""
    async with connect(params["server"]) as peer:
        await check(peer)

        async def took(count: int) -> float:
            start = time.perf_counter()
            if peer.text(await peer.call("flood", {"n": count})) != "done":
                raise SystemExit("flood was not answered with done")
            return time.perf_counter() - start

        plain = statistics.median([await took(0) for _ in range(20)])
        flooded = statistics.median([await took(params["notifications"]) for _ in range(3)])
    return {"late_ms": (flooded - plain) * 1e3}


async def memory(connect: Connect, params: dict[str, Any]) -> Values:
    """Growth of this process from 1 connected server to many, each of which has answered one call."""
    async with AsyncExitStack() as stack:
        await check(await stack.enter_async_context(connect(params["server"])))
        rss_one, pss_one = memory_kb()
        for _ in range(params["servers"] - 1):
            await check(await stack.enter_async_context(connect(params["server"])))
        rss, pss = memory_kb()
    more = params["servers"] - 1
    return {"rss_kb_each": (rss - rss_one) / more, "pss_kb_each": (pss - pss_one) / more, "rss_one_mb": rss_one / 1024}


async def connecting(connect: Connect, params: dict[str, Any]) -> Values:
    """Many servers at once, in a process that has connected before; closing is not counted."""

    async def one_round() -> tuple[float, float]:
        release, ready = asyncio.Event(), 0
        all_ready = asyncio.Event()

        async def hold() -> None:
            nonlocal ready
            async with connect(params["server"]):
                ready += 1
                if ready == params["servers"]:
                    all_ready.set()
                await release.wait()

        cpu, start = cpu_s(), time.perf_counter()
        tasks = [asyncio.create_task(hold()) for _ in range(params["servers"])]
        await asyncio.wait_for(all_ready.wait(), 60)
        wall, cpu = time.perf_counter() - start, cpu_s() - cpu
        release.set()
        await asyncio.gather(*tasks)
        return wall * 1e3, cpu * 1e3

    async with connect(params["server"]) as peer:
        await check(peer)
    rounds = [await one_round() for _ in range(params["rounds"])]
    return {"connect_ms": statistics.median(wall for wall, _ in rounds), "cpu_ms": statistics.median(cpu for _, cpu in rounds)}


async def reconnect(connect: Connect, params: dict[str, Any]) -> Values:
    """One server after the other, in a process that has connected before; closing is not counted."""
    took: list[float] = []
    for number in range(params["rounds"] + 2):
        start = time.perf_counter()
        async with connect(params["server"]) as peer:
            if number > 1:
                took.append(time.perf_counter() - start)
            else:
                await check(peer)
    return {"connect_ms": statistics.median(took) * 1e3}


async def listening(connect: Connect, params: dict[str, Any]) -> Values:
    """CPU of this process while it listens on many servers, and nothing happens; connections that are idle are given up before."""
    async with AsyncExitStack() as stack:
        tasks = []
        for _ in range(params["servers"]):
            peer = await stack.enter_async_context(connect(params["server"]))
            if peer.listen is None:
                raise SystemExit("cannot listen")
            tasks.append(asyncio.ensure_future(peer.listen()))
        await asyncio.sleep(params["settle_s"])
        cpu, start = cpu_s(), time.perf_counter()
        await asyncio.sleep(params["seconds"])
        values = {"idle_cpu_ms_per_s": (cpu_s() - cpu) * 1e3 / (time.perf_counter() - start), "rss_mb": rss_mb()}
        if ended := [task for task in tasks if task.done()]:
            raise SystemExit(f"{len(ended)} of {len(tasks)} no longer listen: {ended[0]}")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return values


async def callbacks(connect: Connect, params: dict[str, Any]) -> Values:
    """Event-loop callbacks per lone call: counted, so no noise touches it."""
    ran = 0
    original = asyncio.events.Handle._run

    def counting(handle: asyncio.events.Handle) -> None:
        nonlocal ran
        ran += 1
        original(handle)

    async with connect(params["server"]) as peer:
        await check(peer)
        asyncio.events.Handle._run = counting  # type: ignore[method-assign, assignment]
        before = ran
        for _ in range(params["calls"]):
            await peer.call("echo", ECHO)
        count = ran - before
        asyncio.events.Handle._run = original  # type: ignore[method-assign]
    return {"callbacks": count / params["calls"]}


SCENARIOS: dict[str, Callable[[Connect, dict[str, Any]], Awaitable[Values]]] = {
    "sequential": sequential,
    "flight": flight,
    "large": large,
    "listing": listing,
    "flood": flood,
    "memory": memory,
    "connecting": connecting,
    "callbacks": callbacks,
    "reconnect": reconnect,
    "listening": listening,
}


@contextmanager
def served(argv: list[str], path: str) -> Iterator[str]:
    """The URL of the server, which ends with us."""
    with subprocess.Popen([*argv, "--http"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield f"http://127.0.0.1:{child.stdout.readline().strip()}{path}"


def main(connect: Connect, client: str) -> None:
    scenario, params = SCENARIOS[sys.argv[1]], json.loads(sys.argv[2])

    async def run() -> Values:
        return await scenario(connect, params)

    if via := params.get("via"):
        with served(params["server"], via) as params["server"]:
            values = asyncio.run(run())
    else:
        values = asyncio.run(run())
    print(json.dumps({"values": values, "client": client}))
