"""What ``status`` makes of the rows that processes left behind, living, dead and elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Alert, Client, Host
from dragoman.errors import CallTimeout
from dragoman.service import assemble
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing
from dragoman.service.status import CHECK_S, STOP_S, ServerStatus, status
from dragoman.store.records import BreakerRow, Check, Health
from dragoman.transports import process
from tests.service.hosting import configured, demo, odd, server

GONE = 2**22 + 1  # above every process id of Linux


class Around:
    """A configuration with one server, and a hand in the store."""

    def __init__(self, folder: Path, plumbing: Plumbing, context: Context) -> None:
        self.folder, self.plumbing, self.context = folder, plumbing, context

    async def row(self, holder: str, *, process: int | None = None, host: str | None = None, closed: bool = False, **fields: Any) -> None:
        """Write a row as another process would have; ``process`` is its id, this one's by default."""
        own = self.plumbing.store.process
        changes: dict[str, Any] = {"writer": holder, "closed_at": time.time() if closed else None}
        if process is not None:
            changes["pid"] = process
        if host is not None:
            changes["host"] = host
        row = {"scope": self.context.scope, "server": "files", "at": time.time(), "state": "ready", **fields}
        await self.plumbing.store.record_health([Health(**row, holder=msgspec.structs.replace(own, **changes))])

    async def status(self) -> ServerStatus:
        (found,) = (await status(Context(self.context.named, env=self.context.env, cwd=self.folder))).servers
        return found


@pytest.fixture
async def around(tmp_path: Path, dragoman_home: Path) -> AsyncIterator[Around]:
    context = Context(configured(tmp_path, server("files", demo("legacy"))), cwd=tmp_path)
    plumbing = Plumbing(context.store_path, context.scope)
    await plumbing.open()
    yield Around(tmp_path, plumbing, context)
    await plumbing.close()


async def test_row_of_a_living_process_says_how_it_is_now(around: Around) -> None:
    """Our contract: state, latency, failures, breaker, restarts, pid, memory."""
    check = Check(at=time.time() - 30, ok=True, ms=12.0)
    breaker = BreakerRow(state="half-open", failures=10, retry_at=1.0)
    counted: dict[str, Any] = {"calls": 9, "failures": 1, "p50_ms": 1.5, "p99_ms": 9.0, "restarts": 2, "memory_bytes": 5_000_000}
    await around.row("a", state="ready", check=check, ok_at=check.at, breaker=breaker, **counted)
    found = await around.status()
    assert (found.state, found.running, found.hint) == ("ready", True, None)
    assert (found.calls, found.failures, found.restarts, found.memory_bytes) == (9, 1, 2, 5_000_000)
    assert (found.latency_ms.p50, found.latency_ms.p99, found.breaker) == (1.5, 9.0, breaker)
    assert found.age_s is not None
    assert 29 <= found.age_s < 60


async def test_dead_process_leaves_a_server_that_is_not_running_and_what_was_known(around: Around) -> None:
    """Killed: nobody wrote its last words, and its row still says ready."""
    check = Check(at=1.0, ok=True, ms=12.0)
    await around.row("a", process=GONE, check=check, ok_at=1.0, calls=9, breaker=BreakerRow(state="open"), memory_bytes=1)
    found = await around.status()
    assert (found.state, found.running, found.pid, found.memory_bytes, found.breaker) == ("not running", False, None, None, None)
    assert (found.calls, found.seen is not None, found.last_check is not None) == (9, True, True)


async def test_server_process_that_vanished_under_a_living_host_is_not_running(around: Around) -> None:
    """Until the host notices."""
    await around.row("a", check=Check(at=1.0, ok=True), pid=GONE)
    found = await around.status()
    assert (found.state, found.running, found.pid) == ("not running", False, None)


async def test_living_process_counts_before_a_newer_row_of_a_dead_one(around: Around) -> None:
    """A check from a command line that ended does not hide the gateway that still runs; its look is the last look."""
    now = time.time()
    await around.row("lives", at=now - 50, state="down", check=Check(at=now - 55, ok=False, error="exit 1"), ok_at=now - 500)
    await around.row("ended", closed=True, check=Check(at=now - 5, ok=True, ms=3.0), ok_at=now - 5)
    found = await around.status()
    assert found.state == "down"
    assert found.last_check is not None
    assert (found.last_check.ok, found.last_check.ms) == (True, 3.0)
    assert found.hint == "dragoman logs files"


async def test_failed_check_says_when_it_was_well_for_the_last_time(around: Around) -> None:
    """When was it last healthy? is one of the three questions."""
    await around.row("old", closed=True, at=10.0, check=Check(at=10.0, ok=True, ms=1.0), ok_at=10.0, calls=5, p50_ms=2.0)
    await around.row("new", closed=True, check=Check(at=time.time(), ok=False, error="exit 1"))
    found = await around.status()
    assert (found.state, found.last_ok, found.calls) == ("failed", "1970-01-01T00:00:10.000Z", 5)


