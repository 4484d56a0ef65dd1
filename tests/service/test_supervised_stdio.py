"""A host over a real program that is killed again and again: restarted by itself, for a call, and in the end given up for a while."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from dragoman import Alert, Host, SpawnFailed
from dragoman.runtime.slots import Slot
from dragoman.transports.stdio import StdioTransport
from tests.service.hosting import configured, demo, server, until


def pid_of(slot: Slot) -> int | None:
    """Of the program that is up."""
    transport = slot.client._session.driver.transport if slot.client is not None else None
    return transport.pid if isinstance(transport, StdioTransport) else None


async def killed(slot: Slot) -> None:
    pid, client = pid_of(slot), slot.client
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: slot.client is not client)


async def test_killed_program_comes_back_three_times_in_a_minute(tmp_path: Path) -> None:
    """By itself, then because calls want it; the fourth time it is down, and that is said with the signal that ended it."""
    alerts: list[Alert] = []
    config = configured(tmp_path, server("harbour", demo("legacy")))
    async with Host.from_config(config, on_alert=alerts.append) as host:
        slot = host.slots["harbour"]
        first = pid_of(slot)
        await killed(slot)
        await until(lambda: slot.state == "ready")
        assert pid_of(slot) not in (None, first)
        for _ in range(2):
            await killed(slot)
            assert (await host.call("harbour.search", {"text": "pilot"})).ok
        await killed(slot)
        assert slot.state == "down"
        error = (await host.call("harbour.search", {"text": "pilot"})).error
        assert isinstance(error, SpawnFailed)
        assert error.exit_code == -signal.SIGKILL
        assert "harbour is down: harbour killed by signal SIGKILL; it is tried again in" in str(error)
        assert (slot.starts, slot.restarts) == (4, 3)
        assert [(alert.kind, alert.server) for alert in alerts] == [("server down", "harbour")]
