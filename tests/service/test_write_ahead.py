"""Write-ahead truth: a host killed with -9 at any moment leaves no call that ran and is not in the audit, and a database that opens."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from dragoman.service import audit
from dragoman.service.context import Context
from tests.runtime.fakes import ODD, until
from tests.service.hosting import configured, server

KILLS = 30

# Writes down what it executes, before it answers.
SERVER = """
import os, sys
sys.path.insert(0, {odd!r})
from _base import answer, argument, is_call, serve, words
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def on(message):
    if not is_call(message):
        return False
    os.write(log, (argument(message) + "\\n").encode())
    answer(message, words("done"))
    return True
serve(on)
"""

HOST = """
import asyncio, sys
from dragoman import Host
from dragoman.service.approving import CallbackApprover

async def main(config, run):
    async with Host.from_config(config, approver=CallbackApprover(lambda question: True)) as host:
        async def calls(caller):
            for number in range(1_000_000):
                await host.call("ledger.echo", {"text": f"{run}-{caller}-{number}"})
        print("up", flush=True)
        await asyncio.gather(*(calls(caller) for caller in range(4)))

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_what_ran_is_in_the_audit_however_the_host_died(tmp_path: Path) -> None:
    """Our choice: *sending* is on the disk before the first byte of an L2 call leaves. Thirty kills, some in the start."""
    log = tmp_path / "executed.log"
    script = tmp_path / "ledger.py"
    script.write_text(SERVER.format(odd=str(ODD), log=str(log)))
    host = tmp_path / "host.py"
    host.write_text(HOST)
    config = configured(tmp_path, server("ledger", [sys.executable, str(script)], {"echo": "L2"}))
    chance = random.Random(20261201)
    for run in range(KILLS):
        process = subprocess.Popen([sys.executable, str(host), str(config), str(run)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        if run % 10:  # every tenth is killed while it starts
            assert process.stdout.readline() == b"up\n"
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        process.kill()
        process.communicate(timeout=20)
    await until(lambda: not _running(script))

    context = Context(config)
    proof = await audit.verify(context)
    assert proof.ok, proof
    executed = log.read_text().splitlines()
    assert max(Counter(executed).values()) == 1
    records = (await audit.tail(context, 1_000_000)).records
    asked = {_text(record.detail): record.call for record in records if record.event == "asked"}
    sending = {record.call for record in records if record.event == "sending"}
    assert len(executed) > KILLS
    assert [text for text in executed if asked.get(text) not in sending] == []
    verdicts = Counter([(await audit.show(context, call)).verdict for call in sending - _ended(records) if call])
    assert set(verdicts) == {"unknown"}
    assert verdicts["unknown"] >= KILLS // 3


def _ended(records: list[audit.AuditRecord]) -> set[str | None]:
    return {record.call for record in records if record.event == "ended"}


def _text(detail: object) -> str:
    found = msgspec.to_builtins(detail)
    return str(msgspec.json.decode(found["arguments"])["text"])


def _running(script: Path) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if str(script).encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
