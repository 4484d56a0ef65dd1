"""The key-line finder against documents written by hand, and against the standard parser on made-up ones."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.config.lines import json_lines, toml_lines, without_comments
from dragoman.config.model import KeyPath, Source, dotted

# TTT stands for three single quotes.
DOCUMENT = r'''# a = 1
title = "x"  # b = 2
text = """
not_a_key = 1
[not.a.table]
four quotes: """"
'also' = ''
raw = TTT
also_no = "\"
TTT
a.b."c.d" = { e = 1, f.g = [1, { h = "}" }, "]"] }
list = [
  1, # ] one
  { deep = 2 },
]
date = 1979-05-27 07:32:00

[servers.files] # comment
command = ["npx", "# no"]
"quoted \" key" = 1

  [servers.files.tools]
  "read_*" = "L0"
  'literal' . x = 1

[[rules]]
name = "one"
[rules.sub]
k = 1
[[rules]]
name = "two"
[[rules.inner]]
z = 1
[[rules.inner]]
z = 2
'''.replace("TTT", "'''")


def test_every_kind_of_key_is_found_on_its_line() -> None:
    """Our choice; TOML 1.0 grammar."""
    assert set(toml_lines(DOCUMENT)) == all_paths(tomllib.loads(DOCUMENT))
    lines = toml_lines(DOCUMENT)
    at = {dotted(path): line for path, line in lines.items()}
    assert at["title"] == 2
    assert at["text"] == 3
    assert at["also"] == 7
    assert at["raw"] == 8
    assert at['a.b."c.d".e'] == at['a.b."c.d".f.g[1].h'] == at["a"] == 11
    assert (at["list"], at["list[0]"], at["list[1].deep"]) == (12, 13, 14)
    assert at["date"] == 16
    assert at["servers"] == at["servers.files"] == 18
    assert at["servers.files.command[1]"] == 19
    assert at['servers.files."quoted \\" key"'] == 20
    assert at['servers.files.tools."read_*"'] == 23
    assert at["servers.files.tools.literal.x"] == 24
    assert (at["rules[0].name"], at["rules[0].sub.k"], at["rules[1].name"]) == (27, 29, 31)
    assert (at["rules[1].inner[0].z"], at["rules[1].inner[1].z"]) == (33, 35)
    assert not any("not" in key for key in at)


@pytest.mark.parametrize(
    "text", ['a = """x"""""\nb = 1\n', "a = '''x'''''\nb = 1\n", 'a = """"""\nb = 1', 'a = ""\nb=1', 'a = """\\\r\n"""\r\nb = 1']
)
def test_strings_that_end_in_quotes_do_not_swallow_what_follows(text: str) -> None:
    """TOML 1.0: one or two quotes may stand right before the end of a multi-line string."""
    assert set(toml_lines(text)) == all_paths(tomllib.loads(text))
    assert toml_lines(text)[("b",)] == text.count("\n", 0, text.index("b")) + 1


def test_a_path_without_a_line_takes_its_parents() -> None:
    """Our choice: an error about a missing key points at its table."""
    source = Source(file=Path("x"), lines={("a",): 3})
    assert source.line(("a", "b", 1)) == 3
    assert source.line(("z",)) is None


KEYS = st.one_of(st.sampled_from(["a", "b", "c-1", "x_y"]), st.text("ab. \"'#=[]{}é\\\t", max_size=4))
SCALARS = st.one_of(
    st.integers(-9, 9), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text("a\"'\\\n#[]{}=,. é", max_size=8)
)
INLINE = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6)
TREES = st.recursive(
    st.dictionaries(KEYS, INLINE, max_size=3),
    lambda inner: st.dictionaries(KEYS, inner | INLINE | st.lists(inner, min_size=1, max_size=2), max_size=3),
    max_leaves=5,
)


def basic(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def inline(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{basic(key)} = {inline(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return (
            "[\n" + "".join(f"  {inline(item)}, # ]\n" for item in value) + "]"
            if all_flat(value)
            else "[" + ", ".join(map(inline, value)) + "]"
        )
    if isinstance(value, str):
        if "'''" not in value and "\n" in value and not value.endswith("'"):
            return f"'''\n{value}'''"
        return basic(value)
    return repr(value)


def all_flat(value: list[Any]) -> bool:
    return all(not isinstance(item, (dict, list)) for item in value)


def write(tree: dict[str, Any], path: tuple[str, ...] = ()) -> str:
    """TOML for a tree: tables as headers, arrays of tables as [[…]], all else inline."""
    own = [f"{basic(key)} = {inline(value)}" for key, value in tree.items() if not is_table(value) and not is_tables(value)]
    text = "\n".join(own) + "\n"
    for key, value in tree.items():
        name = ".".join(map(basic, (*path, key)))
        if is_table(value):
            text += f"[{name}] # x\n{write(value, (*path, key))}"
        elif is_tables(value):
            text += "".join(f"[[ {name} ]]\n{write(item, (*path, key))}" for item in value)
    return text


def is_table(value: object) -> bool:
    return isinstance(value, dict) and len(value) % 2 == 0


def is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def all_paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    found = {path} if path else set()
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found |= all_paths(item, (*path, key))
    return found


@given(TREES)
@settings(max_examples=settings().max_examples * 3 // 2)
def test_finder_and_standard_parser_see_the_same_keys(tree: dict[str, Any]) -> None:
    """Our choice: a finder that sees other keys than the parser would name wrong lines."""
    text = write(tree)
    assert set(toml_lines(text)) == all_paths(tomllib.loads(text))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a"\\{}[]:,/*\n', max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\{:,', max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(JSON)
@settings(max_examples=settings().max_examples * 3 // 2)
def test_json_finder_sees_the_parsers_keys_and_comments_are_only_taken_outside_of_text(value: Any) -> None:
    """Our choice."""
    text = json.dumps(value, indent=1)
    assert without_comments(text) == text
    assert set(json_lines(text)) == all_paths(value)
    commented = text.replace("\n", " // x, }\n").replace("]", "/* ] */ ]", 1) if '"' not in text else text
    assert json.loads(without_comments(commented)) == value


def test_json_lines_and_trailing_commas() -> None:
    """Editors write comments and trailing commas into such files."""
    text = '{\n // one\n "servers": {\n  "a": {"args": ["x",\n "y",],},\n /* two\n */ "b": 1,\n },\n}'
    plain = without_comments(text)
    assert json.loads(plain) == {"servers": {"a": {"args": ["x", "y"]}, "b": 1}}
    lines = json_lines(plain)
    assert lines[("servers",)] == 3
    assert lines[("servers", "a", "args", 1)] == 5
    assert lines[("servers", "b")] == 7
