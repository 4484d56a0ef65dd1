"""Break what the specification wants, one behaviour at a time, and see that the tests of just that requirement notice.

`make mutants` runs it: each mutation of tests/mutations.py is put into a copy of the tree, the tests that the manifest names for its
requirement are run there, and at least one has to fail. Nothing here is changed. Exit status 1: a break went unnoticed, or a mutation no
longer fits the code.

Usage: break_it.py [ID …]    only the mutations of these requirements
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.mutations import MUTATIONS, Mutation  # noqa: E402  # the tree's own, wherever this is started
from tests.requirements import requirements  # noqa: E402

COPIED: Final = ("src", "tests", "scripts", "docs", "examples", "bench", "pyproject.toml", "Makefile", "README.md")
LEFT_OUT: Final = shutil.ignore_patterns("node_modules", "__pycache__", "*.pyc", ".venv*")
ELSEWHERE: Final = ("tests/interop/", "tests/conformance/")  # need programs of others
TIMEOUT_S: Final = 180.0  # a broken client may hang, which is noticed too
AT_ONCE: Final = 2
FAILED, NOTHING_RAN = 1, 5  # exit statuses of pytest

Verdict = Literal["noticed", "UNNOTICED", "DOES NOT FIT", "BROKEN TEST"]


class Result(NamedTuple):
    """What became of one mutation, how many tests there were, and how long they took."""

    mutation: Mutation
    verdict: Verdict
    tests: int
    took_s: float
    said: str = ""


def named_tests(requirement: str) -> list[str]:
    """The tests that the manifest names, without those that need programs of others.

    Raises:
        KeyError: There is no such requirement.
    """
    named = {one.id: one.tests for one in requirements()}[requirement]
    return [test for test in named if not test.startswith(ELSEWHERE)]


@contextmanager
def copy_of_the_tree() -> Iterator[Path]:
    """A copy that may be broken."""
    with tempfile.TemporaryDirectory(prefix="dragoman-mutants-") as folder:
        place = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, place / name, ignore=LEFT_OUT)
            elif source.exists():
                shutil.copy(source, place / name)
        yield place


def run_tests(place: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Pytest's exit status and the last of what it said, with the package of the copy and no other."""
    environment = {**os.environ, "PYTHONPATH": str(place / "src"), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(place)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not interop and not conformance", *tests]
    try:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return FAILED, f"nothing after {TIMEOUT_S:.0f} s"
    return done.returncode, "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])


def broken(mutation: Mutation, place: Path) -> Result:
    """Put one mutation into a copy, run the tests of its requirement, and take it out again."""
    began = time.monotonic()
    path = place / "src" / "dragoman" / mutation.file
    whole = path.read_text(encoding="utf-8") if path.exists() else ""
    if whole.count(mutation.old) != 1:
        return Result(mutation, "DOES NOT FIT", 0, 0.0, f"the text stands {whole.count(mutation.old)} times in {mutation.file}")
    tests = named_tests(mutation.requirement)
    path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec")
        status, said = run_tests(place, tests)
    finally:
        path.write_text(whole, encoding="utf-8")
    verdict: Verdict = "noticed" if status == FAILED else "UNNOTICED" if status in (0, NOTHING_RAN) else "BROKEN TEST"
    return Result(mutation, verdict, len(tests), time.monotonic() - began, "" if verdict == "noticed" else said)


def row(result: Result) -> str:
    """One line of the table."""
    mutation = result.mutation
    return f"{mutation.requirement:<12}  {result.verdict:<12}  {result.tests:>2} tests  {result.took_s:5.1f} s  {mutation.breaks}"


def _worker(share: Sequence[Mutation]) -> list[Result]:
    with copy_of_the_tree() as place:
        wanted = sorted({test for mutation in share for test in named_tests(mutation.requirement)})
        status, said = run_tests(place, wanted)
        if status != 0:
            raise SystemExit(f"the tests fail on an unbroken copy already, so nothing can be said:\n{said}")
        where = subprocess.run(
            [sys.executable, "-c", "import dragoman; print(dragoman.__file__)"],
            cwd=place,
            env={**os.environ, "PYTHONPATH": str(place / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if not where.startswith(str(place)):
            raise SystemExit(f"the tests would run against {where.strip()}, not against the copy")
        found = []
        for mutation in share:
            found.append(broken(mutation, place))
            print(row(found[-1]), flush=True)
        return found


def main(wanted: Sequence[str]) -> int:
    """Run them all, or those of some requirements, and say how many were noticed."""
    chosen = [mutation for mutation in MUTATIONS if not wanted or mutation.requirement in wanted]
    if not chosen:
        print(f"no mutation for {', '.join(wanted)}", file=sys.stderr)
        return 2
    shares = [chosen[start::AT_ONCE] for start in range(min(AT_ONCE, len(chosen)))]
    with ThreadPoolExecutor(len(shares)) as pool:
        results = [result for found in pool.map(_worker, shares) for result in found]
    bad = [result for result in results if result.verdict != "noticed"]
    for result in bad:
        print(f"\n{row(result)}\n  {result.mutation.file}: {result.mutation.old.splitlines()[0].strip()}\n{result.said}")
    ids = {result.mutation.requirement for result in results}
    print(f"\nmutants: {len(results) - len(bad)} of {len(results)} noticed, {len(ids)} requirements")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
