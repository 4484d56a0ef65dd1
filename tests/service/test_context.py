"""Where a use case runs: nothing is read or made before it is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.service.context import Context


def test_nothing_is_read_before_it_is_needed(tmp_path: Path) -> None:
    """``--help`` and ad hoc calls must not trip over a broken file or a full disk."""
    (tmp_path / "dragoman.toml").write_text("[")
    context = Context(env={"DRAGOMAN_HOME": str(tmp_path / "state")}, cwd=tmp_path)
    assert not (tmp_path / "state").exists()
    with pytest.raises(ConfigError, match=r"dragoman\.toml:1"):
        _ = context.config
    assert context.store_path == tmp_path / "state" / "dragoman.db"
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700


def test_named_file_wins_over_the_folder(tmp_path: Path) -> None:
    """And is relative to the folder it was named in."""
    (tmp_path / "other.toml").write_text("[servers.a]\ncommand = ['x']\n")
    (tmp_path / "dragoman.toml").write_text("[servers.b]\ncommand = ['x']\n")
    named, found = Context("other.toml", env={}, cwd=tmp_path).config, Context(env={"HOME": str(tmp_path / "h")}, cwd=tmp_path).config
    assert (list(named.servers), named.project) == (["a"], False)
    assert (list(found.servers), found.project) == (["b"], True)


def test_no_file_is_an_empty_configuration(tmp_path: Path) -> None:
    """Everything ad hoc works without one."""
    assert Context(env={"HOME": str(tmp_path)}, cwd=tmp_path).config.servers == {}


def test_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What changes later in the process does not change under a use case."""
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "first"))
    context = Context()
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "second"))
    assert context.home == tmp_path / "first"
    assert context.cwd == Path(os.getcwd())


def test_logs_stay_in_the_state_folder(tmp_path: Path) -> None:
    """One file for each server."""
    context = Context(env={"DRAGOMAN_HOME": str(tmp_path)}, cwd=tmp_path)
    assert context.log_path("files") == tmp_path / "logs" / "files.log"
