"""
What README and the tutorial show on a command line happens; the demo's transcript and the reference of commands are today's.

A block that opens with ```console is a session: each line that begins with `$ ` is run by sh (lines that begin with `> ` go on with it),
all blocks of a page one after the other in one empty folder with a state folder of its own, without a terminal. A command ends with 0, or
with what a final comment `# exit N` says. The lines behind a command must be in its output, in this order; `…` stands for anything.
A block that opens with ```python no-run file=NAME is saved under that name first, as the page tells its reader to.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from dragoman.config import build
from dragoman.config.load import parse
from dragoman.policy.stack import ORDER
from scripts import cli_reference, readme_demo
from tests.documentation import ROOT, Block, blocks, pages

LIMIT_S = 30
PAGES = [page for page in pages() if any(True for _ in blocks(page, language="console"))]
HARBOUR = ["python3", "-m", "dragoman.demo.legacy"]
_EXIT = re.compile(r"\s+# exit (\d+)$")


class Step(NamedTuple):
    """One command of a session, and what a page says comes of it."""

    where: str
    command: str
    status: int
    shown: list[str]


def steps(page: Path, root: Path = ROOT) -> Iterator[Step]:
    """The commands of a page in order."""
    found = [*blocks(page, root, language="console"), *blocks(page, root, language="python")]
    for block in sorted(found, key=lambda block: block.line):
        name = next((word.removeprefix("file=") for word in block.info if word.startswith("file=")), None)
        if name is not None:
            yield Step(str(block), f"cat > {name} <<'END OF FILE'\n{block.text}END OF FILE", 0, [])
        elif block.text.startswith("$ "):  # no Python
            yield from session(block)


def session(block: Block) -> Iterator[Step]:
    """The commands of one block."""
    step: Step | None = None
    for number, line in enumerate(block.text.splitlines(), block.line):
        if line.startswith("$ "):
            if step is not None:
                yield step
            said = _EXIT.search(line)
            step = Step(f"{block.page}:{number}", _EXIT.sub("", line[2:]), int(said[1]) if said else 0, [])
        elif step is not None and line.startswith("> ") and not step.shown:
            step = step._replace(command=f"{step.command}\n{line[2:]}")
        elif step is not None and line.strip():
            step.shown.append(line)
    if step is not None:
        yield step


def run_step(step: Step, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run one command in the folder; stdout holds both streams."""
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    return subprocess.run(
        ["sh", "-c", step.command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
        start_new_session=True,
    )


def missing(shown: list[str], output: str) -> str | None:
    """The first shown line that the output does not have behind the ones before it."""
    place = 0
    for line in shown:
        pattern = ".*".join(re.escape(part) for part in line.rstrip().split("…"))
        found = re.compile(rf"^{pattern}[ \t]*$", re.MULTILINE).search(output, place)
        if found is None:
            return line
        place = found.end()
    return None


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_session_goes_as_the_page_says(page: Path, tmp_path: Path) -> None:
    """Our choice: a page is followed as a new user would, in an empty folder."""
    for step in steps(page):
        done = run_step(step, tmp_path)
        assert done.returncode == step.status, f"{step.where}: {step.command}\n{done.stdout}"
        assert missing(step.shown, done.stdout) is None, f"{step.where}: {step.command}\n{done.stdout}"


def test_readme_and_tutorial_have_sessions() -> None:
    """An empty parameter set is skipped without a word."""
    assert {"README.md", "tutorial.md"} <= {page.name for page in PAGES}


def test_transcript_in_readme_is_that_of_a_fresh_run() -> None:
    """Our choice: the demo is run, not remembered; `python scripts/readme_demo.py --write` brings README up to date."""
    fresh = readme_demo.block(readme_demo.run_demo())
    assert readme_demo.in_readme(readme_demo.README.read_text(encoding="utf-8")).splitlines() == fresh.splitlines()


def test_transcript_is_the_same_for_everybody(tmp_path: Path) -> None:
    """What differs from run to run and from machine to machine is replaced, whoever types it from wherever."""
    state = tmp_path / "state"
    text = (
        "\n   approved        approved by root (--yes)\n   23:59:01  sending  L2  a.b  approved by eve de vil (from make), --yes\n"
        f"   verified  2 records ({state}/dragoman.db)\n{'x' * 200}\n"
    )
    lines = readme_demo.normal(text, state).splitlines()
    assert lines[0] == "   approved        approved by ada (from bash) (--yes)"
    assert lines[1] == "   12:00:00  sending  L2  a.b  approved by ada (from bash), --yes"
    assert lines[2] == "   verified  2 records (~/.local/state/dragoman/dragoman.db)"
    assert lines[3] == "x" * (readme_demo.WIDTH - 1) + "…"


def test_reference_of_commands_is_what_help_prints() -> None:
    """Our choice: generated from `--help`; `python scripts/cli_reference.py --write` brings it up to date."""
    text = cli_reference.PAGE.read_text(encoding="utf-8")
    assert text.splitlines() == cli_reference.written(text).splitlines()


def test_reference_names_every_command_and_its_options() -> None:
    """The generator itself: groups are gone into, shared options stand once."""
    text = cli_reference.reference()
    for words in ("demo", "call", "audit verify", "policy explain", "config show"):
        assert f"\n### dragoman {words}\n" in text
    assert text.count("--trace-file FILE") == 1
    assert "--on 'CMD ... | URL'" in text


TOML = [block for page in pages() for block in blocks(page, language="toml")]


def test_configuration_page_has_an_example() -> None:
    """An empty parameter set is skipped without a word."""
    assert "docs/configuration.md" in {block.page for block in TOML}


@pytest.mark.parametrize("block", TOML, ids=str)
def test_example_of_a_configuration_is_valid(block: Block) -> None:
    """Our choice: an example that is refused, or has keys without effect, is none."""
    assert parse(block.text, Path(block.page)).warnings == ()


def test_configuration_page_names_every_key() -> None:
    """Our choice: what is acted on and what is refused are both told, each between backticks."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    keys = {
        name.lstrip("_"): value for name, value in vars(build).items() if name.lstrip("_").split("_")[0] in ("POLICY", "SERVER", "TOOL")
    }
    keys |= {"TOP": build._TOP_REFUSED, "LIMITS": tuple(f"limits.{key}" for key in build._LIMITS)}
    assert {"POLICY", "SERVER", "SERVER_REFUSED", "TOOL", "TOOL_REFUSED", "TOOL_INERT"} <= set(keys)
    wanted = {key for names in keys.values() for key in names} - {"limits"}
    assert {key for key in wanted if f"`{key}`" not in text} == set()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("`probe`", ["probe", "--", *HARBOUR]),
        ("`call`, `read`, `prompt`", ["call", "--on", " ".join(HARBOUR), "weather"]),
        ("`audit tail`", ["audit", "tail"]),
        ("`audit verify`", ["audit", "verify"]),
        ("`status`", ["status"]),
    ],
)
def test_members_of_json_are_those_that_the_page_lists(row: str, words: list[str], tmp_path: Path) -> None:
    """Our choice: scripts rely on them, so what is told is what comes, no more and no less at the top."""
    page = cli_reference.PAGE.read_text(encoding="utf-8")
    cell = next(line for line in page.splitlines() if line.startswith(f"| {row} | ")).split(" | ")[1].rstrip(" |")
    while (flat := re.sub(r" ?[{\[][^{}\[\]]*[}\]]", "", cell)) != cell:  # what is inside of members is not looked at
        cell = flat
    cell = re.sub(r"\([^)]*\)|:", "", cell)
    done = run_step(Step("", f"dragoman {shlex.join(['--json', *words])}", 0, []), tmp_path)
    assert done.returncode == 0, done.stdout
    assert set(json.loads(done.stdout)) == set(re.findall(r"`([a-z_]+)`", cell))


def test_steps_and_shown_lines_are_read(tmp_path: Path) -> None:
    """The reader of sessions itself."""
    page = tmp_path / "README.md"
    saved = "```python no-run file=x.py\nprint(1)\n```\n"
    page.write_text(f"```console\n$ echo a; exit 3   # exit 3\na\n$ cat <<'END'\n> b c\n> END\nb…\n```\n{saved}")
    first, second, third = steps(page, tmp_path)
    assert first == Step("README.md:2", "echo a; exit 3", 3, ["a"])
    assert second == Step("README.md:4", "cat <<'END'\nb c\nEND", 0, ["b…"])
    assert run_step(third, tmp_path).returncode == 0
    assert (tmp_path / "x.py").read_text() == "print(1)\n"
    assert (run_step(first, tmp_path).returncode, run_step(second, tmp_path).stdout) == (3, "b c\n")


def test_missing_line_is_noticed() -> None:
    """The comparison itself."""
    output = "one\ntwo 5 ms\nthree\n"
    assert missing(["one", "two … ms", "three"], output) is None
    assert missing(["three", "one"], output) == "one"
    assert missing(["two"], output) == "two"


@pytest.mark.parametrize(("page", "but"), [("README.md", ""), ("docs/follow-one-call.md", ""), ("docs/library.md", "dispatch")])
def test_pages_that_list_the_layers_list_all_of_them_in_their_order(page: str, but: str) -> None:
    """Our choice; of a layer that stands nowhere nobody knows what it does."""
    words = re.compile(r".*?".join(rf"(?<!\w){layer}\b" for layer, _ in ORDER if layer != but), re.DOTALL)
    assert words.search((ROOT / page).read_text()), page


def test_readme_leads_to_every_page() -> None:
    """Our choice; a page that nothing leads to is read by nobody."""
    readme = (ROOT / "README.md").read_text()
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in readme] == []
