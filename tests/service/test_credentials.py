"""Who we say we are: named, never shown, and another one as soon as its file or a variable says so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.service.context import Context
from dragoman.service.credentials import Credentials

TOKEN = "tok-8f2c1d9e7b6a"


def written(folder: Path, headers: str, moment: int) -> Path:
    """A configuration as of that second."""
    path = folder / "named.toml"
    path.write_text(f"[servers.far]\nurl = 'http://127.0.0.1:1/mcp'\nheaders = {{ {headers} }}\n")
    os.utime(path, (moment, moment))
    return path


def credentials(path: Path, **env: str) -> Credentials:
    context = Context(path, env={**os.environ, **env})
    return Credentials(context.config.servers["far"], context)


def test_header_and_variable_are_named_and_the_value_is_not(tmp_path: Path) -> None:
    """Our choice: the message of a 401 says which credential, and what renews it."""
    found = credentials(written(tmp_path, 'X-Tenant = "7", Authorization = "Bearer ${env:FAR_TOKEN}"', 1), FAR_TOKEN=TOKEN)()
    assert found.names == "the header Authorization from the variable FAR_TOKEN"
    assert found.renew == "set FAR_TOKEN to a new value, then: dragoman restart far"
    assert TOKEN not in repr(found)


def test_literal_value_is_renewed_in_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, f'X-Api-Key = "{TOKEN}"', 1)
    found = credentials(path)()
    assert found.names == "the header X-Api-Key"
    assert found.renew == f"write a new value for X-Api-Key into servers.far.headers in {path}, then: dragoman restart far"
    assert TOKEN not in repr(found)


def test_server_without_a_credential_is_told_where_one_goes(tmp_path: Path) -> None:
    found = credentials(written(tmp_path, "", 1))()
    assert found.names == "no credential"
    assert "Authorization" in found.renew


def test_another_value_in_the_file_is_another_credential(tmp_path: Path) -> None:
    """A running host sees it, and sends it; a file that is half written changes nothing."""
    path = written(tmp_path, 'Authorization = "Bearer one"', 1)
    known = credentials(path)
    first = known()
    assert known() == first
    path.write_text("[servers.far")
    os.utime(path, (2, 2))
    assert known() == first
    written(tmp_path, 'Authorization = "Bearer two"', 3)
    assert known().mark != first.mark
    assert known.latest().headers == {"Authorization": "Bearer two"}


def test_project_file_that_changed_has_to_be_approved_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have come with a download, and so may the change."""
    path = written(tmp_path, 'Authorization = "Bearer one"', 1)
    path = path.rename(tmp_path / "dragoman.toml")
    monkeypatch.chdir(tmp_path)
    context = Context()
    assert context.config.project
    known = Credentials(context.config.servers["far"], context)
    first = known()
    path.write_text(path.read_text().replace("one", "two"))
    os.utime(path, (2, 2))
    assert known() == first


def test_missing_variable_is_told_by_name(tmp_path: Path) -> None:
    """As at every start."""
    with pytest.raises(ConfigError, match="FAR_TOKEN"):
        credentials(written(tmp_path, 'Authorization = "Bearer ${env:FAR_TOKEN}"', 1))()
