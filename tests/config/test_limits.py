"""A configuration from anybody ends in a complaint at once, however it was made to hold its reader up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.config.limits import MAX_BYTES, MAX_PARTS, MAX_SERVERS, MAX_VALUES
from dragoman.config.load import load_file, parse, parse_toml
from dragoman.errors import ConfigError

TOML, JSON = Path("c.toml"), Path("c.json")
SERVER = '[servers.s{n}]\ncommand = ["true"]\n'


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        (".".join(["a"] * 50_000) + " = 1\n", TOML, f"a key has more than {MAX_PARTS} parts"),
        ("\n[" + " . ".join(["'a.b'"] * 50_000) + "]\n", TOML, f"a key has more than {MAX_PARTS} parts"),
        ("x = {" + ".".join(["a"] * 33) + " = 1}\n", TOML, f"a key has more than {MAX_PARTS} parts"),
        ("x = [" + "0," * (MAX_VALUES + 1) + "]\n", TOML, f"more than {MAX_VALUES:,} values"),
        ("x = " + "[" * 33 + "]" * 33 + "\n", TOML, f"nested deeper than {MAX_PARTS} levels"),
        ('{"servers": ' + '{"a":' * 500 + "1" + "}" * 501, JSON, f"nested deeper than {MAX_PARTS} levels"),
        ("".join(SERVER.format(n=n) for n in range(MAX_SERVERS + 1)), TOML, f"has {MAX_SERVERS + 1} servers, limit {MAX_SERVERS}"),
        (
            '{"servers": {' + ",".join(f'"s{n}": {{"command": "true"}}' for n in range(MAX_SERVERS + 1)) + "}}",
            JSON,
            f"has {MAX_SERVERS + 1} servers, limit {MAX_SERVERS}",
        ),
    ],
    ids=["dotted key", "dotted header", "inline", "values", "arrays", "json objects", "servers", "json servers"],
)
def test_too_deep_or_too_many_is_a_complaint_that_names_the_limit(text: str, path: Path, words: str) -> None:
    """An attack: the parser takes the square of the parts of a key; 50,000 of them hold every command up for minutes."""
    with pytest.raises(ConfigError) as caught:
        parse(text, path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('"""\\\n' * 200_000, TOML),
        ("x = '''" + "''''\n" * 10 + "'\n" * 200_000, TOML),
        ("/*" * 400_000, JSON),
        ('"' + '\\"' * 400_000, JSON),
        ("{" + '"\\"' * 200_000, JSON),
    ],
    ids=["texts without end", "apostrophes", "comments without end", "a text without end", "quotes"],
)
@pytest.mark.timeout(20)
def test_what_is_never_closed_is_read_once(text: str, path: Path) -> None:
    """An attack on the reader itself: to look for the end from every beginning takes the square of their number."""
    with pytest.raises(ConfigError, match=r"not valid|nested deeper"):
        parse(text, path)


def test_what_people_write_is_within_the_limits() -> None:
    """Dots within texts and comments, numbers, and as many servers as are allowed."""
    dotted = ".".join(["a"] * MAX_PARTS)
    dots = "." * 100
    text = f"{dotted} = 1.5\n# {dots} [[[[\nb = ['{dots}', 1.5, \"{dots}\\\"{dots}\"]\nc = '''{dots}\n{'[' * 50}'''\n"
    assert parse_toml(text, TOML)[0]["b"] == [dots, 1.5, f'{dots}"{dots}']
    many = "".join(SERVER.format(n=n) for n in range(MAX_SERVERS))
    assert len(parse(many, TOML).servers) == MAX_SERVERS


def test_a_file_has_a_size_and_a_project_file_a_smaller_one(tmp_path: Path) -> None:
    """Other hosts keep whole chats in their own file, which a person names; nothing of that lies in a project."""
    path = tmp_path / "mcp.json"
    path.write_text('{"servers": {}}' + " " * MAX_BYTES)
    assert load_file(path).servers == {}
    with pytest.raises(ConfigError, match=r"mcp\.json: is 1\.0 MB, limit 1 MB"):
        load_file(path, project=True)
    path = tmp_path / "c.toml"
    path.write_bytes(b"#" * (3 * MAX_BYTES))
    with pytest.raises(ConfigError, match=r"c\.toml: is 3\.0 MB, limit 1 MB"):
        load_file(path)


@pytest.mark.timeout(20)
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it; an empty device is a way to say *none*."""
    path = tmp_path / "c.toml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is a named pipe, not a file"):
        load_file(path)
    assert load_file(Path(os.devnull)).servers == {}
