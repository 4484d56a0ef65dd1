"""What is installed, what a bare import costs, and that the locks agree with what the package asks for."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import dragoman
from tests.documentation import ROOT

MOST_DISTRIBUTIONS = 20
NEW_MODULES = "import json, sys; before = set(sys.modules); import dragoman; print(json.dumps(sorted(set(sys.modules) - before)))"


def pins(lock: str) -> dict[str, str]:
    """Versions by canonical name of one lock file."""
    lines = [line for line in (ROOT / "requirements" / lock).read_text().splitlines() if line and not line.startswith("#")]
    return {str(canonicalize_name(name)): version for name, version in (line.split("==") for line in lines)}


def project() -> dict[str, object]:
    """The [project] table."""
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def runtime_requirements() -> list[Requirement]:
    """What the base install asks for."""
    wanted = project()["dependencies"]
    assert isinstance(wanted, list)
    return [Requirement(line) for line in wanted]


def test_bare_import_loads_only_the_standard_library_and_msgspec() -> None:
    """Our choice: a program that only catches our errors does not pay for HTTP, schemas and tables."""
    done = subprocess.run([sys.executable, "-c", NEW_MODULES], capture_output=True, text=True, check=True, timeout=30)
    tops = {module.partition(".")[0] for module in json.loads(done.stdout)}
    assert "dragoman" in tops
    assert tops - sys.stdlib_module_names - {"dragoman", "msgspec"} == set()


def test_version_is_written_once() -> None:
    """Our choice: src/dragoman/_version.py; the metadata is read from it."""
    assert importlib.metadata.version("dragoman") == dragoman.__version__


def test_base_lock_satisfies_what_the_package_asks_for() -> None:
    """A requirement that no lock has was never tested."""
    locked = pins("base.lock")
    missing = [str(wanted) for wanted in runtime_requirements() if locked.get(canonicalize_name(wanted.name), "") not in wanted.specifier]
    assert missing == []


def test_base_install_stays_small() -> None:
    """Our choice: at most 20 distributions, this one included; `make bench` measures the bytes."""
    assert len(pins("base.lock")) + 1 <= MOST_DISTRIBUTIONS


def test_shared_pins_agree_across_our_locks() -> None:
    """They are installed into one environment, one after the other."""
    seen: dict[str, set[str]] = {}
    for lock in ("base.lock", "build.lock", "dev.lock"):
        for name, version in pins(lock).items():
            seen.setdefault(name, set()).add(version)
    assert {name: versions for name, versions in seen.items() if len(versions) > 1} == {}


def test_locks_name_no_download_address() -> None:
    """Clients ask the index that they are configured for."""
    npm_locks = [path for path in ROOT.glob("*/**/package-lock.json") if "node_modules" not in path.relative_to(ROOT).parts]
    assert npm_locks
    assert [str(path) for path in npm_locks if '"resolved"' in path.read_text()] == []
    assert [
        path.name for path in (ROOT / "requirements").glob("*.lock") if re.search(r"://|--hash|--index|--find| @ ", path.read_text())
    ] == []


def test_extra_all_has_every_extra() -> None:
    """What needs an absent extra is refused with its name; `all` has everything."""
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    (everything,) = extras["all"]
    assert Requirement(everything).extras == set(extras) - {"all"}


@pytest.mark.slow
def test_wheel_has_every_module_and_the_typing_marker_and_nothing_else(tmp_path: Path) -> None:
    """The demo servers are started as files, so each must be in the wheel."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=50, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = ROOT / "src"
    assert {str(path.relative_to(sources)) for path in sources.rglob("*.py")} | {"dragoman/py.typed"} <= names
    assert {name.partition("/")[0] for name in names} == {"dragoman", f"dragoman-{dragoman.__version__}.dist-info"}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
