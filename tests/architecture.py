"""
Who may import whom, as data, and the checker that reads it off the syntax trees.

A file's unit is its folder under dragoman/ (`runtime/driver.py` → `runtime`), or its own name at the top (`errors`). Every import
counts, wherever it stands: inside functions, under TYPE_CHECKING, and `importlib.import_module("dragoman…")`. A type is knowledge too; a
lower part that needs a higher one's shape declares a Protocol.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

LOW = frozenset({"wire", "errors"})
BASE = LOW | {"clock"}
ALL_BELOW_SERVICE = BASE | {"protocol", "transports", "policy", "runtime", "store", "config"}

# `_version` holds one string and is open to all. What is not listed here may import nothing of ours.
ARROWS: dict[str, frozenset[str]] = {
    "wire": frozenset(),
    "errors": frozenset({"wire"}),
    "clock": frozenset(),
    "_version": frozenset(),
    "protocol": LOW,
    "store": BASE,
    "config": LOW,
    "transports": BASE | {"protocol"},
    "policy": BASE,
    "runtime": BASE | {"protocol", "transports", "policy"},
    "service": ALL_BELOW_SERVICE,
    "cli": LOW | {"service"},
    "console": LOW | {"service"},
    "agents": LOW | {"service"},
    "gateway": BASE | {"service", "runtime", "protocol", "transports"},
    "testing": ALL_BELOW_SERVICE | {"service", "cli", "console", "agents", "gateway"},
    "demo": frozenset(),
    # The faces of the package: they re-export.
    "__init__": ALL_BELOW_SERVICE | {"service", "blocking", "agents"},
    "blocking": BASE | {"runtime", "service"},
    "__main__": frozenset({"cli"}),
}
# Of a unit that may be imported, only these modules.
ONLY = {("gateway", "runtime"): {"runtime.driver"}, ("errors", "wire"): {"wire.escape"}}

NO_OUTSIDE_WORLD = frozenset(
    {"asyncio", "anyio", "trio", "threading", "subprocess", "select", "selectors", "socket", "ssl", "http", "urllib.request"}
    | {"aiohttp", "httpx", "requests", "time", "random", "logging"}
)
PURE = frozenset({"wire", "protocol"})


def units_of(package: Path) -> set[str]:
    """Names of the folders and files directly under the package."""
    return {path.stem for path in package.iterdir() if path.is_dir() or path.suffix == ".py"}


def imported_modules(tree: ast.Module, parts: tuple[str, ...], is_package: bool, units: set[str]) -> Iterator[tuple[int, str]]:
    """Yield (line, absolute dotted name) of every import; `from dragoman import errors` is dragoman.errors."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                here = list(parts) if is_package else list(parts[:-1])
                base = ".".join([*here[: len(here) - level + 1], *([module] if module else [])]) if level else module or ""
                if base == "dragoman":
                    yield from ((node.lineno, f"dragoman.{alias.name}" if alias.name in units else "dragoman") for alias in names)
                elif base.count(".") == 1 and base.startswith("dragoman."):  # `from dragoman.runtime import driver`
                    yield from ((node.lineno, f"{base}.{alias.name}") for alias in names)
                else:
                    yield node.lineno, base
                    if base == "urllib":
                        yield from ((node.lineno, f"urllib.{alias.name}") for alias in names)
            case ast.Call(func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"), args=[first, *_]):
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield node.lineno, first.value


def within(module: str, banned: frozenset[str]) -> bool:
    """Whether the module is one of the banned ones or inside one."""
    return any(module == name or module.startswith(f"{name}.") for name in banned)


def complaint(unit: str, module: str, siblings: set[str]) -> str | None:
    """Why this unit may not import this module, or None if it may. Demo servers also run as plain files, beside their siblings."""
    top, _, rest = module.partition(".")
    if top != "dragoman":
        if unit in PURE and within(module, NO_OUTSIDE_WORLD):
            return f"{unit} has no clock, no sockets, no tasks and no log"
        if unit == "demo" and top not in sys.stdlib_module_names and top not in siblings:
            return "demo servers run on the standard library alone"
        return None
    target = rest.partition(".")[0]
    if target in (unit, "_version"):
        return None
    if not target:
        return "the package's face is for users; import the part itself"
    if target not in ARROWS.get(unit, frozenset()):
        return f"{unit} may import {', '.join(sorted(ARROWS.get(unit, frozenset()))) or 'nothing of ours'}"
    allowed = ONLY.get((unit, target))
    if allowed is not None and not within(rest, frozenset(allowed)):
        return f"of {target}, {unit} may import only {', '.join(sorted(allowed))}"
    return None


def violations(package: Path) -> list[str]:
    """Every forbidden import under the package folder, as `file:line: what: why`."""
    found = []
    units = units_of(package) | set(ARROWS)
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        unit = relative.parts[0] if len(relative.parts) > 1 else relative.stem
        if unit not in ARROWS:
            found.append(f"{relative}:1: no arrows are drawn for {unit!r}; add it to ARROWS or move the file")
            continue
        is_package = path.name == "__init__.py"
        parts = ("dragoman", *relative.parent.parts) if is_package else ("dragoman", *relative.with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        siblings = {file.stem for file in path.parent.glob("*.py")}
        for line, module in imported_modules(tree, parts, is_package, units):
            if why := complaint(unit, module, siblings):
                found.append(f"{relative}:{line}: imports {module}: {why}")
    return found
