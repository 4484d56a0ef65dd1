"""Where the configuration is found, which of the places count as a project's, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.config.load import Found, find, load, load_file, parse
from dragoman.errors import ConfigError


@pytest.fixture
def places(tmp_path: Path) -> tuple[dict[str, str], Path, Path]:
    """An environment, a working folder and the user's file (not created)."""
    work = tmp_path / "work"
    work.mkdir()
    user = tmp_path / "xdg" / "dragoman" / "dragoman.toml"
    user.parent.mkdir(parents=True)
    return {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path)}, work, user


def test_the_four_places_are_tried_in_order_and_only_an_unnamed_file_in_the_working_folder_is_a_projects(
    places: tuple[dict[str, str], Path, Path],
) -> None:
    """Our choice: a repository that one has cloned may not start programs."""
    env, work, user = places
    assert find(None, env, work) is None
    assert load(None, env=env, cwd=work).servers == {}
    user.write_text("")
    assert find(None, env, work) == Found(user, project=False)
    (work / ".vscode").mkdir()
    (work / ".vscode" / "mcp.json").write_text("{}")
    assert find(None, env, work) == Found(work / ".vscode" / "mcp.json", project=True)
    (work / "dragoman.toml").write_text("")
    assert find(None, env, work) == Found(work / "dragoman.toml", project=True)
    (work / "other.toml").write_text("[client]\nname = 'o'\n")
    named_by_variable = env | {"DRAGOMAN_CONFIG": "other.toml"}
    assert find(None, named_by_variable, work) == Found(work / "other.toml", project=False)
    assert find("dragoman.toml", named_by_variable, work) == Found(work / "dragoman.toml", project=False)
    assert load(None, env=named_by_variable, cwd=work).client.name == "o"
    assert load(None, env=env, cwd=work).project


def test_the_users_own_file_is_no_project_file_even_in_the_working_folder(places: tuple[dict[str, str], Path, Path]) -> None:
    """Our choice."""
    env, _, user = places
    user.write_text("")
    assert find(None, env, user.parent) == Found(user.parent / "dragoman.toml", project=False)


def test_a_named_file_that_is_missing_is_an_error_and_not_skipped(places: tuple[dict[str, str], Path, Path]) -> None:
    """Our choice."""
    env, work, _ = places
    with pytest.raises(ConfigError) as caught:
        find("no.toml", env, work)
    assert str(caught.value) == f"{work}/no.toml: no such file (named by --config)"
    with pytest.raises(ConfigError, match=r"no such file \(named by \$DRAGOMAN_CONFIG\)"):
        find(None, env | {"DRAGOMAN_CONFIG": "no.toml"}, work)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """Our choice."""
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory"):
        load_file(tmp_path)
    path = tmp_path / "c.toml"
    path.write_bytes(b"a = 1\nb = '\xff'\n")
    with pytest.raises(ConfigError) as caught:
        load_file(path)
    assert str(caught.value) == f"{path}:2: is not UTF-8 text"


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    """Editors on Windows write both."""
    path = tmp_path / "c.toml"
    path.write_bytes(b"\xef\xbb\xbf[servers.s]\r\ncommand = ['x']\r\n")
    config = load_file(path)
    server = config.servers["s"]
    assert server.source is not None
    assert server.source.line(("servers", "s", "command")) == 2


@pytest.mark.parametrize("text", ["a = " + "[" * 5000 + "]" * 5000, "a = " + "9" * 5000, '{"servers": ' + "[" * 50000])
def test_hostile_nesting_and_numbers_are_a_config_error(text: str) -> None:
    """A cloned repository's file must not crash the program."""
    with pytest.raises(ConfigError):
        parse(text, Path("c.toml"))
