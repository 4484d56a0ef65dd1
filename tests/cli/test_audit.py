"""``audit tail``, ``show`` and ``verify`` on audits that the test wrote."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dragoman.store.records import AuditEntry
from dragoman.store.sqlite import SqliteStore

from .program import Terminal, run

AT = 1_800_000_000.0


def entry(call: str, event: str, n: float, **more: Any) -> AuditEntry:
    fields: dict[str, Any] = {"server": "files", "tool": "read_file", "tier": "L0", "principal": "ada", "turn": "turn-1"}
    return AuditEntry(at=AT + n, event=event, call=call, **{**fields, **more})


async def written(home: Path, *entries: AuditEntry) -> Path:
    path = home / "dragoman.db"
    async with await SqliteStore.open(path) as store:
        for item in entries:
            await store.append_durably(item)
    return path


async def three_calls(home: Path) -> Path:
    return await written(
        home,
        entry("aaa-1", "asked", 0, server=None, tool="files.read_file", tier=None),
        entry("aaa-1", "sending", 1),
        entry("aaa-1", "ended", 2, status="ok", detail={"duration_ms": 3}),
        entry("aaa-2", "asked", 3, server=None, tool="files.nope", tier=None),
        entry("aaa-2", "ended", 4, server=None, tool="files.nope", tier=None, status="refused", detail={"message": "\x1b[2Jno such tool"}),
        entry("bbb-1", "asked", 5, server=None, tool="shop.query", tier=None, turn="turn-2"),
        entry("bbb-1", "ended", 6, server="shop", tool="query", tier="L2", status="denied", turn="turn-2"),
    )


async def test_tail_names_tools_in_plain_text_and_filters(tmp_path: Path, dragoman_home: Path) -> None:
    """`audit tail`: the last 20, oldest first; *asked* belongs to the tool although its server was not known yet."""
    await three_calls(dragoman_home)
    shown = run("audit", "tail", cwd=tmp_path)
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert len(lines) == 8
    assert "files.read_file" in lines[1]
    assert "shop.query" in lines[7]
    assert "ended denied" in lines[7]

    def calls(*words: str) -> list[tuple[str, str]]:
        records = run("audit", "tail", "--json", *words, cwd=tmp_path).json["records"]
        return [(record["call"], record["event"]) for record in records]

    whole = [("aaa-1", "asked"), ("aaa-1", "sending"), ("aaa-1", "ended")]
    assert calls("--server", "files") == whole
    assert calls("--tool", "files.read_file") == whole
    assert calls("--tool", "files.nope") == [("aaa-2", "asked"), ("aaa-2", "ended")]
    assert calls("--turn", "turn-2") == [("bbb-1", "asked"), ("bbb-1", "ended")]
    assert calls("--status", "denied") == [("bbb-1", "ended")]
    assert calls("-n", "1") == [("bbb-1", "ended")]


async def test_show_tells_the_story_of_a_call_and_escapes_it(tmp_path: Path, dragoman_home: Path) -> None:
    """Every record with its details; the beginning of an id is enough where it is the only one."""
    await three_calls(dragoman_home)
    story = run("audit", "show", "aaa-1", cwd=tmp_path)
    assert story.out.startswith("files.read_file: ok\n")
    assert "duration_ms: 3" in story.out
    hostile = run("audit", "show", "aaa-2", cwd=tmp_path).out
    assert "\x1b" not in hostile
    assert "\\x1b[2Jno such tool" in hostile
    assert run("audit", "show", "bb", "--json", cwd=tmp_path).json["verdict"] == "denied"
    unknown = run("audit", "show", "aaa", cwd=tmp_path)
    assert unknown.code == 2
    assert "'aaa' is the beginning of 2 calls\nhint: one of aaa-2, aaa-1" in unknown.err


async def test_a_call_without_a_configuration_shows_its_tool_first_and_fits_a_narrow_terminal(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: tool names in plain text; the command line of a server that was typed is long, and may be cut."""
    command = "python3 -m a.module.of.somebody --with many --options and/a/long/path"
    await written(dragoman_home, entry("a-1", "sending", 1, server=command, tool="search", tier=None))
    assert f"search on {command}" in run("audit", "tail", cwd=tmp_path).out
    for width in (40, 80):
        with Terminal("audit", "tail", cwd=tmp_path, columns=width) as terminal:
            assert terminal.end() == 0
        assert "search on python3" in " ".join(terminal.seen.split())
        assert max(map(len, terminal.seen.splitlines())) <= width


