"""``add``, ``remove``, ``enable`` and ``disable`` as a person or a script runs them."""

from __future__ import annotations

import sqlite3
import tomllib
from pathlib import Path
from typing import Any

import pytest

from .program import LEGACY, MODERN, Terminal, run, server


def config_of(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "dragoman.toml").read_text())


def notes(cwd: Path) -> list[dict[str, Any]]:
    records = run("audit", "tail", "--json", "-n", "100", cwd=cwd).json["records"]
    return [record for record in records if not record["call"]]


def project(folder: Path, command: list[str]) -> None:
    words = ", ".join(f'"{word}"' for word in command)
    (folder / "dragoman.toml").write_text(f'# ours\n[servers.h]\ncommand = [{words}]\n\n[servers.h.tools]\nsearch = "L0"\n')


def test_add_with_yes_writes_every_tool_as_l2_and_the_server_may_start_at_once(tmp_path: Path) -> None:
    """Our contract: `add --yes` exits 0, tools L2; what add wrote needs no approval although it lies in the working folder."""
    added = run("add", "h", "--yes", "--", *LEGACY, cwd=tmp_path)
    assert added.code == 0, added.err
    assert "added h to" in added.out
    assert "next: dragoman call h.search text=TEXT\n" in added.err
    written = config_of(tmp_path)["servers"]["h"]
    assert written["command"] == LEGACY
    assert len(written["tools"]) > 10
    assert set(written["tools"].values()) == {"L2"}
    checked = run("status", "--check", "--json", cwd=tmp_path)
    assert checked.code == 0
    assert checked.json["servers"][0]["state"] == "stopped"
    note = notes(tmp_path)[0]
    assert (note["event"], note["server"]) == ("server added", "h")
    assert (note["detail"]["how"], note["detail"]["terminal"]) == ("--yes", False)


def test_add_without_a_terminal_and_without_yes_writes_nothing(tmp_path: Path) -> None:
    """Exit 3: what needs a person's agreement is denied when nobody is there."""
    refused = run("add", "h", "--", *LEGACY, cwd=tmp_path)
    assert refused.code == 3
    assert "there is no terminal to ask on" in refused.err
    assert "--yes" in refused.err
    assert not (tmp_path / "dragoman.toml").exists()
    assert notes(tmp_path) == []


def test_add_asks_on_the_terminal_and_shows_command_tools_and_tiers(tmp_path: Path) -> None:
    """A person sees what they agree to: the command, each tool with its parameters, its tier and its server's claims."""
    with Terminal("add", "h", "--", *MODERN, cwd=tmp_path) as terminal:
        terminal.expect("[y/N]")
        assert "dragoman.demo.modern" in terminal.seen
        assert "L0  search(" in terminal.seen
        assert '"search" in its name' in terminal.seen
        assert "its server says: reads only" in terminal.seen
        assert not (tmp_path / "dragoman.toml").exists()
        terminal.type("y")
        assert terminal.end() == 0
    assert "h" in config_of(tmp_path)["servers"]
    assert notes(tmp_path)[0]["detail"]["how"] == "terminal"


def test_what_a_person_agrees_to_fits_a_narrow_terminal_and_nothing_of_it_looks_like_a_line_of_ours(tmp_path: Path) -> None:
    """An attack: a command whose words fill up a line, so that the rest of it would stand where a line begins."""
    spoof = "x" * 30 + "\u00a0starts\u00a0in\u00a0/safe"
    with Terminal("add", "h", "--env", f"NOTE={spoof}", "--", *LEGACY, cwd=tmp_path, columns=40) as terminal:
        terminal.expect("[y/N]")
        terminal.type("n")
        assert terminal.end() == 3
    shown = terminal.seen.partition("Add h")[0].splitlines()
    assert max(map(len, shown)) <= 40
    assert not [line for line in shown if line.startswith("starts") and "safe" in line]


