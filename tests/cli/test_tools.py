"""``dragoman tools``: from what was stored if possible, else from the servers themselves."""

from __future__ import annotations

import json
from pathlib import Path

from .calling import configured, on
from .program import LEGACY, run


def test_the_first_look_connects_and_the_second_starts_nothing(tmp_path: Path) -> None:
    """Our contract: and it says which, on stderr."""
    config = configured(tmp_path, LEGACY, {"echo": "L0", "add_*": "L1"})
    first = run("tools", "--config", str(config), cwd=tmp_path)
    assert first.code == 0
    assert "h: connected and listed now" in first.err
    config.write_text(config.read_text().replace(LEGACY[0], "/no/such/program"))
    second = run("tools", "h", "--config", str(config), cwd=tmp_path)
    assert (second.code, second.out) == (0, first.out)
    assert "h: as listed just now; --check asks anew" in second.err
    rows = {line.split()[0]: line.split()[1] for line in first.out.splitlines()}
    assert (rows["h.echo"], rows["h.add_note"], rows["h.delete_notes"]) == ("L0", "L1", "L2")
    assert "Delete notes from the logbook for good." in first.out
    checked = run("tools", "h", "--check", "--config", str(config), cwd=tmp_path)
    assert (checked.code, checked.out) == (4, "")


def test_ad_hoc_servers_have_no_tiers(tmp_path: Path) -> None:
    """Our contract."""
    done = run("tools", "--on", " ".join(LEGACY), cwd=tmp_path)
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["TOOL", "WHAT", "IT", "IS", "FOR"]
    assert run("tools", "--on", " ".join(LEGACY), "--json", cwd=tmp_path).json["tools"][0]["tier"] is None


def test_schema_and_json_give_everything(tmp_path: Path) -> None:
    """Our contract."""
    config = str(configured(tmp_path, LEGACY))
    listed = run("tools", "--json", "--config", config, cwd=tmp_path).json["tools"]
    (echo,) = [tool for tool in listed if tool["name"] == "echo"]
    assert echo["server"] == "h"
    assert echo["tier"] == "L2"
    assert echo["definition"]["inputSchema"]["properties"] == {"text": {"type": "string"}}
    shown = run("tools", "--schema", "--config", config, cwd=tmp_path).out
    assert json.loads(shown.split("h.weather")[0].removeprefix("h.search\n"))["required"] == ["text"]


def test_one_broken_server_does_not_hide_the_others(tmp_path: Path) -> None:
    """Our contract: its error is told, the exit code is its own."""
    config = configured(tmp_path, LEGACY)
    config.write_text(config.read_text() + f"[servers.dead]\ncommand = {json.dumps(on('exits_at_once').split())}\n")
    done = run("tools", "--config", str(config), cwd=tmp_path)
    assert done.code == 4
    assert "h.echo" in done.out
    assert "HARBOUR_KEY is not set" in done.err


def test_no_server_is_no_error(tmp_path: Path) -> None:
    """Our choice: an empty machine is told what to do."""
    done = run("tools", cwd=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert "dragoman add NAME" in done.err
    assert run("tools", "nobody", cwd=tmp_path).code == 2
