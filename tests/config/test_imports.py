"""Configuration files of other hosts, read as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.config.load import parse
from dragoman.config.model import Config
from dragoman.config.redactor import Redactor
from dragoman.config.secrets import resolve_server
from dragoman.errors import ConfigError


def read(values: object, path: str = "/repo/.mcp.json") -> Config:
    return parse(json.dumps(values, indent=1), Path(path), project=True)


def test_mcp_servers_with_arguments_environment_and_claude_variables() -> None:
    """The shape of Claude Code's and Cursor's files."""
    config = read(
        {
            "mcpServers": {
                "files": {
                    "type": "stdio",
                    "command": "npx",
                    "args": ["-y", "${PKG:-server}"],
                    "env": {"TOKEN": "${TOKEN}", "PORT": 80, "X": True, "N": None},
                },
                "web": {"type": "http", "url": "https://h.test/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}, "disabled": True},
            }
        }
    )
    assert config.project
    files = config.servers["files"]
    assert files.command == ("npx", "-y", "${env:PKG:-server}")
    assert files.env == {"TOKEN": "${env:TOKEN}", "PORT": "80", "X": "true"}
    assert files.default_tier == "L2"
    launch = resolve_server(files, {"TOKEN": "abcdefgh"}, Redactor())
    assert launch.command == ("npx", "-y", "server")
    assert (launch.env["TOKEN"], launch.cwd) == ("abcdefgh", "/repo")
    web = config.servers["web"]
    assert (web.url, web.enabled, web.headers) == ("https://h.test/mcp", False, {"Authorization": "Bearer ${env:TOKEN}"})
    assert config.warnings == ()


def test_an_editors_file_starts_its_servers_in_the_workspace() -> None:
    """VS Code and Cursor keep the file one folder down, and start servers in the workspace."""
    config = read(
        {"servers": {"s": {"command": "${workspaceFolder}/run", "args": ["${userHome}/x"], "cwd": "sub"}}}, "/repo/.vscode/mcp.json"
    )
    server = config.servers["s"]
    assert server.command == ("/repo/run", "${env:HOME}/x")
    assert server.cwd == "/repo/sub"
    assert read({"mcp": {"servers": {"s": {"command": "x"}}}}, "/repo/.cursor/mcp.json").servers["s"].cwd == "/repo"


def test_names_that_cannot_be_ours_are_rewritten_and_said_so() -> None:
    """Our choice: a file of another host cannot be edited for us."""
    config = read({"mcpServers": {"My files!": {"command": "x"}}})
    assert list(config.servers) == ["My-files"]
    assert config.warnings == ('/repo/.mcp.json:3: mcpServers."My files!": is called My-files here',)
    with pytest.raises(ConfigError, match="two servers of this file would be called a-b here"):
        read({"mcpServers": {"a b": {"command": "x"}, "a/b": {"command": "x"}}})


def test_switched_off_tools_stay_off_and_unknown_keys_are_named() -> None:
    """Our choice: what another host hides, we do not offer; its allowances we do not take over."""
    config = read({"mcpServers": {"s": {"command": "x", "excludeTools": ["rm"], "envFile": ".env", "alwaysAllow": ["ls"], "trust": True}}})
    assert {name: tool.tier for name, tool in config.servers["s"].tools.items()} == {"rm": "off"}
    assert config.warnings == ("/repo/.mcp.json:8: mcpServers.s.envFile: is not read",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{\n "mcpServers": {\n  "a": }}', "m.json:3: not valid JSON: Expecting value (column 8)"),
        ("[]", 'm.json:1: expected an object with "mcpServers" or "servers"'),
        ("{}", 'm.json: no "mcpServers" or "servers" in this file'),
        ('{"servers": []}', "m.json:1: servers: expected an object of servers, got an array"),
        ('{"servers": {\n"s": {"args": ["x"]}}}', "m.json:2: servers.s: needs either a command or a url"),
        ('{"servers": {"s": {"command": "x",\n"args": "y"}}}', "m.json:2: servers.s.args: expected an array of text, got text ('y')"),
        ('{"servers": {"s": {"command": "x",\n"sandboxEnabled": true}}}', "m.json:2: servers.s.sandboxEnabled: another host's protection"),
        ('{"servers": {"s": {"command": "x"}, "s": {"command": "y"}}}', 'm.json: the key "s" is there twice in one object'),
    ],
)
def test_each_mistake_has_one_sentence_with_file_and_line(text: str, sentence: str) -> None:
    """Our choice."""
    with pytest.raises(ConfigError) as caught:
        parse(text, Path("m.json"))
    assert str(caught.value).startswith(sentence)


def test_an_unset_variable_names_the_line_of_the_json_file() -> None:
    """Our choice: variables are read when the server starts, and the error still knows the place."""
    config = read({"mcpServers": {"s": {"url": "http://h", "headers": {"A": "${TOKEN}"}}}})
    with pytest.raises(ConfigError) as caught:
        resolve_server(config.servers["s"], {}, Redactor())
    assert str(caught.value) == (
        "/repo/.mcp.json:6: mcpServers.s.headers.A: environment variable TOKEN is not set; set it, or give a default: ${env:TOKEN:-default}"
    )