def test_add_takes_anything_but_yes_as_no(tmp_path: Path) -> None:
    """Default deny; a bare return key is no."""
    with Terminal("add", "h", "--", *LEGACY, cwd=tmp_path) as terminal:
        terminal.expect("[y/N]")
        terminal.type("")
        assert terminal.end() == 3
        assert "nothing was written" in terminal.seen
    assert not (tmp_path / "dragoman.toml").exists()


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["add", "a b", "--yes", "--", *LEGACY], 2, "cannot be a server's name"),
        (["add", "x", "--yes"], 2, "no server given"),
        (["add", "x", "npx", "-y", "@some/server"], 2, "behind a lone --"),
        (["add", "x", "--yes", "--", "no-such-program-anywhere"], 4, "no-such-program-anywhere"),
        (["add", "x", "--yes", "--env", "NOT_SET_HERE", "--", *LEGACY], 2, "NOT_SET_HERE is not set"),
        (["add", "x", "--yes", "--cwd", "nowhere", "--", *LEGACY], 2, "nowhere is not a folder"),
        (["remove", "nope"], 2, "there is no server nope"),
        (["enable", "nope"], 2, "there is no server nope"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(words: list[str], code: int, says: str, tmp_path: Path) -> None:
    """One message, a hint where there is a next step, the exit code of its kind, no traceback."""
    done = run(*words, cwd=tmp_path)
    assert done.code == code, done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "dragoman.toml").exists()


def test_a_second_server_of_that_name_is_refused_before_anything_starts(tmp_path: Path) -> None:
    """The command does not exist, so an attempt to start it would end with 4."""
    assert run("add", "h", "--yes", "--", *LEGACY, cwd=tmp_path).code == 0
    again = run("add", "h", "--yes", "--", "no-such-program-anywhere", cwd=tmp_path)
    assert again.code == 2
    assert "there is a server" in again.err


def test_secrets_passed_by_name_never_reach_the_file(tmp_path: Path) -> None:
    """`--env NAME` writes `${env:NAME}`; a secret by value is warned about, and neither is shown."""
    added = run(
        *("add", "e", "--yes", "--env", "SHOP_TOKEN", "--env", "DB_PASSWORD=hunter22pass", "--", *server("env_dump")),
        cwd=tmp_path,
        SHOP_TOKEN="sesame-open-42",
    )
    assert added.code == 0, added.err
    text = (tmp_path / "dragoman.toml").read_text()
    assert 'SHOP_TOKEN = "${env:SHOP_TOKEN}"' in text
    assert "sesame" not in text + added.out + added.err
    assert "warning: the variable DB_PASSWORD looks like a secret" in added.err
    assert "hunter22pass" not in added.out + added.err


def test_a_hostile_server_steers_no_terminal_while_it_is_added(tmp_path: Path) -> None:
    """Names, titles and descriptions with escapes, bidi controls and tags are shown escaped, and not written."""
    added = run("add", "evil", "--yes", "--", *server("hostile_text"), cwd=tmp_path)
    assert added.code == 0, added.err
    shown = added.out + added.err + run("status", cwd=tmp_path).out + run("tier", cwd=tmp_path).out
    assert not set(shown) & set("\x1b\x07\u202e\u200b\U000e0041\x9b\r")
    assert "\\x1b[2J" in shown
    assert list(config_of(tmp_path)["servers"]["evil"]["tools"]) == ["echo"]


def test_a_project_file_starts_nothing_until_a_person_approved_its_exact_command(tmp_path: Path) -> None:
    """Project files: exit 3 with the command to run; `enable` on a terminal; a changed command is held again."""
    project(tmp_path, LEGACY)
    held = run("restart", "h", cwd=tmp_path)
    assert held.code == 3
    assert "dragoman enable h" in held.err
    assert run("status", "--check", "--json", cwd=tmp_path).json["servers"][0]["state"] == "not approved"
    called = run("call", "h.search", "text=Aurora", cwd=tmp_path)
    assert called.code == 3
    assert "dragoman enable h" in called.err
    assert run("enable", "h", cwd=tmp_path).code == 3
    with Terminal("enable", "h", cwd=tmp_path) as terminal:
        terminal.expect("[y/N]")
        assert "dragoman.demo.legacy" in terminal.seen
        assert f"starts in  {tmp_path}" in terminal.seen
        assert "L0  search" in terminal.seen
        terminal.type("y")
        assert terminal.end() == 0
    called = run("call", "h.search", "text=Aurora", cwd=tmp_path)
    assert called.code == 0, called.err
    assert "Aurora" in called.out
    project(tmp_path, [*LEGACY, "--changed"])
    assert run("restart", "h", cwd=tmp_path).code == 3
    with Terminal("enable", "h", cwd=tmp_path) as terminal:
        terminal.expect("changed since it was approved")
        terminal.expect("[y/N]")
        terminal.type("no")
        assert terminal.end() == 3
    assert run("restart", "h", cwd=tmp_path).code == 3
    assert [note["event"] for note in notes(tmp_path)] == ["server approved"]


