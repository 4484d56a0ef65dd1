"""Resources, prompts and completion on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from .calling import configured, endings, on
from .program import LEGACY, MODERN, run


@pytest.fixture
def config(tmp_path: Path) -> tuple[str, str]:
    return "--config", str(configured(tmp_path, LEGACY))


def test_resources_are_listed_and_read(config: tuple[str, str], tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: reads are calls, L0 by default, and are audited."""
    listed = run("resources", "h", *config, cwd=tmp_path).out
    assert "harbour://notes" in listed
    assert "harbour://ship/{ship}" in listed
    assert "buy rope" in run("read", "h", "harbour://notes", *config, cwd=tmp_path).out
    flag = run("read", "h", "harbour://flag", "--json", *config, cwd=tmp_path).json
    assert (flag["kind"], flag["tier"], flag["files"][0]["mime"]) == ("resource", "L0", "image/png")
    missing = run("read", "h", "harbour://nothing", *config, cwd=tmp_path)
    assert (missing.code, missing.out) == (1, "")
    assert "Resource not found" in missing.err
    assert endings(dragoman_home) == [("harbour://notes", "ok"), ("harbour://flag", "ok"), ("harbour://nothing", "failed")]


def test_prompts_are_listed_and_filled_in(config: tuple[str, str], tmp_path: Path) -> None:
    """Our contract: values are text."""
    assert "ship, tone?" in run("prompts", "h", *config, cwd=tmp_path).out
    filled = run("prompt", "h", "hail", "ship=7", *config, cwd=tmp_path)
    assert filled.out == "user: Hail the 7 and ask for her cargo. Tone: polite.\n"


def test_arguments_are_completed(config: tuple[str, str], tmp_path: Path) -> None:
    """Our contract."""
    assert run("complete", "--prompt", "hail", "h", "ship", "B", *config, cwd=tmp_path).out == "Bonaventure\n"
    assert run("complete", "--prompt", "hail", "h", "tone", "--json", *config, cwd=tmp_path).json["values"] == ["gruff", "polite"]


def test_the_same_without_a_configuration(tmp_path: Path) -> None:
    """DESIGN: ``--on``."""
    target = ("--on", " ".join(MODERN))
    (first, *_) = run("resources", *target, "--json", cwd=tmp_path).json["resources"]
    assert run("read", *target, first["uri"], cwd=tmp_path).code == 0
    (prompt, *_) = run("prompts", *target, "--json", cwd=tmp_path).json["prompts"]
    assert prompt["name"]


def test_a_server_that_offers_none_is_no_error(tmp_path: Path) -> None:
    """What a server did not declare is not asked for."""
    for command in ("resources", "prompts"):
        done = run(command, "--on", on("version_2024"), cwd=tmp_path)
        assert (done.code, done.out) == (0, "")
        assert f"no {command}" in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["read", "h"], 2),
        (["read", "h", "a", "b"], 2),
        (["resources"], 2),
        (["complete", "h", "x"], 2),
        (["resources", "hh"], 3),
        (["read", "hh", "x:///"], 3),
    ],
)
def test_bad_words(words: list[str], code: int, config: tuple[str, str], tmp_path: Path) -> None:
    """DESIGN exit codes; a name that does not exist is refused."""
    done = run(*words, *config, cwd=tmp_path)
    assert (done.code, done.out) == (code, "")
    assert "\nhint: " in done.err
