"""What is suggested as the next command works once its placeholders are replaced."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from dragoman.cli.proposal import placeholders
from dragoman.service.arguments import parse


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        ({"type": "string"}, "A B"),
        ({"type": "integer", "minimum": 5}, 5),
        ({"type": "number"}, 1),
        ({"type": "boolean"}, True),
        ({"type": "array"}, []),
        ({"type": "object"}, {}),
        ({"enum": ["two words", "b"]}, "two words"),
        ({"enum": [3, None]}, 3),
        ({"type": "string", "enum": ["@file"]}, "@file"),
        ("no shape at all", "A B"),
    ],
)
def test_every_required_argument_has_a_value_of_its_type(shape: Any, value: Any) -> None:
    """Our contract: the words are what a shell hands to ``dragoman call``."""
    schema = {"properties": {"a b": shape, "c": {}}, "required": ["a b"]}
    words = shlex.split(" ".join(placeholders(schema)))
    found = parse(words, schema, str, str)
    assert json.dumps(found) == json.dumps({"a b": value})


def test_a_schema_that_is_none_suggests_nothing() -> None:
    """Whatever a server lists."""
    for schema in (None, {}, {"required": "a"}, {"required": [1]}):
        assert placeholders(schema) == []
