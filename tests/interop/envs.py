"""
Where the programs that others wrote are installed, and how each is started.

Nothing here installs or skips: what is missing is an error that names the step which installs it. Commands are absolute, so
they work in any folder and with any PATH.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parent.parent.parent
VENVS = ROOT / ".venv-interop"
NODE_TOOLS = VENVS / "node" / "tools"
NODE_MODULES = Path(__file__).resolve().parent / "node_modules"

# mcp-server-sqlite runs on the first major version of the official SDK only.
PYTHON_SERVERS = {"mcp-server-fetch": "mcp2", "mcp-server-git": "mcp2", "mcp-server-sqlite": "mcp1", "mcp-server-time": "mcp2"}


class MissingInstall(Exception):
    """A foreign program is not installed; the message says what to run."""


def installed(path: Path) -> Path:
    """The path itself, if it is there.

    Raises:
        MissingInstall: It is not.
    """
    if not path.exists():
        raise MissingInstall(f"{path} is missing; run `make interop` (it installs from PyPI and npm)")
    return path


def node() -> Path:
    """The pinned Node.js."""
    return installed(NODE_TOOLS / "node")


def npx() -> Path:
    """The npx of the pinned Node.js; start it with `node_env()`."""
    return installed(NODE_TOOLS / "npx")


def node_env() -> dict[str, str]:
    """Our environment with the pinned node, npm and npx first in PATH."""
    return {**os.environ, "PATH": f"{node().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


@functools.cache
def npm_bin(package: str) -> list[str]:
    """The command of an installed npm package with exactly one program, run by the pinned Node.js."""
    folder = installed(NODE_MODULES / package)
    described = json.loads((folder / "package.json").read_text())["bin"]
    (program,) = [described] if isinstance(described, str) else described.values()
    return [str(node()), str(installed(folder / program))]


def npm_server(name: str, *arguments: str) -> list[str]:
    """The command of a server of the modelcontextprotocol organisation, as in `npm_server("server-filesystem", "/tmp/x")`."""
    return [*npm_bin(f"@modelcontextprotocol/{name}"), *arguments]


def conformance(line: Literal["stable", "next"]) -> list[str]:
    """The command of the official conformance suite: `stable` is 0.1.16, `next` is 0.2.0-alpha.12."""
    return list(npm_bin(f"conformance-{line}"))


def python_of(name: Literal["mcp1", "mcp2", "fastmcp"]) -> Path:
    """The Python of an environment: `mcp1` has the official SDK 1.30.0, `mcp2` has 2.3.0, `fastmcp` has fastmcp 4.2.3."""
    return installed(VENVS / name / "bin" / "python")


def python_server(name: str, *arguments: str) -> list[str]:
    """The command of a server from PyPI, as in `python_server("mcp-server-git", "-r", "/tmp/x")`."""
    return [str(installed(VENVS / PYTHON_SERVERS[name] / "bin" / name)), *arguments]


SDK_SERVERS = {
    **{"fastmcp_1": "mcp1", "fastmcp_4": "fastmcp", "high_level_2": "mcp2", "low_level_2": "mcp2"},
    **{"apps_2": "mcp2", "tasks_1": "mcp1", "tasks_2": "mcp2"},
}
TS_SDK_SERVERS = ("ts_sdk_1", "ts_sdk_2")


def sdk_server(name: str, *arguments: str) -> list[str]:
    """The command of one of the small servers of `sdk_servers/`, on the SDK that it is written for."""
    folder = Path(__file__).resolve().parent / "sdk_servers"
    if name in TS_SDK_SERVERS:
        installed(NODE_MODULES / "@modelcontextprotocol" / "server")
        return [str(node()), str(folder / f"{name}.mjs"), *arguments]
    python = installed(VENVS / SDK_SERVERS[name] / "bin" / "python")
    return [str(python), str(folder / f"{name}.py"), *arguments]
