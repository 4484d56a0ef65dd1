"""Gets ready what the rows need: the C server, the peers' environments, Node; what cannot be had is ``Unavailable``, with its reason."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
BUILD = BENCH / ".build"
PINS = {"mcp2": "mcp==2.3.0", "mcp1": "mcp==1.30.0"}
INSTALL_TIMEOUT_S = 600.0


class Unavailable(Exception):
    """The one-line reason why something cannot be measured here."""


def quietly(argv: Sequence[str | Path], cwd: Path = ROOT, timeout_s: float = INSTALL_TIMEOUT_S, env: dict[str, str] | None = None) -> str:
    """Standard output of a command that worked; Unavailable with the last line it wrote when it did not."""
    try:
        done = subprocess.run(
            [str(part) for part in argv],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unavailable(f"{Path(argv[0]).name}: {exc}") from exc
    if done.returncode:
        raise Unavailable(f"{' '.join(Path(part).name for part in argv[:4])} failed: {error_line(done.stderr) or error_line(done.stdout)}")
    return done.stdout


def error_line(stderr: str) -> str:
    """The line of a traceback that names the error; Node writes it in the middle, Python at the end."""
    lines = [line.strip(" |+-") for line in stderr.splitlines() if line.strip(" |+-")]
    lines = [line for line in lines if not line.startswith(("hint:", "note:"))] or lines
    named = [line for line in lines if "Error" in line.split(":")[0] and not line.startswith("at ")]
    return (named or lines or [""])[-1][:200]


def digest(*paths: Path) -> str:
    mixed = hashlib.sha256()
    for path in paths:
        mixed.update(str(path.relative_to(ROOT)).encode())
        mixed.update(path.read_bytes())
    return mixed.hexdigest()[:16]


def server() -> Path:
    """The C server, built when its source is newer than it; Unavailable where there is no compiler."""
    source, binary = BENCH / "server.c", BUILD / "server"
    if binary.exists() and binary.stat().st_mtime >= source.stat().st_mtime:
        return binary
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Unavailable(
            "no C compiler found (cc, gcc or clang); the benchmark needs one for its server. On Debian: apt-get install gcc libc6-dev"
        )
    BUILD.mkdir(exist_ok=True)
    fresh = binary.with_suffix(".new")
    quietly([compiler, "-O2", "-o", fresh, source])
    fresh.replace(binary)
    return binary


def python(name: str, environments: Path) -> Path:
    """The interpreter of a peer's environment, created from its lock file (or its pin) where it is missing."""
    folder = environments / name
    interpreter = folder / "bin" / "python"
    wanted = PINS[name].partition("==")[2]
    if interpreter.exists() and _version(interpreter) == wanted:
        return interpreter
    if not interpreter.exists():
        quietly([sys.executable, "-m", "venv", folder])
    lock = ROOT / "requirements" / f"interop-{name}.lock"
    quietly([interpreter, "-m", "pip", "install", "-q", *(["-r", lock] if lock.exists() else [PINS[name]])])
    if (found := _version(interpreter)) != wanted:
        raise Unavailable(f"{folder} has mcp {found or 'not installed'}, wanted {wanted}")
    return interpreter


def _version(interpreter: Path) -> str:
    try:
        return quietly([interpreter, "-c", "import importlib.metadata as m; print(m.version('mcp'))"]).strip()
    except Unavailable:
        return ""


def node(environments: Path) -> Path:
    """Node with the TypeScript clients in bench/node_modules, installed from the lock file where they are missing."""
    tools = environments / "node" / "tools"
    path = f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    found, npm = shutil.which("node", path=path), shutil.which("npm", path=path)
    if found is None:
        raise Unavailable("no node found in PATH or in the environment made by `make interop`")
    stamp, wanted = BENCH / "node_modules" / ".stamp", digest(BENCH / "package-lock.json")
    if not stamp.exists() or stamp.read_text() != wanted:
        if npm is None:
            raise Unavailable("no npm found to install the TypeScript clients")
        quietly([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=BENCH, env={**os.environ, "PATH": path})
        stamp.write_text(wanted)
    return Path(found)


def install() -> dict[str, float]:
    """
    What ``pip install .`` puts into a fresh environment, beyond what a new environment has: distributions, MB without and with .pyc.

    Installed anew whenever the project file or a source file changes; the package's own dependencies are resolved as a user's would be.
    """
    folder, stamp = BUILD / "install", BUILD / "install.stamp"
    interpreter = folder / "bin" / "python"
    wanted = digest(ROOT / "pyproject.toml", *sorted((ROOT / "src").rglob("*.py")))
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        BUILD.mkdir(exist_ok=True)
        quietly([sys.executable, "-m", "venv", "--without-pip", folder])
        quietly([sys.executable, "-m", "pip", "--python", interpreter, "install", "-q", "."])
        quietly([interpreter, "-c", "import dragoman"])
        stamp.write_text(wanted)
    packages = next((folder / "lib").glob("python*/site-packages"))
    plain = compiled = 0
    for path in [*packages.rglob("*"), *(folder / "bin").iterdir()]:
        if path.is_symlink() or not path.is_file():
            continue
        compiled += path.stat().st_size
        plain += path.stat().st_size if path.suffix != ".pyc" else 0
    return {"distributions": len(list(packages.glob("*.dist-info"))), "megabytes": plain / 1e6, "megabytes_pyc": compiled / 1e6}
