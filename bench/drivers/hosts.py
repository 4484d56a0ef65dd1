"""Hosts as the drivers need them: a configuration in a folder that goes away, and the proof that the audit was on."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import dragoman
from bench.drivers.scenarios import ECHO


def audit_records(home: Path) -> int:
    """Records in all the audit tables under a state folder."""
    count = 0
    for path in home.rglob("*"):
        if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
            with closing(sqlite3.connect(path)) as store:
                count += int(store.execute("SELECT count(*) FROM audit").fetchone()[0])
    return count


class Counted:
    """A host, and how many calls were made through it."""

    def __init__(self, host: dragoman.Host) -> None:
        self.host = host
        self.calls = 0

    async def call(self, tool: str, arguments: dict[str, object]) -> dragoman.Outcome:
        """A call by its written name; a refusal is quick, so it must not count as a call."""
        self.calls += 1
        outcome = await self.host.call(tool, arguments)
        if not outcome.ok:
            outcome.unwrap()
        return outcome

    async def check(self, server: str) -> None:
        """A host that answers wrongly is not fast."""
        answer = (await self.call(f"{server}.echo", ECHO)).unwrap().text
        if answer != ECHO["text"]:
            raise SystemExit(f"echo answered {answer!r}, expected {ECHO['text']!r}")


@asynccontextmanager
async def opened(servers: dict[str, list[str]], more: str = "", home: Path | None = None) -> AsyncIterator[Counted]:
    """
    A host with these servers (argv by name), all tools L0, once all of them are connected.

    ``more`` is TOML for each server; ``home`` a state folder that stays, by default a new one.
    """
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder:
        home, config = home or Path(folder, "home"), Path(folder, "dragoman.toml")
        before = audit_records(home)
        os.environ["DRAGOMAN_HOME"] = str(home)
        config.write_text(
            "".join(
                f'[servers.{name}]\ncommand = {json.dumps(argv)}\n{more}\n[servers.{name}.tools]\n"*" = "L0"\n'
                for name, argv in servers.items()
            ),
            encoding="utf-8",
        )
        async with dragoman.Host.from_config(config) as host:
            if missing := [slot for slot in host.slots.values() if slot.state != "ready"]:
                raise SystemExit(f"{len(missing)} of {len(servers)} servers are not connected: {missing[0].name}: {missing[0].error}")
            yield (counted := Counted(host))
        if (found := audit_records(home) - before) < 3 * counted.calls:
            raise SystemExit(f"{counted.calls} calls left {found} audit records, expected three each: it would be less than is claimed")
