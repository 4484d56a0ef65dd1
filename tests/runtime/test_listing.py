"""Listings over pages: one deadline over all of them, and an end in every case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

from dragoman.errors import CallTimeout, InvalidResult
from dragoman.runtime import listing
from dragoman.runtime.listing import all_pages, decode_completion
from dragoman.wire.listing import Completion
from tests.runtime.fakes import ECHO, LoopClock


async def test_pages_are_followed_to_the_last_one() -> None:
    """MCP server/utilities/pagination: the cursor is opaque and goes back as it came."""
    asked: list[dict[str, Any]] = []

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        asked.append(params)
        return Raw(encode({"tools": [ECHO | {"name": f"t{len(asked)}"}]} | ({"nextCursor": f" c {len(asked)}="} if len(asked) < 3 else {})))

    items, problems = await all_pages(ask, "tools/list", "tools", 10, "fake")
    assert [tool.name for tool in items] == ["t1", "t2", "t3"]
    assert asked == [{}, {"cursor": " c 1="}, {"cursor": " c 2="}]
    assert problems == []


@pytest.mark.parametrize("fresh", [False, True])
async def test_listing_without_an_end_is_ended_and_says_so(fresh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_PAGES", 5)
    count = 0

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        nonlocal count
        count += 1
        return Raw(encode({"tools": [ECHO], "nextCursor": f"c{count}" if fresh else "again"}))

    items, problems = await all_pages(ask, "tools/list", "tools", 10, "fake")
    assert len(items) == count == (5 if fresh else 2)
    (problem,) = problems
    assert "the listing stops there" in str(problem)


async def test_deadline_is_over_all_pages(clock: LoopClock) -> None:
    given: list[float] = []

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        given.append(timeout_s)
        await clock.advance(4)
        return Raw(encode({"tools": [ECHO], "nextCursor": str(len(given))}))

    with pytest.raises(CallTimeout, match="did not list everything within 10 s"):
        await all_pages(ask, "tools/list", "tools", 10, "fake")
    assert given[0] == 10
    assert len(given) == 3
    assert given[0] > given[1] > given[2] > 0


async def test_page_that_is_no_object_is_an_invalid_result() -> None:
    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        return Raw(b"[]")

    with pytest.raises(InvalidResult, match="the result of tools/list from fake cannot be read"):
        await all_pages(ask, "tools/list", "tools", 10, "fake")


def test_completion_values_are_read_with_and_without_the_optional_members() -> None:
    """MCP server/utilities/completion."""
    assert decode_completion(Raw(b'{"completion":{"values":["a"],"total":2,"hasMore":true}}')) == Completion(("a",), 2, True)
    assert decode_completion(Raw(b'{"completion":{"values":[]}}')) == Completion()
