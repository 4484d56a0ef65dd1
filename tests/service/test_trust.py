"""What a person approves when they approve a server of a project file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.config.load import load_file
from dragoman.config.model import Config
from dragoman.service.notes import agreement
from dragoman.service.trust import approve, facts, trust_state
from dragoman.store.sqlite import SqliteStore

FILE = """\
[servers.h]
command = ["prog", "--token", "abcdefgh12345678", "x y"]
cwd = "sub"
env = { LOG = "warn", DB_PASSWORD = "hunter22pass", KEY = "${env:KEY}" }
inherit = ["AWS_*"]

[servers.h.tools]
"read_*" = "L0"
"""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    async with await SqliteStore.open(tmp_path / "store.db") as opened:
        yield opened


def config(folder: Path, text: str = FILE, *, project: bool = True) -> Config:
    (folder / "dragoman.toml").write_text(text)
    return load_file(folder / "dragoman.toml", project=project)


def test_facts_show_everything_that_decides_what_runs_and_no_secret(tmp_path: Path) -> None:
    """The command word by word, the folder, variables by name, the tiers; secrets masked, variables unresolved."""
    shown = facts(config(tmp_path).servers["h"])
    assert shown.command == ("prog", "--token", "[redacted]", "x y")
    assert shown.cwd == str(tmp_path / "sub")
    assert shown.env == {"LOG": "warn", "DB_PASSWORD": "[redacted]", "KEY": "${env:KEY}"}
    assert shown.inherit == ("AWS_*",)
    assert shown.tools == {"read_*": "L0"}
    assert "hunter22" not in repr(shown)


async def test_a_yes_is_for_exactly_this_server_of_exactly_this_file(tmp_path: Path, store: SqliteStore) -> None:
    """Command, variables, folder and tiers are all part of it; the same text in another folder is another server."""
    ours = config(tmp_path)
    server, file = ours.servers["h"], tmp_path / "dragoman.toml"
    assert await trust_state(server, ours, store) == "new"
    await approve(server, file, store, agreement("terminal", terminal=True))
    assert await trust_state(server, ours, store) == "approved"
    for old, new in (("prog", "prof"), ('"sub"', '"sup"'), ("warn", "info"), ("AWS_*", "A*"), ('"L0"', '"L1"'), ("hunter22", "hunter23")):
        changed = config(tmp_path, FILE.replace(old, new))
        assert await trust_state(changed.servers["h"], changed, store) == "changed", new
    other = tmp_path / "other"
    other.mkdir()
    elsewhere = config(other)
    assert await trust_state(elsewhere.servers["h"], elsewhere, store) == "new"
    (record,) = await store.tail()
    assert (record.event, record.server, record.detail["how"]) == ("server approved", "h", "terminal")
    assert "hunter22" not in repr(record)


async def test_a_file_that_was_named_needs_no_approval(tmp_path: Path, store: SqliteStore) -> None:
    """Only what was lying in the working folder does."""
    named = config(tmp_path, project=False)
    assert await trust_state(named.servers["h"], named, store) == "not needed"
