"""The manifest of requirements against the tests, the list it was made from, and its page; and the checker itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.required.entry import Req
from tests.requirements import PAGE, ROOT, faults, known_tests, page, requirements, table, titles

TEST = "tests/test_x.py::test_it"
GOOD = Req("R-FRAME-01", "MUST", "all", "Something.", "basic/index", tests=(TEST,))


def test_manifest_and_tests_name_each_other() -> None:
    """Our choice: a requirement is met where a test fails without it."""
    assert faults(requirements(), known_tests()) == []


def test_manifest_has_every_requirement_of_every_group() -> None:
    """Our choice: the count is that of the list it was made from."""
    entries = requirements()
    assert len(entries) == 372
    assert len(titles()) == len({entry.group for entry in entries}) == 30


def test_manifest_has_what_the_list_has() -> None:
    """Our choice: the list itself is not part of this repository; where it lies beside it, ids, levels and pages are compared."""
    lists = sorted(ROOT.parent.glob("*/spec/requirements.md"))
    if not lists:
        pytest.skip("the list of requirements does not lie beside this checkout; ids are checked by themselves only")
    rows = re.findall(r"^\| (R-[A-Z]+-\d\d) \| (\S+) \| .*? \| .* \| (.*?) \|$", lists[0].read_text("utf-8"), re.MULTILINE)
    ours = [(entry.id, entry.level, entry.page) for entry in requirements()]
    assert [tuple(row) for row in rows] == ours


def test_page_of_requirements_is_what_the_manifest_says() -> None:
    """Our choice; `python -m tests.requirements --write` writes it anew."""
    assert PAGE.read_text("utf-8") == page(requirements())


def test_counts_add_up() -> None:
    """Our choice: the table has every requirement once."""
    last = table(requirements()).splitlines()[-1]
    assert sum(int(cell) for cell in re.findall(r"\d+", last)) == 372


@pytest.mark.parametrize(
    ("entries", "marks", "complaint"),
    [
        ([GOOD._replace(id="R-FRAME-1")], None, "no id of a requirement"),
        ([GOOD, GOOD], None, "each id occurs once"),
        ([GOOD._replace(id="R-FRAME-02")], None, "expected number 1"),
        ([GOOD._replace(level="WILL")], None, "level 'WILL'"),
        ([GOOD._replace(wants="")], None, "a statement, a page and revisions"),
        ([GOOD._replace(tests=())], None, "expected tests"),
        ([GOOD._replace(na="why")], None, "not both"),
        ([GOOD._replace(tests=("tests/test_x.py::test_gone",))], None, "there is no test tests/test_x.py::test_gone"),
        ([GOOD._replace(tests=(TEST, TEST))], None, "named twice"),
        ([GOOD], {"R-FRAME-01", "R-FRAME-09"}, "marked R-FRAME-01, R-FRAME-09; the manifest names it for R-FRAME-01"),
        ([GOOD._replace(tests=(), open="all of it")], {"R-FRAME-01"}, "the manifest names it for nothing"),
    ],
)
def test_checker_of_the_manifest_bites(entries: list[Req], marks: set[str] | None, complaint: str) -> None:
    """Our choice: each way for manifest and tests to drift apart is noticed."""
    found = faults(entries, {TEST: frozenset(marks or ())})
    assert any(complaint in line for line in found), found


def test_checker_of_the_manifest_lets_pass_what_is_right() -> None:
    """Our choice: the other half of the test above."""
    partly = GOOD._replace(id="R-FRAME-02", open="the rest")
    assert faults([GOOD, partly], {TEST: frozenset({"R-FRAME-01", "R-FRAME-02"})}) == []
    assert [GOOD.state, partly.state, GOOD._replace(tests=(), na="why").state] == ["shown", "open", "not ours"]


def test_tests_are_found_with_their_marks_and_without_being_imported(tmp_path: Path) -> None:
    """Our choice: some tests need what is not installed everywhere."""
    folder = tmp_path / "tests" / "deep"
    folder.mkdir(parents=True)
    (folder / "test_x.py").write_text(
        "import nothing_of_that_name\n"
        '@pytest.mark.requirement("R-A-01", "R-A-02")\n@pytest.mark.slow\ndef test_one(): ...\n'
        "async def test_two(): ...\ndef helper(): ...\n"
    )
    assert known_tests(tmp_path / "tests") == {
        "tests/deep/test_x.py::test_one": frozenset({"R-A-01", "R-A-02"}),
        "tests/deep/test_x.py::test_two": frozenset(),
    }
