"""
Reading the documentation as data: its code blocks, its links, its headings.

A block that opens with ```python is run as it stands, each in a process of its own, in a copy of tests/docs_workdir (a server.py, a
dragoman.toml, a file a.txt) with the package and its demo servers installed; `await` may stand at its top level.
A block that opens with ```python no-run is only compiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORKDIR = ROOT / "tests" / "docs_workdir"

_FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=indent)(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!\\)\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
_INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block: where it is, what its info string says, its text without the fence's indent."""

    page: str
    line: int
    info: tuple[str, ...]
    text: str

    @property
    def runs(self) -> bool:
        """Whether it is to be executed and not only compiled."""
        return "no-run" not in self.info

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages(root: Path = ROOT) -> list[Path]:
    """Every page of the documentation."""
    tops = [path for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md") if (path := root / name).exists()]
    return [*tops, *sorted((root / "docs").rglob("*.md")), *sorted((root / "examples").rglob("*.md"))]


def blocks(page: Path, root: Path = ROOT, language: str = "python") -> Iterator[Block]:
    """The fenced blocks of one language; `line` is that of the block's first line of code."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        info = tuple(match["info"].split())
        if info and info[0] == language:
            indent = len(match["indent"])
            body = "\n".join(line[indent:] if line[:indent].isspace() else line for line in match["body"].splitlines())
            yield Block(str(page.relative_to(root)), text.count("\n", 0, match.start("body")) + 1, info[1:], body + "\n")


def links(page: Path) -> set[str]:
    """Targets of the links of a page, those in code left out."""
    prose = _INLINE_CODE.sub("", _FENCE.sub("", page.read_text(encoding="utf-8")))
    return {first or second for first, second in _LINK.findall(prose)}


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings get on the usual hosts: lower case, punctuation dropped, spaces as dashes, repeats numbered."""
    found: set[str] = set()
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        repeat = next(n for n in range(1000) if (f"{slug}-{n}" if n else slug) not in found)
        found.add(f"{slug}-{repeat}" if repeat else slug)
    return found


def broken_links(page: Path) -> list[str]:
    """Relative links of a page that lead nowhere, a missing heading included."""
    broken = []
    for target in sorted(links(page)):
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            broken.append(target)
    return broken