def test_enable_with_yes_is_the_person_at_the_keyboard_unless_the_policy_says_no(tmp_path: Path) -> None:
    """`allow_yes = false` switches --yes off, in the very file that is concerned too."""
    project(tmp_path, LEGACY)
    with (tmp_path / "dragoman.toml").open("a") as file:
        file.write("\n[policy]\nallow_yes = false\n")
    refused = run("enable", "h", "--yes", cwd=tmp_path)
    assert refused.code == 3
    assert "allow_yes" in refused.err
    assert run("add", "other", "--yes", "--", *LEGACY, cwd=tmp_path).code == 3
    project(tmp_path, LEGACY)
    assert run("enable", "h", "--yes", cwd=tmp_path).code == 0
    assert run("restart", "h", cwd=tmp_path).code == 0


def test_disable_and_enable_change_one_line_of_the_file(tmp_path: Path) -> None:
    """Comments stay; a server that is switched off is not started; switching on again asks nobody."""
    project(tmp_path, LEGACY)
    assert run("enable", "h", "--yes", cwd=tmp_path).code == 0
    before = (tmp_path / "dragoman.toml").read_text()
    assert run("disable", "h", cwd=tmp_path).code == 0
    assert config_of(tmp_path)["servers"]["h"]["enabled"] is False
    assert run("restart", "h", cwd=tmp_path).code == 3
    assert run("enable", "h", cwd=tmp_path).code == 0
    assert (tmp_path / "dragoman.toml").read_text() == before
    assert run("restart", "h", cwd=tmp_path).code == 0


def test_remove_forgets_the_server_and_keeps_its_audit(tmp_path: Path, dragoman_home: Path) -> None:
    """Health, catalog and trust go; adding the same text by hand needs a new approval."""
    assert run("add", "h", "--yes", "--", *LEGACY, cwd=tmp_path).code == 0
    text = (tmp_path / "dragoman.toml").read_text()
    removed = run("remove", "h", cwd=tmp_path)
    assert removed.code == 0
    assert not (tmp_path / "dragoman.toml").exists()
    assert "it was deleted" in removed.err
    assert f"dragoman logs h ({dragoman_home / 'logs' / 'h.log'})" in removed.err
    assert "open for ships" in run("logs", "h", cwd=tmp_path).out
    assert [note["event"] for note in notes(tmp_path)] == ["server added", "server removed"]
    (tmp_path / "dragoman.toml").write_text(text)
    assert run("restart", "h", cwd=tmp_path).code == 3
    with sqlite3.connect(dragoman_home / "dragoman.db") as store:
        assert store.execute("SELECT count(*) FROM trusted_commands").fetchone() == (0,)
    store.close()


def test_a_file_that_says_more_than_add_wrote_stays_and_that_is_said(tmp_path: Path) -> None:
    """A comment is a person's word; and an empty file in the working folder hides the user's own."""
    assert run("add", "h", "--yes", "--", *LEGACY, cwd=tmp_path).code == 0
    file = tmp_path / "dragoman.toml"
    file.write_text(f"# mine\n{file.read_text()}")
    removed = run("remove", "h", cwd=tmp_path)
    assert "in place of your own file" in removed.err
    assert file.read_text().strip() == "# mine"
    named = tmp_path / "named.toml"
    named.touch()
    assert run("--config", str(named), "add", "h", "--yes", "--", *LEGACY, cwd=tmp_path).code == 0
    kept = run("--config", str(named), "remove", "h", "--json", cwd=tmp_path)
    assert (kept.json["removed"], kept.json["file_deleted"], named.exists()) == (True, False, True)


def test_a_server_for_the_users_own_file_starts_where_it_was_meant(tmp_path: Path) -> None:
    """The file lies elsewhere, so a command that names a file of this folder gets its `cwd` written."""
    (tmp_path / "srv.py").write_text("import runpy\nrunpy.run_module('dragoman.demo.legacy', run_name='__main__')\n")

    added = run("add", "h", "--user", "--yes", "--", LEGACY[0], "srv.py", cwd=tmp_path)
    assert added.code == 0, added.err
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shown = run("config", "show", "--json", cwd=elsewhere).json
    assert shown["servers"]["h"]["cwd"] == str(tmp_path)
    assert not shown["project"]
    assert run("restart", "h", cwd=elsewhere).code == 0
    assert run("remove", "h", "--user", cwd=elsewhere).code == 0
