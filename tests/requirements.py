"""Every requirement of the specification for a client, and the tests that show it: the manifest, its checks, and the page made of it.

The entries are in `tests/required/`, a module for each group. `python -m tests.requirements` prints the counts,
`python -m tests.requirements --write` writes docs/requirements.md. `tests/test_requirements.py` holds manifest and tests to each other.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from tests.required.entry import Req, State

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "requirements.md"
MODULES: Final = (
    *("frame", "life", "ver", "cap", "stdio", "httpl", "httpm", "sse", "tool", "res", "prompt", "comp", "log", "prog", "cancel", "ping"),
    *("samp", "root", "elic", "mrtr", "sub", "cache", "taskl", "taskx", "auth", "authx", "meta", "schema", "icon", "sec"),
)
LEVELS: Final = ("MUST", "SHOULD", "MAY")
STATES: Final[tuple[State, ...]] = ("shown", "open", "not ours")
_ID: Final = re.compile(r"R-([A-Z]+)-(\d\d)")


def titles() -> dict[str, str]:
    """What each group is about, in order."""
    return {name.upper(): str(importlib.import_module(f"tests.required.{name}").TITLE) for name in MODULES}


def requirements() -> list[Req]:
    """All of them, in order."""
    found: list[Req] = []
    for name in MODULES:
        found += importlib.import_module(f"tests.required.{name}").REQUIREMENTS
    return found


def known_tests(folder: Path = ROOT / "tests") -> dict[str, frozenset[str]]:
    """Every test function by its node id, with the requirements in its mark; read, not imported."""
    found: dict[str, frozenset[str]] = {}
    for path in sorted(folder.rglob("test_*.py")):
        if "node_modules" in path.parts:
            continue
        for node in ast.parse(path.read_bytes()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                name = f"{path.relative_to(folder.parent).as_posix()}::{node.name}"
                found[name] = frozenset(one for decorator in node.decorator_list for one in _marked(decorator))
    return found


def _marked(decorator: ast.expr) -> Iterable[str]:
    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.requirement":
        yield from (argument.value for argument in decorator.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str))


def faults(entries: Iterable[Req], tests: Mapping[str, frozenset[str]]) -> list[str]:
    """What is wrong between the manifest and the tests, one line each."""
    entries = list(entries)
    found: list[str] = []
    named: dict[str, set[str]] = {}
    seen: Counter[str] = Counter()
    for entry in entries:
        match = _ID.fullmatch(entry.id)
        if match is None:
            found.append(f"{entry.id}: no id of a requirement")
            continue
        seen[entry.group] += 1
        if int(match[2]) != seen[entry.group]:
            found.append(f"{entry.id}: expected number {seen[entry.group]} of its group here; each id occurs once, in order")
        if entry.level.removesuffix("*") not in LEVELS:
            found.append(f"{entry.id}: level {entry.level!r}, expected one of {', '.join(LEVELS)}")
        if not (entry.wants and entry.page and entry.revisions):
            found.append(f"{entry.id}: a statement, a page and revisions are needed")
        if (entry.na and (entry.tests or entry.open)) or not (entry.na or entry.tests or entry.open):
            found.append(f"{entry.id}: expected tests, or what is open, or a reason why it is not ours, and not both")
        for test in entry.tests:
            named.setdefault(test, set()).add(entry.id)
            if test not in tests:
                found.append(f"{entry.id}: there is no test {test}")
        if len(set(entry.tests)) < len(entry.tests):
            found.append(f"{entry.id}: a test is named twice")
    for test, marks in tests.items():
        if marks and marks != (there := named.get(test, set())):
            found.append(f"{test}: marked {', '.join(sorted(marks))}; the manifest names it for {', '.join(sorted(there)) or 'nothing'}")
    return found


def table(entries: Iterable[Req]) -> str:
    """The counts of each group and level, as a Markdown table."""
    entries = list(entries)
    count = Counter((entry.group, entry.level.removesuffix("*"), entry.state) for entry in entries)
    columns = [(level, state) for level in LEVELS for state in STATES]
    lines = [["group", *map(" ".join, columns)], ["---", *["--:"] * len(columns)]]
    for group in dict.fromkeys(entry.group for entry in entries):
        lines.append([group, *(str(count[group, *column]) for column in columns)])
    lines.append(["all", *(str(sum(n for key, n in count.items() if key[1:] == column)) for column in columns)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(entries: Iterable[Req]) -> str:
    """docs/requirements.md."""
    entries = list(entries)
    shown = [entry for entry in entries if entry.state == "shown"]
    parts = [
        "# Requirements of the specification, and the tests that show them",
        "<!-- Made by `python -m tests.requirements --write`; a test compares it. -->",
        f"The five revisions of MCP have {len(entries)} requirements for a client and its host; {len(shown)} are shown by tests.\n"
        "A test is named where it fails when the requirement is not met.\n"
        "*Open* says what is missing; tests beside it show the rest. *Not ours* says why nothing here has that duty.\n"
        "A star behind a level: it follows from the text and does not stand there in those words.",
        table(entries),
    ]
    about = titles()
    for group in dict.fromkeys(entry.group for entry in entries):
        lines = [f"## {group}: {about[group]}", "", "| id | level | revisions | what it wants | met by |", "|---|---|---|---|---|"]
        for entry in (one for one in entries if one.group == group):
            how = [_link(test) for test in entry.tests]
            how += [f"*Open:* {entry.open}"] if entry.open else [f"*Not ours:* {entry.na}"] if entry.na else []
            where = f"{entry.wants} <br>({entry.page})"
            lines.append(f"| {entry.id} | {entry.level} | {entry.revisions} | {where} | {' <br>'.join(how)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _link(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name}](../{path})"


def main(words: list[str]) -> int:
    """The program."""
    entries = requirements()
    if words == ["--write"]:
        PAGE.write_text(page(entries), "utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
        return 0
    if words:
        print("usage: python -m tests.requirements [--write]", file=sys.stderr)
        return 2
    print(table(entries))
    wrong = faults(entries, known_tests())
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
