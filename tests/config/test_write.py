"""Changes to dragoman.toml: what is kept, what is refused, and that nothing broken is ever written."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.config import write
from dragoman.config.load import load_file
from dragoman.config.model import Config, Limits, ServerConfig, ToolConfig
from dragoman.config.write import add_server, remove_server, set_enabled, set_tier, target
from dragoman.errors import ConfigError

FILE = """\
# my servers
[servers.a]   # the first
command = ["x"]  # run it

[policy]  # strict
allow_yes = false

[servers.b]
command = ["y"]
# about tools
[servers.b.tools]
"read_*" = "L0"  # harmless
move = { tier = "L2", say = "Move {x}" }
"""

NEW = ServerConfig(
    name="files",
    command=("npx", "-y", 'odd "name"'),
    env={"A": "${env:A}"},
    inherit=("B_*",),
    timeout_s=5.0,
    default_tier="L1",
    enabled=False,
    limits=Limits(tools=3),
    tools={"read_*": ToolConfig("L0"), "move": ToolConfig("L2", "Move {x}")},
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "dragoman.toml"
    file.write_text(FILE)
    return file


def test_a_server_is_added_at_the_end_and_reads_back_as_it_was(path: Path) -> None:
    """Our choice."""
    config = add_server(path, NEW)
    assert path.read_text().startswith(FILE + "\n[servers.files]\n")
    for read in (config.servers["files"], load_file(path).servers["files"]):
        assert write.server_table(read) == write.server_table(NEW)
        assert read.command == NEW.command
        assert read.tools == NEW.tools


def test_a_new_file_is_the_owners_alone_and_has_just_the_server(tmp_path: Path) -> None:
    """Our choice: it may hold secrets."""
    path = tmp_path / "new" / "dragoman.toml"
    add_server(path, ServerConfig(name="web", url="https://h/", connect_s=2.0, idle_s=9.5, headers={"A": "b"}))
    assert path.read_text() == '[servers.web]\nurl = "https://h/"\nconnect_s = 2.0\nidle_s = 9.5\n\n[servers.web.headers]\nA = "b"\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_mode_and_link_of_an_existing_file_stay(path: Path, tmp_path: Path) -> None:
    """Configuration is often a link into a repository of dotfiles."""
    path.chmod(0o644)
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    set_enabled(link, "a", False)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert not load_file(path).servers["a"].enabled
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_a_name_that_is_taken_is_refused_unless_it_shall_be_replaced(path: Path) -> None:
    """Our choice."""
    with pytest.raises(ConfigError) as caught:
        add_server(path, ServerConfig(name="a", command=("z",)))
    assert str(caught.value) == f'{path}: servers.a: there is a server "a" already'
    assert path.read_text() == FILE
    config = add_server(path, ServerConfig(name="a", command=("z",)), replace=True)
    assert config.servers["a"].command == ("z",)
    assert "# harmless" in path.read_text()


def test_removing_a_server_leaves_the_others_with_their_comments(path: Path) -> None:
    """Our choice."""
    assert list(remove_server(path, "a").servers) == ["b"]
    text = path.read_text()
    assert FILE[FILE.index("[policy]") :] in text
    with pytest.raises(ConfigError) as caught:
        remove_server(path, "a")
    assert str(caught.value) == f'{path}: there is no server "a"'
    assert caught.value.hint == "servers in this file: b"
    remove_server(path, "b")
    assert load_file(path).servers == {}
    assert not load_file(path).policy.allow_yes


def test_a_tier_is_set_in_place(path: Path) -> None:
    """Our choice: comments and order stay, also a sentence for the approver."""
    set_tier(path, "b", "read_*", "L1")
    config = set_tier(path, "b", "move", "off")
    assert config.servers["b"].tools == {"read_*": ToolConfig("L1"), "move": ToolConfig("off", "Move {x}")}
    assert path.read_text() == FILE.replace('"read_*" = "L0"', '"read_*" = "L1"').replace('tier = "L2"', 'tier = "off"')
    config = set_tier(path, "a", "x.y", "L3")
    assert config.servers["a"].tools == {"x.y": ToolConfig("L3")}
    assert config.servers["b"].tools["read_*"] == ToolConfig("L1")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: set_tier(path, "none", "x", "L0"),
        lambda path: set_tier(path, "a", "x", "L9"),  # type: ignore[arg-type]  # what a command line may hand in
        lambda path: set_tier(path, "a", "[x]", "L0"),
        lambda path: set_enabled(path, "none", True),
        lambda path: add_server(path, ServerConfig(name="bad name", command=("x",))),
        lambda path: add_server(path, ServerConfig(name="bad", url="ftp://x")),
        lambda path: add_server(path, ServerConfig(name="bad")),
    ],
)
def test_an_edit_that_would_not_be_valid_changes_nothing(path: Path, change: Callable[[Path], Config]) -> None:
    """Our choice: the result is read again before it replaces the file."""
    with pytest.raises(ConfigError):
        change(path)
    assert path.read_text() == FILE
    assert [entry.name for entry in path.parent.iterdir()] == ["dragoman.toml"]


def test_switching_off_and_on_again_leaves_the_file_as_it_was(path: Path) -> None:
    """Our choice."""
    assert not set_enabled(path, "b", False).servers["b"].enabled
    assert set_enabled(path, "b", True).servers["b"].enabled
    assert load_file(path).servers["b"].tools.keys() == {"read_*", "move"}
    assert path.read_text().replace("\n\n", "\n") == FILE.replace("\n\n", "\n")  # the library may add an empty line


def test_a_layout_that_cannot_be_extended_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """TOML: an inline table cannot be added to from outside."""
    path = tmp_path / "dragoman.toml"
    path.write_text('servers = { a = { command = ["x"] } }\n')
    with pytest.raises(ConfigError) as caught:
        add_server(path, NEW)
    assert str(caught.value) == f"{path}: is written in a way that cannot be changed safely here; nothing was written"
    assert caught.value.hint == "write each server as a table of its own, [servers.NAME], or make the change by hand"
    assert set_tier(path, "a", "t", "L0").servers["a"].tools == {"t": ToolConfig("L0")}


def test_another_programs_change_meanwhile_is_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: two commands at once both count."""
    real = write._checked
    calls: list[str] = []

    def checked(before: str, after: str, edit: write.Edit, file: Path) -> Config:
        if not calls:
            path.write_text(FILE + "\n# added meanwhile\n")
        calls.append(before)
        return real(before, after, edit, file)

    monkeypatch.setattr(write, "_checked", checked)
    set_tier(path, "b", "read_*", "L1")
    assert len(calls) == 2
    assert "# added meanwhile" in path.read_text()
    assert load_file(path).servers["b"].tools["read_*"] == ToolConfig("L1")


def test_the_file_in_use_is_written_to_else_a_new_one_in_the_working_folder(tmp_path: Path) -> None:
    """DESIGN: `add` and `tier` write to the file in use, else create one in the working folder (`--user`: the user's)."""
    env = {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path)}
    work = tmp_path / "work"
    work.mkdir()
    user_file = tmp_path / "xdg" / "dragoman" / "dragoman.toml"
    assert target(None, user=False, env=env, cwd=work) == work / "dragoman.toml"
    assert target(None, user=True, env=env, cwd=work) == user_file
    assert target("new.toml", user=False, env=env, cwd=work) == work / "new.toml"
    assert target(None, user=False, env=env | {"DRAGOMAN_CONFIG": "/v.toml"}, cwd=work) == Path("/v.toml")
    user_file.parent.mkdir(parents=True)
    user_file.write_text("")
    assert target(None, user=False, env=env, cwd=work) == user_file
    (work / ".mcp.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"\.mcp\.json: belongs to another host and is only read"):
        target(None, user=False, env=env, cwd=work)
