"""``import``: servers of another host's file, taken over one by one."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from dragoman.service.context import Context
from dragoman.service.importing import places

from .program import LEGACY, MODERN, Terminal, run, server


def theirs(file: Path, **servers: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def entry(command: list[str], **more: Any) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:], **more}


def ours(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "dragoman.toml").read_text())["servers"]  # type: ignore[no-any-return]


def test_what_can_be_connected_to_is_taken_over_and_the_rest_is_named(tmp_path: Path) -> None:
    """One broken server keeps none of the others out (exit 1 all the same); one that is switched off, or taken, is left out and said so."""
    file = theirs(
        tmp_path / "other" / "mcp.json",
        h=entry(LEGACY, env={"SHOP_TOKEN": "${SHOP_TOKEN}"}, disabledTools=["sink_ship"]),
        gone=entry(["no-such-program-anywhere"]),
        off=entry(MODERN, disabled=True),
    )
    before = file.read_text()
    done = run("import", str(file), "--yes", cwd=tmp_path, SHOP_TOKEN="sesame-open-42")
    assert done.code == 1, done.err
    assert "gone is left out" in done.err
    assert "off is left out: it is switched off" in done.err
    assert list(ours(tmp_path)) == ["h"]
    assert ours(tmp_path)["h"]["env"] == {"SHOP_TOKEN": "${env:SHOP_TOKEN}"}
    assert (ours(tmp_path)["h"]["tools"]["search"], ours(tmp_path)["h"]["tools"]["sink_ship"]) == ("L2", "off")
    assert "off  sink_ship(" in done.out
    assert "sesame" not in done.out + done.err
    assert file.read_text() == before
    theirs(file, h=entry(MODERN))
    again = run("import", str(file), "--yes", "--json", cwd=tmp_path)
    assert again.code == 0
    assert again.json["servers"][0]["written"] is False
    assert "there is a server of that name" in again.json["servers"][0]["why"]


def test_a_project_file_of_another_host_is_replaced_by_ours_beside_it(tmp_path: Path) -> None:
    """`.mcp.json` is the file in use until then; what was agreed to needs no second approval; each server is asked about alone."""
    theirs(tmp_path / ".mcp.json", h=entry(LEGACY), m=entry(MODERN))
    with Terminal("import", "claude", cwd=tmp_path) as terminal:
        terminal.expect("Add h to")
        terminal.type("y")
        terminal.expect("Add m to")
        terminal.type("n")
        assert terminal.end() == 0
    assert list(ours(tmp_path)) == ["h"]
    checked = run("status", "--check", "--json", cwd=tmp_path)
    assert (checked.code, checked.json["servers"][0]["state"]) == (0, "stopped")


def test_without_a_terminal_and_without_yes_nothing_is_started_or_written(tmp_path: Path) -> None:
    """Exit 3."""
    file = theirs(tmp_path / "other" / "mcp.json", h=entry(LEGACY))
    done = run("import", str(file), cwd=tmp_path)
    assert done.code == 3
    assert "--yes" in done.err
    assert not (tmp_path / "dragoman.toml").exists()


def test_a_command_with_a_relative_path_still_starts_in_its_old_folder(tmp_path: Path) -> None:
    """The other file's folder is written as `cwd`."""
    other = tmp_path / "other"
    file = theirs(other / "mcp.json", h=entry([server("dual")[0], "srv.py"]))
    (other / "srv.py").write_text("import runpy\nrunpy.run_module('dragoman.demo.legacy', run_name='__main__')\n")
    done = run("import", str(file), "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    assert ours(tmp_path)["h"]["cwd"] == str(other)


@pytest.mark.parametrize(("origin", "says"), [("cursor", "cursor has no servers here"), ("nowhere.json", "no such file")])
def test_a_place_without_servers_says_where_it_looked(origin: str, says: str, tmp_path: Path) -> None:
    """Exit 2, with the next step."""
    done = run("import", origin, "--yes", cwd=tmp_path, HOME=str(tmp_path))
    assert done.code == 2
    assert says in done.err
    assert "hint:" in done.err


def test_this_folder_comes_before_the_users_own_files(tmp_path: Path) -> None:
    """As the hosts themselves do it; each platform has its own place for programs' settings."""
    context = Context(env={"HOME": "/home/ada"}, cwd=tmp_path)
    assert places("cursor", context, platform="linux") == [tmp_path / ".cursor" / "mcp.json", Path("/home/ada/.cursor/mcp.json")]
    assert places("vscode", context, platform="linux")[1] == Path("/home/ada/.config/Code/User/mcp.json")
    assert places("claude", context, platform="darwin")[2] == Path(
        "/home/ada/Library/Application Support/Claude/claude_desktop_config.json"
    )


def test_the_json_of_an_import_has_each_tools_tier_and_reason(tmp_path: Path) -> None:
    """Our contract: with `--yes` all are L2, and a script sees what they would have been."""
    file = tmp_path / "theirs.json"
    theirs(file, h=entry(LEGACY))
    done = run("import", str(file), "--yes", "--json", cwd=tmp_path)
    tools = {tool["name"]: tool for tool in done.json["servers"][0]["tools"]}
    assert {tool["tier"] for tool in tools.values()} == {"L2"}
    assert (tools["search"]["proposed"], tools["search"]["reason"]) == ("L0", '"search" in its name')
