"""``config path``, ``check`` and ``show``."""

from __future__ import annotations

import tomllib
from pathlib import Path

from .program import run

GOOD = """\
[servers.files]
command = ["npx", "--api-key", "sk-abcdefghijklmnopqrstuv", "server"]
env = { LOG = "warn", SHOP_TOKEN = "${env:SHOP_TOKEN}" }

[servers.files.tools]
"read_*" = "L0"
move = { tier = "L2", say = "Move {a}" }
"""


def test_check_names_file_line_and_key(tmp_path: Path) -> None:
    """Exit 2 and `file:line: key: what was expected`."""
    file = tmp_path / "dragoman.toml"
    file.write_text('[servers.files]\ncommand = ["npx"]\n\n[servers.files.tools]\nread = "L7"\n')
    done = run("config", "check", cwd=tmp_path)
    assert done.code == 2
    assert f"{file}:5: servers.files.tools.read: expected one of L0, L1, L2, L3, off" in done.err
    other = tmp_path / "other.toml"
    other.write_text("[servers.x]\ncomand = ['a']\n")
    assert f"{other}:2: servers.x.comand" in run("config", "check", str(other), cwd=tmp_path).err


def test_check_of_a_valid_file_says_so_with_its_warnings(tmp_path: Path) -> None:
    """Exit 0; a key that has no effect is told on stderr."""
    (tmp_path / "dragoman.toml").write_text(GOOD + 'write = { tier = "L1", preview = "x" }\n')
    done = run("config", "check", cwd=tmp_path)
    assert done.code == 0
    assert "valid, 1 server" in done.out
    assert "has no effect" in done.err
    assert run("config", "check", "--json", cwd=tmp_path).json["servers"] == ["files"]


def test_path_tells_which_file_is_in_use(tmp_path: Path) -> None:
    """And that a file of the working folder is a project file; nothing on stdout where there is none."""
    none = run("config", "path", cwd=tmp_path)
    assert (none.code, none.out) == (0, "")
    (tmp_path / "dragoman.toml").write_text(GOOD)
    found = run("config", "path", cwd=tmp_path)
    assert found.out == f"{tmp_path}/dragoman.toml\n"
    assert "project file" in found.err
    assert run("config", "path", "--json", "--config", "nope.toml", cwd=tmp_path).code == 2


def test_show_masks_secrets_and_stays_toml(tmp_path: Path) -> None:
    """What it prints says the same as the file, less its secrets."""
    (tmp_path / "dragoman.toml").write_text(GOOD)
    done = run("config", "show", cwd=tmp_path)
    assert done.code == 0
    assert "sk-abc" not in done.out
    shown = tomllib.loads(done.out)["servers"]["files"]
    assert shown["command"] == ["npx", "--api-key", "[redacted]", "server"]
    assert shown["env"] == {"LOG": "warn", "SHOP_TOKEN": "${env:SHOP_TOKEN}"}
    assert shown["tools"] == {"read_*": "L0", "move": {"tier": "L2", "say": "Move {a}"}}
