"""Whose a server of some name is, and which log it gets."""

from __future__ import annotations

import os
from pathlib import Path

from dragoman.service.context import Context
from dragoman.service.scopes import log_file, scope_of


def test_a_file_has_one_scope_by_whatever_name_it_is_reached(tmp_path: Path) -> None:
    """Our choice: a hash of its real path, so that a link to it is no other configuration."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert scope_of(tmp_path / "real" / "d.toml") == scope_of(tmp_path / "link" / "d.toml")
    assert scope_of(tmp_path / "real" / "d.toml") != scope_of(tmp_path / "d.toml")
    assert scope_of(tmp_path / os.fsdecode(b"\xff.toml"))


def test_first_configuration_has_the_plain_name_and_keeps_it(tmp_path: Path) -> None:
    """DESIGN section 11: `logs/NAME.log`; a second project with a server of that name writes elsewhere."""
    assert log_file(tmp_path, "files", "aaa", claim=False).name == "files.log"  # to read, before anybody wrote
    assert log_file(tmp_path, "files", "bbb", claim=True).name == "files.log"
    for claim in (True, False):
        assert log_file(tmp_path, "files", "aaa", claim=claim).name == "files.aaa.log"
        assert log_file(tmp_path, "files", "bbb", claim=claim).name == "files.log"
    assert log_file(tmp_path, "shop", "aaa", claim=True).name == "shop.log"


def test_name_that_cannot_be_claimed_is_nobodys(tmp_path: Path) -> None:
    """A broken state folder mixes nothing."""
    (tmp_path / ".owners").write_text("no folder")
    assert log_file(tmp_path, "files", "aaa", claim=True).name == "files.aaa.log"
    other = tmp_path / "other"
    (other / ".owners" / "files").mkdir(parents=True)
    assert log_file(other, "files", "aaa", claim=True).name == "files.aaa.log"


def test_server_called_adhoc_does_not_share_the_log_of_ad_hoc_targets(tmp_path: Path) -> None:
    """They never mix with configured servers."""
    context = Context(env={"DRAGOMAN_HOME": str(tmp_path), "HOME": str(tmp_path)}, cwd=tmp_path)
    assert context.adhoc_log_path == tmp_path / "logs" / "adhoc.log"
    assert context.log_path("adhoc", claim=True) == tmp_path / "logs" / f"adhoc.{context.scope}.log"


def test_without_a_file_servers_are_the_users(tmp_path: Path) -> None:
    """Those that a program adds, and those of the file that it writes later, are the same."""
    env = {"DRAGOMAN_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    before = Context(env=env, cwd=tmp_path).scope
    (tmp_path / "config" / "dragoman").mkdir(parents=True)
    (tmp_path / "config" / "dragoman" / "dragoman.toml").write_text("")
    assert Context(env=env, cwd=tmp_path).scope == before
