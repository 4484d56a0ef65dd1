"""``tier`` and ``policy explain``: what decides about a tool, and changing it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from .program import LEGACY, Terminal, run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one server that was added and is trusted."""
    added = run("add", "h", "--yes", "--", *LEGACY, cwd=tmp_path)
    assert added.code == 0, added.err
    return tmp_path


def tiers(folder: Path) -> dict[str, str]:
    return {row["name"]: row["tier"] for row in run("tier", "--json", cwd=folder).json["tools"]}


def test_a_tier_is_set_without_a_terminal_and_the_server_stays_approved(folder: Path) -> None:
    """`tier SERVER.TOOL L0|L1|L2` needs no terminal; who typed it is in the audit; a trusted project file stays trusted."""
    done = run("tier", "h.search", "L0", cwd=folder)
    assert done.code == 0
    assert "h.search is L0 now" in done.out
    assert tiers(folder)["search"] == "L0"
    assert run("restart", "h", cwd=folder).code == 0
    note = run("audit", "tail", "--json", cwd=folder).json["records"][-1]
    assert (note["event"], note["server"], note["tool"], note["tier"]) == ("tier set", "h", "search", "L0")
    assert note["principal"]
    assert (note["detail"]["was"], note["detail"]["how"]) == ("L2", "command")


def test_a_pattern_overrules_what_add_wrote_but_nothing_stricter(folder: Path) -> None:
    """`add` names every tool, which would beat any pattern; L3 and off were somebody's decision and stay."""
    assert run("tier", "h.delete_notes", "off", cwd=folder).code == 0
    done = run("tier", "h.*_note*", "L1", cwd=folder)
    assert done.code == 0
    assert "so are: add_note" in done.out
    assert "a more exact rule decides for: delete_notes" in done.out
    now = tiers(folder)
    assert (now["add_note"], now["delete_notes"], now["search"]) == ("L1", "off", "L2")
    assert "taken out, since `add` had written them and nobody touched them: add_note" in done.out
    written = tomllib.loads((folder / "dragoman.toml").read_text())["servers"]["h"]["tools"]
    assert written["*_note*"] == "L1"
    assert "add_note" not in written
    assert written["delete_notes"] == "off"


def test_what_a_person_decided_about_a_tool_stays_even_where_it_says_what_add_wrote(folder: Path) -> None:
    """Our contract: only rules that nobody touched make room; the audit remembers who did."""
    assert run("tier", "h.add_note", "L2", cwd=folder).code == 0
    done = run("tier", "h.*_note*", "L1", "--json", cwd=folder).json
    assert (done["dropped"], done["covered"]) == (["delete_notes"], ["add_note"])
    file = folder / "dragoman.toml"
    file.write_text(file.read_text().replace("dragoman.toml", ""))
    (folder / "other.toml").write_text(file.read_text())  # the same text, and `add` wrote none of it here
    other = run("--config", str(folder / "other.toml"), "tier", "h.s*", "L0", "--json", cwd=folder).json
    assert other["dropped"] == []


def test_a_pattern_that_decides_nothing_is_pointed_out_with_the_command_that_helps(folder: Path) -> None:
    """Our contract: exact beats pattern, and `add` names every tool, so a pattern that was written by hand may be idle."""
    file = folder / "dragoman.toml"
    file.write_text(file.read_text().replace("[servers.h.tools]\n", '[servers.h.tools]\n"sea*" = "L0"\n'))
    notice = """servers.h.tools."sea*" (L0) decides nothing: more exact rules do for search; dragoman tier 'h.sea*' L0 lets it decide"""
    assert notice in run("tools", "h", cwd=folder).err
    assert notice in run("config", "check", cwd=folder).err
    assert notice in run("config", "check", "--json", cwd=folder).json["notices"]
    explained = run("policy", "explain", "h.search", cwd=folder).out
    assert 'note: servers.h.tools."sea*" (L0) speaks of it too; servers.h.tools.search is more exact' in explained
    assert run("tier", "h.sea*", "L0", cwd=folder).code == 0
    assert tiers(folder)["search"] == "L0"
    assert "decides nothing" not in run("tools", "h", cwd=folder).err
    assert run("policy", "explain", "h.search", "--json", cwd=folder).json["notices"] == []