@pytest.mark.parametrize(("age_s", "state"), [(10.0, "ready"), (1000.0, "not running")])
async def test_row_of_another_machine_counts_while_it_is_fresh(around: Around, age_s: float, state: str) -> None:
    """Nobody here can ask whether that process lives."""
    await around.row("far", host="another-machine", at=time.time() - age_s, check=Check(at=1.0, ok=True))
    assert (await around.status()).state == state


async def test_two_projects_with_a_server_of_one_name_do_not_mix(tmp_path: Path, dragoman_home: Path) -> None:
    """Health, tools and logs belong to a configuration."""
    folders = [tmp_path / "one", tmp_path / "two"]
    contexts = []
    for folder, command in zip(folders, (demo("legacy"), [sys.executable, "-c", "import sys; sys.exit('no luck')"]), strict=True):
        folder.mkdir()
        contexts.append(Context(configured(folder, server("files", command)), cwd=folder))
    (one,) = (await status(contexts[0], check=True)).servers
    (two,) = (await status(contexts[1], check=True)).servers
    assert (one.state, len(one.tools) > 5) == ("stopped", True)
    assert (two.state, two.tools) == ("failed", [])
    again = (await status(contexts[0])).servers[0]
    assert (again.state, again.running) == ("stopped", False)  # it is started when it is needed
    logs = {path.name for path in (dragoman_home / "logs").glob("*.log")}
    assert f"files.{contexts[1].scope}.log" in logs
    assert "no luck" in contexts[1].log_path("files").read_text()
    assert contexts[1].log_path("files") != contexts[0].log_path("files")


async def test_check_is_bounded_and_says_who_did_not_answer(tmp_path: Path, dragoman_home: Path) -> None:
    """Five seconds in all; here a moment."""
    path = configured(tmp_path, server("files", demo("legacy")), server("hangs", [sys.executable, "-c", "import time; time.sleep(600)"]))
    report = await status(Context(path, cwd=tmp_path), check=True, within_s=1.5)
    states = {one.name: one.state for one in report.servers}
    assert states["hangs"] == "failed"
    hangs = report.servers[1].last_check
    assert hangs is not None
    assert hangs.error == "hangs did not answer within 1.5 s"


async def test_check_that_failed_is_told_although_another_process_says_ready(around: Around) -> None:
    """The exit code of ``--check`` is about what it found itself."""
    path = configured(around.folder, server("files", ["no-such-program-anywhere"]))
    await around.row("gateway", check=Check(at=time.time() + 60, ok=True, ms=3.0))
    found = await status(Context(path, cwd=around.folder), check=True)
    assert (found.servers[0].state, list(found.failed)) == ("ready", ["files"])


async def test_thirty_servers_that_hang_are_given_up_and_stopped_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five seconds in all: what each may take, and that none waits for another."""
    assert CHECK_S + 0.8 * STOP_S + max(0.2 * STOP_S, process._KILL_WAIT_S) < 5.0
    opening: set[str] = set()
    closing = asyncio.Barrier(30)

    class Hangs(Client):
        def __init__(self, command: Any, **options: Any) -> None:
            assert options["stop_s"] == STOP_S
            super().__init__(command, **options)

        async def open(self) -> Any:
            opening.add(self.label)
            await asyncio.Event().wait()

        async def close(self) -> None:
            async with asyncio.timeout(10):
                await closing.wait()  # passes when all thirty are here

    monkeypatch.setattr(assemble, "Client", Hangs)
    path = configured(tmp_path, *(server(f"s{n}", ["hangs"]) for n in range(30)))
    report = await status(Context(path, cwd=tmp_path), check=True, within_s=0.5)
    assert len(opening) == len(report.failed) == 30
    assert {one.last_check.error for one in report.servers if one.last_check} == {f"s{n} did not answer within 0.5 s" for n in range(30)}


async def breaker_that_is_not(state: str | None, path: Path) -> str | None:
    """What is shown of it, once that is another state."""
    for _ in range(500):
        breaker = (await status(Context(path))).servers[0].breaker
        if (shown := breaker.state if breaker is not None else None) != state:
            return shown
        await asyncio.sleep(0.02)
    raise AssertionError(f"it is {state} still")


async def test_breaker_that_opened_is_told_and_shown_and_so_is_that_it_closed(tmp_path: Path) -> None:
    """An alert of each, and the state in the row of the host, soon."""
    command = [*odd("hangs"), "calls"]
    path = configured(tmp_path, server("slow", command, breaker={"failures": 1, "open_s": 200.0}))
    told: list[Alert] = []
    async with Host.from_config(path, on_alert=told.append) as host:
        outcome = await host.call("slow.echo", {"text": "?"}, timeout_s=0.2)
        assert isinstance(outcome.error, CallTimeout)

        assert await breaker_that_is_not(None, path) == "open"
        host.stack.shared.breakers.reset("slow")
        assert await breaker_that_is_not("open", path) is None
    assert [alert.kind for alert in told] == ["breaker open", "breaker closed"]


def test_number_of_no_process_is_above_all() -> None:
    """The tests above rest on it."""
    with pytest.raises(ProcessLookupError):
        os.kill(GONE, 0)
