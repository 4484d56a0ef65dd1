"""What the tests of calls need besides a run: something on stdin, the audit, who is still alive in a folder, a configuration."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from dragoman.store.records import AuditRecord
from dragoman.store.sqlite import SqliteStore

from .program import SERVERS, Finished, run


def piped(*words: str, stdin: bytes, cwd: Path) -> Finished:
    """Run ``dragoman`` with something on stdin and no terminal."""
    return run(*words, stdin=stdin, cwd=cwd)


def on(name: str, *words: str) -> str:
    """The value of ``--on`` for one of the misbehaving servers."""
    return " ".join([sys.executable, str(SERVERS / f"{name}.py"), *words])


def records(home: Path) -> list[AuditRecord]:
    """The whole audit."""

    async def read() -> list[AuditRecord]:
        store = await SqliteStore.open(home / "dragoman.db")
        try:
            return await store.tail(1000)
        finally:
            await store.close()

    return asyncio.run(read())


def endings(home: Path) -> list[tuple[str | None, str | None]]:
    """Tool and status of every *ended*."""
    return [(record.tool, record.status) for record in records(home) if record.event == "ended"]


def alive_in(folder: Path) -> list[str]:
    """Command lines of processes whose working folder this is: servers start in that of their caller."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(folder.resolve()):
                found.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().decode(errors='replace')}")
        except OSError:  # gone, or not ours
            continue
    return found


def nobody_left_in(folder: Path) -> bool:
    """Whether all processes of a run have ended; one that is just being buried gets a moment."""
    limit = time.monotonic() + 3.0
    while left := alive_in(folder):
        if time.monotonic() > limit:
            raise AssertionError(f"left behind: {left}")
        time.sleep(0.01)
    return True


def configured(folder: Path, command: list[str], tiers: dict[str, str] | None = None, *, policy: str = "") -> Path:
    """A configuration with one server ``h``, named so that it is no project file."""
    quoted = ", ".join(f'"{word}"' for word in command)
    lines = ["[servers.h]", f"command = [{quoted}]", "[servers.h.tools]", *(f'"{name}" = "{tier}"' for name, tier in (tiers or {}).items())]
    path = folder / "named.toml"
    path.write_text("\n".join(lines) + f"\n{policy}\n")
    return path
