"""Listings: those that come in pages, within one deadline and with an end in every case, and completion values."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import Raw

from dragoman.errors import CallTimeout, InvalidResult, ResultTooLarge
from dragoman.protocol.events import short
from dragoman.wire.flaw import Flaw
from dragoman.wire.lenient import decode_leniently
from dragoman.wire.listing import Completion, Page, Tool, decode_page

MAX_PAGES: Final = 1_000
MAX_ITEMS: Final = 100_000
PAGE_BYTES: Final = 16 << 20
LISTING_BYTES: Final = 64 << 20  # of all pages
_MAX_COMMAS: Final = 1_000_000  # of one page: so many values at most, each of which takes far more memory than it has bytes
_MAX_NAME: Final = 1_000

Ask = Callable[[str, dict[str, Any], float], Awaitable[Raw]]


async def all_pages(
    ask: Ask,
    method: str,
    member: str,
    timeout_s: float,
    label: str,
    *,
    empty_cursor: bool = False,
    on_page: Callable[[Page], Any] | None = None,
) -> tuple[list[Any], list[Flaw]]:
    """Every item of a listing, and what was set aside.

    Args:
        ask: Sends one request: method, params, deadline in seconds.
        member: Which member of the result holds the items.
        timeout_s: Over all pages.
        empty_cursor: An empty cursor leads to another page, as in the stateless era; in the other one it is how some servers say the end.

        on_page: Sees each page.

    Raises:
        CallFailed: As ``ask``; also when a page cannot be read.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + timeout_s
    items: list[Any] = []
    problems: list[Flaw] = []
    seen: set[str] = set()
    cursor: str | None = None
    size = 0
    for _ in range(MAX_PAGES):
        left_s = ends - loop.time() if cursor is not None else timeout_s
        if left_s <= 0 < timeout_s:
            raise CallTimeout(
                f"{label} did not list everything within {timeout_s:g} s ({len(items)} items so far)", timeout_s, server=label
            )
        try:
            raw = await ask(method, {} if cursor is None else {"cursor": cursor}, left_s)
        except ResultTooLarge as exc:
            exc.hint = exc.hint if exc.max_bytes is None else "the server has to make its pages smaller"
            raise
        size += len(memoryview(raw))
        try:
            if bytes(raw).count(b",") > _MAX_COMMAS:
                raise msgspec.DecodeError(f"more than {_MAX_COMMAS:,} values")
            page = decode_page(raw, member)
        except (msgspec.DecodeError, RecursionError) as exc:
            raise InvalidResult(f"the result of {method} from {label} cannot be read: {exc}", result=raw, server=label) from exc
        if on_page is not None:
            on_page(page)
        items += page.items
        problems += page.problems
        cursor = page.next_cursor
        if cursor is None or not (cursor or empty_cursor):
            break
        if len(items) > MAX_ITEMS or size > LISTING_BYTES:
            problems.append(Flaw("", f"{len(items):,} items in {size:,} bytes, and more to come; the listing stops there"))
            break
        if cursor in seen:
            problems.append(Flaw("/nextCursor", f"the cursor {short(cursor)} came twice; the listing stops there"))
            break
        seen.add(cursor)
    else:
        problems.append(Flaw("/nextCursor", f"more than {MAX_PAGES} pages; the listing stops there"))
    return items, problems


def without_long_names(tools: list[Tool], problems: list[Flaw]) -> list[Tool]:
    """The tools whose names are names: each stands in every record and every question about its calls."""
    for tool in tools:
        if len(tool.name) > _MAX_NAME:
            problems.append(Flaw("/tools", f"the tool {short(tool.name)} has a name of {len(tool.name):,} characters, limit {_MAX_NAME:,}"))
    return [tool for tool in tools if len(tool.name) <= _MAX_NAME]


class _CompletionShape(msgspec.Struct):
    values: list[str] = []
    total: int | None = None
    hasMore: bool | None = None


class _CompletionResult(msgspec.Struct):
    completion: _CompletionShape


_decode_completion: Final = msgspec.json.Decoder(_CompletionResult).decode


def decode_completion(raw: Raw) -> Completion:
    """The result of ``completion/complete``, or what of it can be used: it is shown while somebody types.

    Raises:
        msgspec.DecodeError: It holds no completion.
    """
    try:
        shape = _decode_completion(raw).completion
    except msgspec.ValidationError:
        members, _ = decode_leniently(raw)
        return _what_is_there(members.get("completion") if isinstance(members, dict) else None)
    return Completion(tuple(shape.values), shape.total, bool(shape.hasMore))


def _what_is_there(said: Any) -> Completion:
    if not isinstance(said, dict):
        raise msgspec.ValidationError("Object missing required field `completion`")
    values, total = said.get("values"), said.get("total")
    return Completion(
        tuple(value for value in values if isinstance(value, str)) if isinstance(values, list) else (),
        total if type(total) is int else None,
        said.get("hasMore") is True,
    )
