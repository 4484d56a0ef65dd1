"""Where state and configuration live, per platform, and who can read them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from dragoman.config.paths import logs_folder, state_home, user_config_path
from dragoman.errors import ConfigError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_state_folder_is_the_owners_alone_and_an_existing_one_keeps_its_mode(tmp_path: Path) -> None:
    """Our choice: $DRAGOMAN_HOME may name a folder that others use, which must not be locked."""
    home = state_home({"DRAGOMAN_HOME": str(tmp_path / "a" / "b")})
    assert home == tmp_path / "a" / "b"
    assert mode(home) == 0o700
    assert mode(logs_folder(home)) == 0o700
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    assert mode(state_home({"DRAGOMAN_HOME": str(shared)})) == 0o755


@pytest.mark.parametrize(
    ("platform", "state", "config"),
    [
        ("linux", ".local/state/dragoman", ".config/dragoman/dragoman.toml"),
        ("darwin", "Library/Application Support/dragoman", "Library/Application Support/dragoman/dragoman.toml"),
        ("win32", "AppData/Local/dragoman", "AppData/Roaming/dragoman/dragoman.toml"),
    ],
)
def test_each_platform_has_its_own_places(tmp_path: Path, platform: str, state: str, config: str) -> None:
    """XDG base directories, Apple's and Microsoft's guidelines."""
    env = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    assert state_home(env, platform=platform) == tmp_path / state
    assert user_config_path(env, platform=platform) == tmp_path / config


def test_xdg_folders_count_where_they_are_absolute(tmp_path: Path) -> None:
    """XDG base directories: a relative path is to be ignored."""
    env = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "s"), "XDG_CONFIG_HOME": "relative"}
    assert state_home(env, platform="linux") == tmp_path / "s" / "dragoman"
    assert user_config_path(env, platform="linux") == tmp_path / ".config" / "dragoman" / "dragoman.toml"


def test_a_state_folder_that_cannot_be_made_is_a_config_error(tmp_path: Path) -> None:
    """Our choice."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as caught:
        state_home({"DRAGOMAN_HOME": str(tmp_path / "file")})
    assert str(caught.value) == f"DRAGOMAN_HOME: cannot create the folder {tmp_path}/file: File exists"
    with pytest.raises(ConfigError, match="cannot create the folder"):
        state_home({"DRAGOMAN_HOME": str(tmp_path / "file" / "x")})
