"""The pinned foreign programs are there and are the versions that the documentation names."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Literal

import pytest

from tests.interop import envs


def version_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=30, stdin=subprocess.DEVNULL).stdout.strip()


@pytest.mark.parametrize(
    ("name", "package", "version"), [("mcp1", "mcp", "1.30.0"), ("mcp2", "mcp", "2.3.0"), ("fastmcp", "fastmcp", "4.2.3")]
)
def test_each_python_sdk_has_an_environment_of_its_own(name: Literal["mcp1", "mcp2", "fastmcp"], package: str, version: str) -> None:
    """Our choice: all of them, pinned by requirements/interop-*.lock."""
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    assert version_of([str(envs.python_of(name)), "-c", code]) == version


@pytest.mark.parametrize(("package", "version"), [("sdk", "1.32.2"), ("server", "2.4.0")])
def test_both_typescript_sdks_are_installed(package: str, version: str) -> None:
    """Pinned by package-lock.json."""
    described = json.loads((envs.NODE_MODULES / "@modelcontextprotocol" / package / "package.json").read_text())
    assert described["version"] == version


def test_node_is_the_pinned_one_and_npx_runs_on_it() -> None:
    """The conformance suite needs Node 22 or newer; a system's own may be older or absent."""
    assert version_of([str(envs.node()), "--version"]).startswith("v24.")
    assert subprocess.run([envs.npx(), "--version"], env=envs.node_env(), capture_output=True, check=True, timeout=30).stdout.strip()


@pytest.mark.parametrize("name", ["server-everything", "server-filesystem", "server-memory", "server-sequential-thinking"])
def test_npm_server_is_started_by_absolute_paths(name: str) -> None:
    """A child gets a PATH of its own, so a bare `node` would be somebody else's."""
    assert all(Path(part).is_absolute() for part in envs.npm_server(name))


@pytest.mark.parametrize("name", sorted(envs.PYTHON_SERVERS))
def test_python_server_is_installed(name: str) -> None:
    """Each of them answers --help without a configuration."""
    assert "usage" in version_of([*envs.python_server(name), "--help"]).lower()


@pytest.mark.parametrize(("line", "version"), [("stable", "0.1.16"), ("next", "0.2.0-alpha.12")])
def test_both_lines_of_the_conformance_suite_are_installed(line: Literal["stable", "next"], version: str) -> None:
    """Two versions of one npm package, side by side under aliases."""
    assert version_of([*envs.conformance(line), "--version"]) == version


def test_missing_program_is_an_error_that_names_the_step(tmp_path: Path) -> None:
    """Our choice: a test that silently skips is a test that nobody misses."""
    with pytest.raises(envs.MissingInstall, match="run `make interop`"):
        envs.installed(tmp_path / "absent")
