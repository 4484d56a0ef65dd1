"""What the documentation shows works, what it links to is there, and no file speaks of one machine's paths or addresses."""

from __future__ import annotations

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dragoman
from tests.documentation import ROOT, WORKDIR, Block, blocks, broken_links, pages

RUN_LIMIT_S = 45
BLOCKS = [block for page in pages() for block in blocks(page)]

# Runs a file as `python FILE` would, with `await` allowed at its top level as in `python -m asyncio`.
RUNNER = """
import ast, asyncio, inspect, sys
path, line = sys.argv[1].rsplit(":", 1)
code = compile("\\n" * (int(line) - 1) + sys.stdin.read(), path, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
names = {"__name__": "__main__"}
if code.co_flags & inspect.CO_COROUTINE:
    asyncio.run(eval(code, names))
else:
    exec(code, names)
"""

# Written so that this file does not match itself.
FORBIDDEN = {
    r"(?<![\w.-])/[w]ork/": "a path of one machine",
    r"(?<![\w.-])/[r]oot/": "the home folder of one machine's administrator",
    r"(?<![\w/-])(?:\.\./)*[s]hared/(?!\w*\.so)": "a folder that is not in this repository",
    r"[r]egistry\.npmjs|[p]ypi\.org/simple|[f]iles\.pythonhosted": "a registry's address: clients know theirs",
    r"(?i)\b[i]ssue #?\d+\b": "an issue number: say what the thing is",
}
BINARY = {".png", ".gif", ".ico", ".db", ".woff2", ".jpg"}


def run_block(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a block in the folder as a program of its own."""
    command = [sys.executable, "-W", "error", "-c", RUNNER, str(block)]
    return subprocess.run(
        command, input=block.text, cwd=folder, capture_output=True, text=True, timeout=RUN_LIMIT_S, env={**os.environ, "NO_COLOR": "1"}
    )


def repository_files() -> list[Path]:
    """Files that are tracked or would be with `git add .`; the checkout may belong to another user."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [path for name in names if name and (path := ROOT / name).is_file() and path.suffix not in BINARY]


def forbidden_in(text: str) -> list[str]:
    """Every forbidden wording in a text, as `line N: …: why`."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r} is {why}"
        for pattern, why in FORBIDDEN.items()
        for match in re.finditer(pattern, text)
    ]


def test_there_are_code_blocks_to_run() -> None:
    """An empty parameter set is skipped without a word."""
    assert any(block.runs for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_code_block_compiles(block: Block) -> None:
    """Our choice: an example that no interpreter reads is no example."""
    compile(block.text, str(block), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.runs], ids=str)
def test_code_block_runs(block: Block, tmp_path: Path) -> None:
    """Our choice: each example is run in a copy of tests/docs_workdir; `no-run` in the info string is the visible exception."""
    folder = tmp_path / "work"
    shutil.copytree(WORKDIR, folder)
    done = run_block(block, folder)
    assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    """Our choice: files and headings both; the world outside is not asked."""
    assert broken_links(page) == []


def test_no_file_speaks_of_one_machine() -> None:
    """Our choice: paths of a developer's machine, registries' addresses and issue numbers do not belong into the repository."""
    found = {str(path.relative_to(ROOT)): hits for path in repository_files() if (hits := forbidden_in(path.read_text(errors="replace")))}
    assert found == {}


def test_changelog_fragments_are_named_for_their_section() -> None:
    """CONTRIBUTING.md: one file per change, NAME.SECTION.md."""
    fragments = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]
    assert [
        name for name in fragments if not re.fullmatch(r"[a-z0-9-]+\.(added|changed|deprecated|removed|fixed|security)\.md", name)
    ] == []


def test_every_public_name_has_a_docstring() -> None:
    """Our choice: what a user may import says what it is; a generated signature does not count."""
    bare = []
    for name in dragoman.__all__:
        value = getattr(dragoman, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            words = value.__doc__ or ""
            if not words.strip() or words.startswith(f"{name}("):
                bare.append(name)
    assert bare == []


def test_blocks_are_found_with_line_and_info(tmp_path: Path) -> None:
    """The reader of pages itself."""
    page = tmp_path / "README.md"
    page.write_text("# T\n\n```python\na = 1\n```\n\n- x\n  ~~~python no-run\n  if a:\n      b\n  ~~~\n\n```sh\nls\n```\n")
    first, second = blocks(page, tmp_path)
    assert (str(first), first.text, first.runs) == ("README.md:4", "a = 1\n", True)
    assert (str(second), second.text, second.runs) == ("README.md:9", "if a:\n    b\n", False)


def test_failing_block_is_noticed_at_its_line_of_the_page(tmp_path: Path) -> None:
    """The runner itself, with and without a top-level await."""
    good = run_block(Block("a.md", 5, (), "import asyncio\nawait asyncio.sleep(0)\nprint(__name__)\n"), tmp_path)
    assert (good.returncode, good.stdout) == (0, "__main__\n")
    bad = run_block(Block("a.md", 5, (), "x = 1\nassert x == 2\n"), tmp_path)
    assert bad.returncode == 1
    assert '"a.md", line 6' in bad.stderr


def test_broken_links_are_noticed(tmp_path: Path) -> None:
    """The link checker itself."""
    (tmp_path / "b.md").write_text("# A `heading`, twice\n# A heading, twice\n```\n# no heading\n```\n")
    page = tmp_path / "a.md"
    page.write_text("[1](b.md) [2](c.md) [3](b.md#a-heading-twice-1) [4](b.md#no-heading) [5](https://x.org) `[6](d.md)`\n\n[7]: e.md\n")
    assert broken_links(page) == ["b.md#no-heading", "c.md", "e.md"]


@pytest.mark.parametrize("words", ["in /{}work/main", "/r{}oot/x", "../s{}hared/D.md", "registry{}.npmjs.org", "see issue{} #12"])
def test_forbidden_wording_is_noticed(words: str) -> None:
    """The word checker itself."""
    assert len(forbidden_in("fine\n" + words.format("") + "\n")) == 1
    assert forbidden_in("network/, /usr/share/doc, an issue with 3 parts, /home/someone/x") == []
