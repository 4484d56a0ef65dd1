"""For every test of the command line: a program that runs it without the start of an interpreter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .program import warm


@pytest.fixture(scope="session", autouse=True)
def warm_program() -> Iterator[None]:
    """Started before the first test, which would else be told that it left a process behind."""
    program = warm()
    yield
    program.close()
    warm.cache_clear()
