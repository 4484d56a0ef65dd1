"""The mutations of `make mutants` still fit the code and the manifest; whether they are noticed is for that to say."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from scripts.break_it import named_tests
from tests.mutations import MUTATIONS, Mutation
from tests.requirements import requirements

CODE = Path(__file__).parents[1] / "src" / "dragoman"
LEVELS = {one.id: one.level for one in requirements()}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.requirement} {mutation.breaks}")
def test_mutation_fits_the_code_and_names_a_requirement_with_tests(mutation: Mutation) -> None:
    """A text that stands there once, another one that is code too, and tests that need no programs of others."""
    whole = (CODE / mutation.file).read_text(encoding="utf-8")
    assert whole.count(mutation.old) == 1
    ast.parse(whole.replace(mutation.old, mutation.new))
    assert named_tests(mutation.requirement)


def test_sample_is_of_thirty_requirements_and_more_that_must_or_should_be_met() -> None:
    """Each of another behaviour."""
    assert len({one.requirement for one in MUTATIONS if LEVELS[one.requirement].startswith(("MUST", "SHOULD"))}) >= 30
    assert len({(one.file, one.old, one.new) for one in MUTATIONS}) == len(MUTATIONS)
