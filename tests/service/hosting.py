"""Hosts over real server processes, made from a configuration file that was named; and what they wrote into the store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.runtime.fakes import demo, odd, until

__all__ = ["configured", "demo", "ended", "odd", "rows", "server", "story", "until"]


def server(name: str, command: Sequence[str], tools: Mapping[str, str] | None = None, **keys: Any) -> str:
    """One server's table; all its tools are L0 unless ``tools`` says otherwise."""
    lines = [f"[servers.{name}]", f"command = {json.dumps(list(command))}", *(f"{key} = {_toml(value)}" for key, value in keys.items())]
    lines += [f"[servers.{name}.tools]", *(f"{json.dumps(key)} = {json.dumps(tier)}" for key, tier in (tools or {"*": "L0"}).items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


def configured(folder: Path, *tables: str, name: str = "named.toml") -> Path:
    """A configuration file. Named in ``from_config``, it is no project file."""
    path = folder / name
    path.write_text("\n".join(tables))
    return path


def rows(home: Path, columns: str = "event, status, server, tool, tier, detail") -> list[tuple[Any, ...]]:
    """The audit as it stands in the file, in order of writing."""
    with closing(sqlite3.connect(home / "dragoman.db")) as con:
        return con.execute(f"SELECT {columns} FROM audit WHERE call != '' ORDER BY rowid").fetchall()


def story(home: Path, tool: str) -> list[str]:
    """What the audit says about calls of one tool, in short: ``asked``, ``sending``, ``ended: ok``."""
    calls = {call for call, name in rows(home, "call, tool") if name == tool}
    return [f"{event}: {status}" if status else event for event, status, call in rows(home, "event, status, call") if call in calls]


def ended(home: Path, tool: str) -> dict[str, Any]:
    """The detail of the last *ended* of a tool."""
    return dict(json.loads([detail for event, name, detail in rows(home, "event, tool, detail") if (event, name) == ("ended", tool)][-1]))
