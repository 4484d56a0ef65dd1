"""Below a root once links and ``..`` are resolved, on a tree with every kind of link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import Problem
from dragoman.policy.guards.path import PathGuard
from tests.policy.guards.corpus import CALL, cases, refused


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root, out = tmp_path / "work", tmp_path / "outside"
    for folder in (root / "docs" / "sub", out, tmp_path / "second", tmp_path / "work2"):
        folder.mkdir(parents=True)
    for file in (
        root / "a.txt",
        root / "docs" / "a.txt",
        out / "secret.txt",
        tmp_path / "work2" / "secret.txt",
        tmp_path / "second" / "a.txt",
    ):
        file.write_text("x")
    links = {
        "link_out": "../outside",
        "link_abs": str(out),
        "link_chain": "link_abs",
        "docs/link_up": "../../outside",
        "link_to_file": "../outside/secret.txt",
        "link_root": "/",
        "link_parent": "..",
        "link_dangling": "../outside/not-there",
        "loop_a": "loop_b",
        "loop_b": "loop_a",
        "link_in": "docs",
        "docs/link_here": ".",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (tmp_path / "alias").symlink_to("work")
    (out / "back").symlink_to("../work")
    os.mkfifo(root / "pipe")
    return tmp_path


def _guard(tree: Path, *, resolve: bool = True) -> PathGuard:
    root = tree / "work"
    return PathGuard([str(root), str(tree / "second"), str(tree / "alias")], str(root), resolve=resolve)


def _filled(value: str, tree: Path) -> str:
    for name, folder in (("root", "work"), ("out", "outside"), ("second", "second"), ("alias", "alias")):
        value = value.replace("{" + name + "}", str(tree / folder))
    return value


@pytest.mark.parametrize("resolve", [True, False])
async def test_no_hostile_path_of_the_list_gets_through(tree: Path, resolve: bool) -> None:
    """Our contract: at least 300 ways out, none works."""
    rows = cases("path_hostile")
    assert len(rows) >= 300
    guard = _guard(tree, resolve=resolve)
    assert [row for row in rows if not await refused(guard, _filled(row[1], tree))] == []


async def test_no_honest_path_of_the_list_is_refused(tree: Path) -> None:
    """Our contract: at least 200, and what is sent is below a root and is the same file."""
    rows = cases("path_honest")
    assert len(rows) >= 200
    guard, root = _guard(tree), str(tree / "work")
    for row in rows:
        written = _filled(row[1], tree)
        sent = await guard.check(written, CALL)
        assert isinstance(sent, str), (row, sent)
        assert sent == os.path.realpath(os.path.join(root, written))
        assert Path(sent).is_relative_to(root) or Path(sent).is_relative_to(tree / "second")


async def test_what_is_sent_is_resolved_so_that_a_link_changed_later_does_not_count(tree: Path) -> None:
    """The window between check and use: what was checked is what the server opens."""
    sent = await _guard(tree).check("link_in/a.txt", CALL)
    (tree / "work" / "link_in").unlink()
    (tree / "work" / "link_in").symlink_to(tree / "outside")
    assert sent == str(tree / "work" / "docs" / "a.txt")
    assert await refused(_guard(tree), "link_in/secret.txt")
    assert await _guard(tree, resolve=False).check("docs/./a.txt", CALL) == "docs/./a.txt"


async def test_a_relative_path_without_a_base_is_refused_with_the_roots_named(tree: Path) -> None:
    """Nobody knows where the server would start from."""
    problem = await PathGuard([str(tree / "work")]).check("a.txt", CALL)
    assert isinstance(problem, Problem)
    assert problem.message == f'expected an absolute path below {tree}/work, got "a.txt"'


async def test_what_is_no_text_is_refused(tree: Path) -> None:
    """A server may take a list or a number in its own way."""
    for value in (None, 5, {"path": "a.txt"}, True):
        assert await refused(_guard(tree), value)
