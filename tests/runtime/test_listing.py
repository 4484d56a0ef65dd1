"""Listings over pages: one deadline over all of them, and an end in every case."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Raw
from msgspec.json import encode

from dragoman.errors import CallTimeout, InvalidResult, ResultTooLarge
from dragoman.runtime import listing
from dragoman.runtime.listing import all_pages, decode_completion, without_long_names
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Completion, Tool
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


def pages(**last: Any) -> Callable[[str, dict[str, Any], float], Awaitable[Raw]]:
    """A listing that never ends, with two tools on each page."""
    count = 0

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        nonlocal count
        count += 1
        return Raw(encode({"tools": [ECHO, ECHO | last], "nextCursor": str(count)}))

    return ask


async def test_listing_stops_at_so_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: 100,000 of them, on however many pages."""
    monkeypatch.setattr(listing, "MAX_ITEMS", 5)
    items, problems = await all_pages(pages(), "tools/list", "tools", 10, "fake")
    assert len(items) == 6
    assert "6 items" in str(problems)


async def test_listing_stops_at_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our choice: 64 MB over all pages; descriptions and cursors can be of any length."""
    monkeypatch.setattr(listing, "LISTING_BYTES", 10_000)
    items, problems = await all_pages(pages(description="d" * 3_000), "tools/list", "tools", 10, "fake")
    assert len(items) == 8
    assert "the listing stops there" in str(problems)


async def test_page_of_a_million_values_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 MB of ``1,1,1`` would become a gigabyte of objects."""
    monkeypatch.setattr(listing, "_MAX_COMMAS", 100)

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        return Raw(encode({"tools": [1] * 200}))

    with pytest.raises(InvalidResult, match="more than 100 values"):
        await all_pages(ask, "tools/list", "tools", 10, "fake")


async def test_page_that_is_too_long_says_who_has_to_change_it() -> None:
    """There is no key to raise."""

    async def ask(method: str, params: dict[str, Any], timeout_s: float) -> Raw:
        raise ResultTooLarge("long", 20_000_000, listing.PAGE_BYTES, hint="raise max_bytes")

    with pytest.raises(ResultTooLarge) as caught:
        await all_pages(ask, "tools/list", "tools", 10, "fake")
    assert caught.value.hint == "the server has to make its pages smaller"


def test_tool_whose_name_is_a_book_is_set_aside() -> None:
    """Its name would stand in every record of the audit and every question."""
    tools = [Tool(name="n" * length, input_schema={}) for length in (1, 1_000, 1_001)]
    problems: list[Flaw] = []
    assert [len(tool.name) for tool in without_long_names(tools, problems)] == [1, 1_000]
    assert "1,001 characters" in str(problems[0])
    assert len(str(problems[0])) < 300