def test_an_exception_beside_a_pattern_that_decides_is_nothing_to_point_out(folder: Path) -> None:
    """Our choice: "all of them but this one" is how patterns are meant to be used."""
    assert run("tier", "h.*_note*", "L1", cwd=folder).code == 0
    assert run("tier", "h.delete_notes", "L2", cwd=folder).code == 0
    assert "decides nothing" not in run("tools", "h", cwd=folder).err


def test_a_pattern_that_stops_asking_about_what_destroys_says_so(folder: Path) -> None:
    """Our contract: a wildcard is written without looking at each tool; a person who names one has looked."""
    done = run("tier", "h.*", "L1", cwd=folder)
    assert done.code == 0
    assert "warning: h says that delete_notes, sink_ship destroy, and nobody is asked about them any more" in done.err
    assert "dragoman tier h.delete_notes L2" in done.err
    assert "warning" not in run("tier", "h.*", "L0", cwd=folder).err
    assert "warning" not in run("tier", "h.delete_notes", "L0", cwd=folder).err


def test_a_tier_for_an_unapproved_project_file_approves_nothing(tmp_path: Path) -> None:
    """Only a person who saw the command line can approve it; the tier waits for that."""
    (tmp_path / "dragoman.toml").write_text(f'[servers.h]\ncommand = ["{LEGACY[0]}", "-m", "dragoman.demo.legacy"]\n')
    done = run("tier", "h.search", "L0", cwd=tmp_path)
    assert done.code == 0
    assert "only once h is approved" in done.err
    assert run("restart", "h", cwd=tmp_path).code == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["h.serch", "L0"], "did you mean h.search"),
        (["hh.search", "L0"], "did you mean h?"),
        (["search", "L0"], "write SERVER.TOOL"),
        (["h", "L0"], "names a server and no tool"),
        (["h.search", "l0"], 'did you mean "L0"?'),
        (["h.[ab]", "L0"], "no meaning in a pattern"),
        (["h.serch"], "did you mean h.search"),
    ],
)
def test_a_wrong_name_gets_the_nearest_and_changes_nothing(words: list[str], says: str, folder: Path) -> None:
    """Exit 2, and the file as it was."""
    before = (folder / "dragoman.toml").read_text()
    done = run("tier", *words, cwd=folder)
    assert done.code == 2, done.out
    assert says in done.err
    assert (folder / "dragoman.toml").read_text() == before


def test_policy_explain_names_tier_rule_and_each_layer_without_starting_anything(folder: Path) -> None:
    """The catalog that `add` stored is enough: the command is broken afterwards, and the explanation still comes."""
    file = folder / "dragoman.toml"
    file.write_text(file.read_text().replace("dragoman.demo.legacy", "dragoman.no_such_module"))
    done = run("policy", "explain", "h.search", "--json", cwd=folder)
    assert done.code == 0, done.err
    assert [row["layer"] for row in done.json["layers"]] == [
        *("audit", "resolve", "label", "validate", "budget", "approve"),
        *("stale", "retry", "breaker", "bulkhead", "dispatch"),
    ]
    assert (done.json["tier"], done.json["rule"]) == ("L2", "servers.h.tools.search")
    assert "changed since it was approved" in done.json["obstacle"]
    text = run("policy", "explain", "h.search", cwd=folder).out
    assert "h.search  L2  by servers.h.tools.search" in text
    assert "nobody is there: denied" in text
    with Terminal("policy", "explain", "h.search", cwd=folder, columns=80) as terminal:
        assert terminal.end() == 0
    assert "a person is asked" in terminal.seen
    assert max(len(line) for line in terminal.seen.partition("LAYER")[2].splitlines()) <= 80


def test_policy_explain_of_a_server_never_seen_connects_to_it(tmp_path: Path) -> None:
    """Its tools are unknown until then; an unknown tool is refused with the nearest names (exit 3)."""
    file = tmp_path / "servers.toml"
    file.write_text(f'[servers.h]\ncommand = ["{LEGACY[0]}", "-m", "dragoman.demo.legacy"]\n')
    done = run("--config", str(file), "policy", "explain", "h.search", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.json["rule"] == "nobody has set a tier, so L2"
    unknown = run("--config", str(file), "policy", "explain", "h.serch", cwd=tmp_path)
    assert unknown.code == 3
    assert "did you mean h.search" in unknown.err
