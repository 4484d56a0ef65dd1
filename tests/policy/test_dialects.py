"""Which dialects of JSON Schema are checked: the youngest where a schema says nothing, and those that the page names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import InvalidArguments
from dragoman.policy.flights import Flights
from dragoman.policy.validate import Validate
from dragoman.testing.layers import spawn_layer
from tests.policy.kit import call_of, tool

PAGE = Path(__file__).resolve().parents[2] / "docs" / "library.md"
# For each dialect, what only it and its neighbours understand: the first member of a list must be an integer.
LISTS = {
    "2020-12": ("https://json-schema.org/draft/2020-12/schema", "prefixItems"),
    "2019-09": ("https://json-schema.org/draft/2019-09/schema", "items"),
    "draft-07": ("http://json-schema.org/draft-07/schema#", "items"),
    "draft-06": ("http://json-schema.org/draft-06/schema#", "items"),
    "draft-04": ("http://json-schema.org/draft-04/schema#", "items"),
}


async def problems(schema: dict[str, Any]) -> list[str]:
    layer = spawn_layer(Validate(Flights(), redact=lambda text: text))
    error = await layer.refused(call_of(tool(schema=schema), {"a": ["x"]}, from_model=False))
    assert isinstance(error, InvalidArguments)
    return [problem.path for problem in error.problems]


def of(keyword: str, dialect: str | None) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "array", keyword: [{"type": "integer"}]}}}
    return schema if dialect is None else {"$schema": dialect, **schema}


@pytest.mark.requirement("R-SCHEMA-01")
async def test_schema_without_a_dialect_is_of_2020_12() -> None:
    """R-SCHEMA-01: MCP 2025-11-25 basic/index#json-schema-usage; ``prefixItems`` is new in that dialect."""
    assert await problems(of("prefixItems", None)) == ["/a/0"]


@pytest.mark.requirement("R-SCHEMA-01", "R-SCHEMA-03")
async def test_dialects_that_the_page_names_are_checked() -> None:
    """R-SCHEMA-01, R-SCHEMA-03: MCP 2025-11-25 basic/index#json-schema-usage."""
    line = next(line for line in PAGE.read_text("utf-8").splitlines() if "dialects of JSON Schema" in line)
    named = re.findall(r"\d{4}-\d{2}|draft-\d{2}", line)
    assert set(named) == set(LISTS)
    for name in named:
        dialect, keyword = LISTS[name]
        assert await problems(of(keyword, dialect)) == ["/a/0"], name
