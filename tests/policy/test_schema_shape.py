"""Schemas that can take for ever are told from honest ones by counting."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.policy.schema_shape import TooComplex, shape_of


def test_an_ordinary_schema_is_narrow() -> None:
    """What nearly every tool has."""
    shape = shape_of({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}}})
    assert (shape.width, shape.fan, shape.reach) == (3, 1, 1)


def test_recursion_has_no_bound_of_its_own() -> None:
    """A tree."""
    shape = shape_of({"properties": {"children": {"items": {"$ref": "#"}}}})
    assert shape.reach is None
    assert shape.fan == 1
    assert shape.work(1000, 50) == 1000 * shape.width


@pytest.mark.parametrize(
    "twice",
    [
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}},
        {"$defs": {"n": {"anyOf": [{"items": {"$ref": "#/$defs/n"}}, {"items": {"$ref": "#/$defs/n"}}]}}, "$ref": "#/$defs/n"},
        {"$id": "http://x/y", "$dynamicAnchor": "n", "items": {"oneOf": [{"$dynamicRef": "#n"}, {"$ref": "http://x/y"}]}},
    ],
)
def test_recursion_that_branches_is_seen(twice: dict[str, Any]) -> None:
    """An attack: 2 to the power of the depth, through each kind of reference."""
    shape = shape_of(twice)
    assert shape.reach is None
    assert shape.fan >= 2
    assert shape.work(100, 60) > 1e15


def test_a_circle_without_descent_is_no_trouble() -> None:
    """The validator notices such circles itself."""
    assert shape_of({"allOf": [{"$ref": "#"}]}).width <= 3


def test_references_to_nowhere_are_no_trouble() -> None:
    """The compiler reports them."""
    shape_of({"$ref": "#/$defs/x/0/y", "allOf": [{"$ref": "#/allOf/7"}, {"$ref": "http://elsewhere/z#/a"}], "not": True})


def test_limits_are_named() -> None:
    """Our choice: a note says why a schema is set aside."""
    with pytest.raises(TooComplex, match="patterns"):
        shape_of({"properties": {str(i): {"pattern": "a"} for i in range(501)}})
    with pytest.raises(TooComplex, match="subschemas"):
        shape_of({"properties": {str(i): {} for i in range(20_001)}})
    with pytest.raises(TooComplex, match="parts"):
        shape_of({"enum": list(range(200_001))})
    schema: dict[str, Any] = {}
    for _ in range(100):
        schema = {"not": schema}
    with pytest.raises(TooComplex, match="chains"):
        shape_of(schema)
