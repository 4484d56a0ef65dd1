"""What a person types after ``--on`` or ``--`` is a command line or a URL, and nothing in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.service.context import Context
from dragoman.service.targets import Target, target_of


def typed(*words: str, folder: Path, **options: object) -> Target:
    return target_of(words, Context(env={"OURS": "yes", "DRAGOMAN_HOME": str(folder)}, cwd=folder), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["python3 server.py"], ("python3", "server.py")),
        (["python3", "a b.py"], ("python3", "a b.py")),
        (["sh -c 'echo \"a b\"'"], ("sh", "-c", 'echo "a b"')),
        (["npx server-postgres postgresql://reader@localhost/shop"], ("npx", "server-postgres", "postgresql://reader@localhost/shop")),
        (["server"], ("server",)),
    ],
)
def test_a_command_is_split_as_a_shell_would_and_may_have_urls_in_it(words: list[str], command: tuple[str, ...], tmp_path: Path) -> None:
    """Our contract: ``--on 'CMD ...'``."""
    target = typed(*words, folder=tmp_path)
    assert (target.command, target.url) == (command, None)


def test_a_url_is_taken_as_it_is(tmp_path: Path) -> None:
    """Our contract: ``--on URL``."""
    target = typed("https://host/mcp", folder=tmp_path, headers=["Authorization: Bearer x y"])
    assert (target.command, target.url, target.headers) == ((), "https://host/mcp", {"Authorization": "Bearer x y"})


def test_variables_are_given_or_passed_on(tmp_path: Path) -> None:
    """Our contract: ``--env NAME[=VALUE]``."""
    assert typed("x", folder=tmp_path, env=["OURS", "A=b=c", "E="]).env == {"OURS": "yes", "A": "b=c", "E": ""}


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ([], {}, "no server given"),
        ([" "], {}, "no server given"),
        (["sh -c 'x"], {}, "cannot be split"),
        (["x"], {"env": ["NOT_SET"]}, "NOT_SET is not set"),
        (["x"], {"env": ["=a"]}, "names no variable"),
        (["x"], {"headers": ["nonsense"]}, "is no header"),
        (["x"], {"timeout_s": 0}, "makes no sense"),
        (["http://x/"], {"connect_s": float("inf")}, "makes no sense"),
        (["http://x/"], {"idle_s": float("nan")}, "makes no sense"),
        (["x"], {"connect_s": 1.0}, "are for URLs"),
        (["x"], {"idle_s": 1.0}, "are for URLs"),
        (["x"], {"cwd": "missing"}, "is not a folder"),
        (["http://x/"], {"cwd": "."}, "--cwd is for commands"),
    ],
)
def test_what_makes_no_sense_is_named(words: list[str], options: dict[str, object], message: str, tmp_path: Path) -> None:
    """Our contract: exit 2."""
    with pytest.raises(ConfigError, match=message):
        typed(*words, folder=tmp_path, **options)