async def test_a_call_that_a_crash_left_without_an_end_is_shown_as_unknown(tmp_path: Path, dragoman_home: Path) -> None:
    """It may have run, and somebody has to look: the plain tail marks it and says how to find them all."""
    await three_calls(dragoman_home)
    await written(dragoman_home, entry("ccc-1", "asked", 7, server=None), entry("ccc-1", "sending", 8, tier="L2"))
    shown = run("audit", "tail", cwd=tmp_path)
    assert [" ".join(line.split()[1:]) for line in shown.out.splitlines() if "ccc-1" in line][1].endswith(
        "sending (unknown) files.read_file L2 ccc-1"
    )
    assert shown.out.count("(unknown)") == 1
    assert "1 call may have run: dragoman audit tail --status unknown" in shown.err
    found = run("audit", "tail", "--status", "unknown", cwd=tmp_path)
    assert len(found.out.splitlines()) == 2
    assert "may have run" not in found.err
    (record,) = run("audit", "tail", "--status", "unknown", "--tool", "files.read_file", "--json", cwd=tmp_path).json["records"]
    assert (record["call"], record["event"], record["verdict"]) == ("ccc-1", "sending", "unknown")
    assert run("audit", "show", "ccc-1", "--json", cwd=tmp_path).json["verdict"] == "unknown"


async def test_verify_is_satisfied_with_an_empty_audit_and_a_whole_one(tmp_path: Path, dragoman_home: Path) -> None:
    """Exit 0 both times; it says how much it verified."""
    empty = run("audit", "verify", cwd=tmp_path)
    assert (empty.code, empty.out) == (0, "verified: the audit is empty\n")
    await three_calls(dragoman_home)
    whole = run("audit", "verify", cwd=tmp_path)
    assert whole.code == 0
    assert whole.out == "verified 7 records of 1 writer, up to 2027-01-15T08:00:06.000Z\n"


async def test_verify_names_the_first_bad_record_of_a_writer(tmp_path: Path, dragoman_home: Path) -> None:
    """Exit 1 on a broken audit, as text and as JSON."""
    path = await three_calls(dragoman_home)
    with sqlite3.connect(path) as store:
        store.execute("UPDATE audit SET tool = 'harmless' WHERE n = 3")
    store.close()
    broken = run("audit", "verify", cwd=tmp_path)
    assert broken.code == 1
    assert "record 3: edited" in broken.out
    assert "the audit is broken" in broken.err
    as_json = run("audit", "verify", "--json", cwd=tmp_path)
    assert as_json.code == 1
    assert as_json.json["ok"] is False
    assert as_json.json["bad"][0]["seq"] == 3


async def test_verify_of_a_file_that_is_none_of_ours_says_so(tmp_path: Path, dragoman_home: Path) -> None:
    """Damage is a broken audit too, never a traceback."""
    dragoman_home.mkdir(parents=True)
    (dragoman_home / "dragoman.db").write_bytes(b"no database at all" * 100)
    broken = run("audit", "verify", cwd=tmp_path)
    assert broken.code == 1
    assert "cannot be read to its end" in broken.out
    assert "Traceback" not in broken.err


@pytest.mark.parametrize("what", ["named pipe", "folder", "newer"])
@pytest.mark.parametrize("words", [("audit", "verify"), ("audit", "tail"), ("status",)], ids=" ".join)
async def test_what_is_no_audit_of_ours_is_called_by_its_name(
    what: str, words: tuple[str, ...], tmp_path: Path, dragoman_home: Path
) -> None:
    """Exit 2, at once: a named pipe in the place of the file is never opened, and nothing of this is a broken audit."""
    if what == "newer":
        with sqlite3.connect(await three_calls(dragoman_home)) as store:
            store.execute("PRAGMA user_version = 99")
        store.close()
        expected = "schema version 99, this Dragoman knows versions up to"
    else:
        dragoman_home.mkdir(parents=True)
        place = dragoman_home / "dragoman.db"
        place.mkdir() if what == "folder" else os.mkfifo(place)
        expected = f"dragoman.db is a {what}, not a file"
    (tmp_path / "dragoman.toml").write_text('[servers.a]\ncommand = ["true"]\n')
    done = run(*words, cwd=tmp_path)
    assert done.code == 2
    assert expected in done.err
    assert "broken" not in done.err


def test_an_unknown_subcommand_gets_the_nearest(tmp_path: Path) -> None:
    """Exit 2, as for every unknown command."""
    done = run("audit", "verfy", cwd=tmp_path)
    assert done.code == 2
    assert "did you mean audit verify?" in done.err
