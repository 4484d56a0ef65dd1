"""``audit search``, ``export`` and ``prune`` as a person types them."""

from __future__ import annotations

import csv
import io
import json
import time
from pathlib import Path

import pytest

from dragoman.store.sqlite import SqliteStore
from tests.store.entries import At

from .program import run
from .test_audit import AT, entry, three_calls, written


async def test_search_takes_text_filters_and_times_newest_first(tmp_path: Path, dragoman_home: Path) -> None:
    await three_calls(dragoman_home)
    await written(dragoman_home, entry("ccc-1", "asked", time.time() - AT - 60, detail={"arguments": '{"q":"Invoice \x1b[2J"}'}))

    def calls(*words: str) -> list[str]:
        return [record["call"] for record in run("audit", "search", "--json", *words, cwd=tmp_path).json["records"]]

    assert calls("invoice") == ["ccc-1"]
    assert calls("no such", "--status", "refused") == ["aaa-2"]
    assert calls("--tool", "files.read_file") == ["ccc-1", "aaa-1", "aaa-1", "aaa-1"]
    assert calls("--since", "2h", "--until", "now") == ["ccc-1"]
    assert calls("--since", "2027-01-15T08:00:05Z", "--event", "ended") == ["bbb-1"]
    assert calls("--tier", "L2", "-n", "1") == ["bbb-1"]
    shown = run("audit", "search", "invoice", cwd=tmp_path)
    assert "files.read_file" in shown.out
    assert "the audit has no such records" in run("audit", "search", "nothing", cwd=tmp_path).err
    wrong = run("audit", "search", "--since", "whenever", cwd=tmp_path)
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, "error: --since: 'whenever' is no time")


async def test_export_writes_every_record_for_its_owner_alone(tmp_path: Path, dragoman_home: Path) -> None:
    """JSON lines on stdout or in a file; the file is begun anew, whoever could read it before."""
    await three_calls(dragoman_home)
    out = run("audit", "export", cwd=tmp_path).out
    assert [json.loads(line)["call"] for line in out.splitlines()] == ["aaa-1"] * 3 + ["aaa-2"] * 2 + ["bbb-1"] * 2
    assert "\x1b" not in out
    file = tmp_path / "out.jsonl"
    file.write_text("old " * 10_000)
    file.chmod(0o644)
    done = run("audit", "export", "out.jsonl", "--status", "denied", cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "1 record written to out.jsonl\n")
    assert json.loads(file.read_text())["status"] == "denied"
    assert file.stat().st_mode & 0o777 == 0o600
    nowhere = run("audit", "export", "no/such/folder.csv", cwd=tmp_path)
    assert nowhere.code == 2
    assert "no/such/folder.csv cannot be written" in nowhere.err


async def test_no_text_of_a_server_is_a_formula_in_a_spreadsheet(tmp_path: Path, dragoman_home: Path) -> None:
    """Names come from servers and models; a sheet that opens the file must not calculate them."""
    hostile = ["=HYPERLINK('x')", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "|calc", "\n=1"]
    await written(dragoman_home, *(entry(f"c-{n}", "asked", n, tool=text) for n, text in enumerate(hostile)))
    out = run("audit", "export", "--format", "csv", cwd=tmp_path).out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert len(rows) == len(hostile)
    for row, text in zip(rows, hostile, strict=True):
        assert row["tool"][0] in "'\\", text
        assert text.strip("\t\r\n")[-1] == row["tool"][-1]
    assert rows[0]["at"].startswith("2027-")


async def test_prune_says_what_would_go_and_what_went_and_verify_counts_it(tmp_path: Path, dragoman_home: Path) -> None:
    """By the user's configuration; a project's has no say in how long this user's audit is kept."""
    now = time.time()
    async with await SqliteStore.open(dragoman_home / "dragoman.db", clock=At(now)) as store:
        for n in range(10):
            await store.append_durably(entry(f"c-{n}", "asked", now - AT - (12 - n) * 86_400))
    (tmp_path / "dragoman.toml").write_text("[audit]\nkeep_days = 5\n")
    project = run("audit", "prune", cwd=tmp_path)
    assert "audit: has no effect in a project file" in project.err
    assert project.out == "nothing to prune: 90 days and 2000 MB are kept\n"
    named = ("--config", "dragoman.toml")
    dry = run("audit", "prune", "--dry-run", *named, cwd=tmp_path)
    assert dry.out.startswith("would prune 8 records up to ")
    assert run("audit", "prune", *named, "--json", cwd=tmp_path).json["records"] == 8
    assert "verified 3 records of 2 writers" in (proved := run("audit", "verify", cwd=tmp_path).out)
    assert "; 8 pruned up to " in proved
    assert proved.endswith(", the rest whole\n")


@pytest.mark.parametrize("command", [("export",), ("search",), ("prune",)], ids=" ".join)
def test_an_empty_audit_is_no_error(command: tuple[str, ...], tmp_path: Path, dragoman_home: Path) -> None:
    assert run("audit", *command, cwd=tmp_path).code == 0
