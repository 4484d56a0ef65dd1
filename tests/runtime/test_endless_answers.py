"""An answer of any size costs its own call and no memory: on every channel, and others on the same channel go on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEER = ROOT / "tests" / "transports" / "endless.py"

HOST = """
import asyncio, gc, resource, sys
from dragoman import Host
from dragoman.errors import ResultTooLarge

def peak_kb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def main():
    async with Host.from_config(sys.argv[1]) as host:
        await asyncio.gather(*(host.call("s.echo") for _ in range(6)))
        gc.collect()
        before = peak_kb()
        big, *others = await asyncio.gather(host.call("s.big"), *(host.call("s.echo") for _ in range(5)))
        again = await host.call("s.echo")
        grown = peak_kb() - before
        assert isinstance(big.error, ResultTooLarge), big.error
        assert all(one.ok for one in others), [one.error for one in others]
        assert again.ok and host.slots["s"].starts == 1
        assert not host.slots["s"].client.violations, host.slots["s"].client.violations
        print(grown, big.error, sep="|")

asyncio.run(main())
"""

GIGABYTE = 1_000_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("stdio", 2_200_000_000),
        ("unix", GIGABYTE // 3),
        ("tcp", GIGABYTE // 3),
        ("ws", GIGABYTE // 3),
        ("http", GIGABYTE),
        ("events", GIGABYTE // 3),
    ],
)
def test_answer_without_end_costs_its_own_call_and_no_memory(kind: str, size: int, tmp_path: Path) -> None:
    """Our contract: the limit of a call, 1 MB in a host, is kept while its answer is read."""
    command = [sys.executable, str(PEER), kind, str(size)]
    peer = None
    if kind == "stdio":
        where = f"command = {json.dumps(command)}"
    else:
        peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert peer.stdout is not None
        where = f"url = {json.dumps(peer.stdout.readline().strip())}"
    config = tmp_path / "named.toml"
    config.write_text(f'[servers.s]\n{where}\n[servers.s.tools]\n"*" = "L0"\n')
    try:
        done = subprocess.run([sys.executable, "-c", HOST, str(config)], cwd=ROOT, capture_output=True, text=True, timeout=55)
    finally:
        if peer is not None:
            peer.communicate(timeout=10)
    assert done.returncode == 0, done.stderr
    grown_kb, said = done.stdout.strip().split("|")
    assert int(grown_kb) < 30_000
    assert "limit 1" in said  # of a body that is not read to its end nobody knows how long it is
    assert said.endswith('(server "s", tool "big"); raise servers.s.limits.result_bytes')
