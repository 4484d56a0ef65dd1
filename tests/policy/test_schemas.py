"""Compiled schemas are kept, replaced when they change, and dropped when there are too many."""

from __future__ import annotations

from dragoman.policy.schemas import Checker, Schemas, SetAside, measure


def test_a_schema_is_compiled_once_and_again_when_it_changes() -> None:
    """Our choice: at a tool's first call; a definition can change while a host runs."""
    schemas = Schemas()
    first = schemas.get("s", "t", "in", {"type": "object"})
    assert schemas.get("s", "t", "in", {"type": "object"}) is first
    changed = schemas.get("s", "t", "in", {"type": "object", "required": ["a"]})
    assert isinstance(changed, Checker)
    assert not changed.is_valid({})
    assert len(schemas) == 1


def test_the_least_recently_used_gives_way() -> None:
    """Our choice: a bound on memory."""
    schemas = Schemas(max_kept=2)
    a = schemas.get("s", "a", "in", {"type": "object"})
    schemas.get("s", "b", "in", {"type": "object"})
    schemas.get("s", "a", "in", {"type": "object"})
    schemas.get("s", "c", "in", {"type": "object"})
    assert len(schemas) == 2
    assert schemas.get("s", "a", "in", {"type": "object"}) is a


def test_a_schema_that_is_set_aside_stays_so() -> None:
    """Our choice: it is not compiled again at every call."""
    schemas = Schemas()
    aside = schemas.get("s", "t", "in", {"type": "nonsense"})
    assert isinstance(aside, SetAside)
    assert schemas.get("s", "t", "in", {"type": "nonsense"}) is aside


def test_measure_counts_nodes_and_levels() -> None:
    """Both bound the work of a check."""
    assert measure({"a": [1, {"b": 2}]}) == (5, 4)
    assert measure(5) == (1, 1)


def test_long_chains_of_references_are_followed_only_so_deep() -> None:
    """An attack: frames of the validator's stack are levels of the value times links of the chain; too many end the process."""
    defs: dict[str, object] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}]} for i in range(25)}
    checker = Checker({"$ref": "#/$defs/d0", "$defs": defs | {"d25": {"properties": {"a": {"$ref": "#/$defs/d0"}}}}})
    assert checker.can_check(20, 20)
    assert not checker.can_check(90, 90)
    assert Checker({"properties": {"a": {"$ref": "#"}}}).can_check(90, 90)


def test_of_very_many_errors_one_is_made() -> None:
    """An attack: each of a hundred thousand errors costs twenty microseconds."""
    defs: dict[str, object] = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(17)}
    checker = Checker({"$ref": "#/$defs/d0", "$defs": defs | {"d17": {"type": "string"}}})
    assert checker.can_check(1, 1)
    assert len(checker.errors(5)) == 1
    assert len(Checker({"allOf": [{"type": "string"}, {"type": "boolean"}]}).errors(5)) == 2
