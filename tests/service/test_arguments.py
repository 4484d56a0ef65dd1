"""Words as typed become arguments as the schema wants them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ConfigError
from dragoman.service.arguments import parse, property_types

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object"},
        "anything": {},
        "nothing": {"type": "null"},
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
        "id": {"type": ["integer", "string"]},
        "optional_text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "open": {"anyOf": [{"type": "integer"}, {}]},
        "level": {"enum": [1, 2, 3]},
        "word": {"enum": ["1", "2"]},
        "fixed": {"const": True},
        "ref": {"$ref": "#/$defs/size"},
        "loop": {"$ref": "#/$defs/loop"},
        "far": {"$ref": "http://127.0.0.1:9/schema.json"},
        "both": {"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]},
        "whole": {"allOf": [{"type": "number"}, {"type": "integer"}]},
    },
    "$defs": {"size": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
}


def no_file(path: str) -> str:
    raise AssertionError(f"{path} was read")


def no_stdin() -> str:
    raise AssertionError("stdin was read")


def parsed(*words: str, schema: Any = SCHEMA, base: str | None = None) -> dict[str, Any]:
    return parse(words, schema, no_file, no_stdin, base)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("text=5", "5"),
        ("text=", ""),
        ("text=a=b:=c", "a=b:=c"),
        ("text=null", "null"),
        ("text=[1]", "[1]"),
        ("count=5", 5),
        ("count=-5", -5),
        ("count=007", 7),
        ("count=99999999999999999999", 99999999999999999999),
        ("count=5.5", "5.5"),
        ("count=five", "five"),
        ("count=", ""),
        ("ratio=5", 5),
        ("ratio=.5", 0.5),
        ("ratio=1e3", 1000.0),
        ("ratio=1e999", "1e999"),
        ("ratio=nan", "nan"),
        ("flag=true", True),
        ("flag=No", False),
        ("flag=maybe", "maybe"),
        ('list=["a", "b"]', ["a", "b"]),
        ("list=a", "a"),
        ('map={"a": 1}', {"a": 1}),
        ("anything=5", "5"),
        ("unknown=5", "5"),
        ("nothing=null", None),
        ("maybe=null", None),
        ("maybe=4", 4),
        ("either=4", 4),
        ("either=true", True),
        ("id=4", "4"),
        ("optional_text=null", "null"),
        ("open=4", "4"),
        ("level=2", 2),
        ("word=2", "2"),
        ("fixed=true", True),
        ("ref=4", 4),
        ("loop=4", "4"),
        ("far=4", "4"),
        ("both=4", 4),
        ("whole=4", 4),
        ("text:=5", 5),
        ("count:=null", None),
        ("text:=[1, {}]", [1, {}]),
        ("text=@@home", "@home"),
    ],
)
def test_the_schema_decides_what_a_word_means(word: str, value: object) -> None:
    """Our contract: text where it may be text; what cannot be read as its type stays text, for the check to complain about."""
    (found,) = parsed(word).values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "schema", [None, True, False, {}, [], {"properties": 5}, {"properties": {"count": 5}}, {"properties": {"count": True}}]
)
def test_without_a_usable_schema_all_values_are_text(schema: Any) -> None:
    """A server's schema can be anything."""
    assert parsed("count=5", schema=schema) == {"count": "5"}


def test_arguments_that_the_schema_leaves_open_follow_its_additional_properties() -> None:
    """Our choice."""
    assert parsed("x=5", schema={"additionalProperties": {"type": "integer"}}) == {"x": 5}


def test_properties_are_found_behind_references_and_combinations() -> None:
    """Real schemas have them there."""
    schema = {"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"properties": {"x": {"type": "integer"}}}]}}}
    assert property_types(schema, "x") == {"integer"}


def test_files_and_stdin_are_read_and_typed_too() -> None:
    """Our contract."""
    files = {"n.txt": "5\n", "t.txt": "a\n"}
    assert parse(["count=@n.txt", "text=@t.txt"], SCHEMA, files.__getitem__, no_stdin) == {"count": 5, "text": "a\n"}
    assert parse(["text=@-"], SCHEMA, no_file, lambda: "in") == {"text": "in"}
    assert parse(["text:=@j"], SCHEMA, lambda path: '{"a": 1}', no_stdin) == {"text": {"a": 1}}
    assert parse(["count=1"], SCHEMA, no_file, lambda: '{"count": 2, "text": "a"}', "-") == {"count": 1, "text": "a"}
    assert parse([], SCHEMA, lambda path: '{"a": 1}', no_stdin, "@f") == {"a": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["text"], "'text' is no argument"),
        (["=5"], "'=5' is no argument"),
        ([":=5"], "':=5' is no argument"),
        (["text:=nope"], "the value of text is not valid JSON"),
        (["text:=NaN"], "JSON has no NaN"),
        (["list=[1"], "the value of list is not valid JSON"),
        (["text=a", "text:=5"], "the argument text is given twice"),
        (["text:=" + "[" * 100_000], "the value of text is not valid JSON"),
    ],
)
def test_words_that_cannot_be_parsed_are_named(words: list[str], message: str) -> None:
    """Our contract: exit 2."""
    with pytest.raises(ConfigError, match=message) as caught:
        parsed(*words)
    assert caught.value.hint


@pytest.mark.parametrize("base", ["5", "[]", "{", '"{}"'])
def test_the_base_must_be_an_object(base: str) -> None:
    """Our contract."""
    with pytest.raises(ConfigError, match="--args"):
        parsed(base=base)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_value_can_be_written(value: Any) -> None:
    """Our contract: ``k:=JSON``."""
    assert parsed("k:=" + json.dumps(value)) == {"k": value}


@given(st.text().filter(lambda text: not text.startswith("@")))
def test_any_text_reaches_a_text_argument_unchanged(text: str) -> None:
    """Our contract: no schema says string and gets something else."""
    assert parsed(f"text={text}") == {"text": text}


@given(st.text(max_size=20), json_values)
def test_no_schema_makes_it_stumble(word: str, schema: Any) -> None:
    """A stranger wrote the schema: only ``ConfigError`` comes out."""
    try:
        parsed(f"k={word.lstrip('@')}", schema={"properties": {"k": schema}, "allOf": schema, "$ref": schema})
    except ConfigError:
        pass
