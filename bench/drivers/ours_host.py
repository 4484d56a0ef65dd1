"""``dragoman.Host`` with every layer and the audit on: one server in a configuration file, its tools at tier L0."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import dragoman
from bench.drivers import scenarios


def audit_records(home: Path) -> int:
    """Records in all the audit tables under a state folder; the driver's proof that the audit was on."""
    count = 0
    for path in home.rglob("*"):
        if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3":
            with closing(sqlite3.connect(path)) as store:
                count += int(store.execute("SELECT count(*) FROM audit").fetchone()[0])
    return count


@asynccontextmanager
async def connect(argv: list[str]) -> AsyncIterator[scenarios.Peer]:
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder:
        home, config, calls = Path(folder, "home"), Path(folder, "dragoman.toml"), 0
        os.environ["DRAGOMAN_HOME"] = str(home)
        config.write_text(f'[servers.s]\ncommand = {json.dumps(argv)}\n\n[servers.s.tools]\n"*" = "L0"\n', encoding="utf-8")
        async with dragoman.Host.from_config(config) as host:

            async def call(name: str, arguments: dict[str, Any]) -> Any:
                nonlocal calls
                calls += 1
                outcome = await host.call(f"s.{name}", arguments)
                return outcome if outcome.ok else outcome.unwrap()  # a refusal is quick; it must not count as a call

            async def list_tools() -> int:
                raise SystemExit("the Host has no listing of its own to measure")

            yield scenarios.Peer(call=call, text=lambda outcome: outcome.unwrap().text, list_tools=list_tools)
        if (found := audit_records(home)) < 3 * calls:
            raise SystemExit(f"{calls} calls left {found} audit records, expected three each: this would measure less than is claimed")


if __name__ == "__main__":
    scenarios.main(connect, f"dragoman {importlib.metadata.version('dragoman')} Host")
