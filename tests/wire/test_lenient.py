"""Numbers that nobody can hold cost themselves, and not the page, prompt or completion that they stand in."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.clock import FakeClock
from dragoman.runtime.caching import ResultCache, Shelf
from dragoman.runtime.listing import decode_completion
from dragoman.wire.lenient import decode_leniently
from dragoman.wire.listing import decode_page
from dragoman.wire.results import decode_prompt_result

NUMBERS = [b"1e999", b"-1e999", b"1" + b"0" * 5000]


@pytest.mark.parametrize("number", NUMBERS)
def test_number_out_of_range_is_nothing_and_its_neighbours_stay(number: bytes) -> None:
    value, why = decode_leniently(b'{"a":[1,%s,"x"],"b":{"c":%s,"d":2.5}}' % (number, number))
    assert value == {"a": [1, None, "x"], "b": {"c": None, "d": 2.5}}
    assert why


@pytest.mark.parametrize("text", [b"", b"{", b"nope", b"[" * 100_000, b'"\xff"'])
def test_what_is_no_json_is_nothing_as_a_whole(text: bytes) -> None:
    value, why = decode_leniently(text)
    assert value is None
    assert why


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_what_can_be_held_is_read_as_ever(value: object) -> None:
    assert decode_leniently(json.dumps(value).encode()) == (value, None)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("member", ["tools", "resources", "resourceTemplates", "prompts"])
@pytest.mark.parametrize("where", ["nextCursor", "ttlMs", "cacheScope"])
def test_page_keeps_its_items_where_what_stands_beside_them_cannot_be_read(member: str, where: str, number: bytes) -> None:
    item = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate", "prompts": "name"}[member]
    page = decode_page(b'{"%s":[{"%s":"x","inputSchema":{}}],"%s":%s}' % (member.encode(), item.encode(), where.encode(), number), member)
    assert len(page.items) == 1
    assert (page.next_cursor, page.ttl_ms, page.cache_scope) == (None, None, None)
    assert [flaw.path for flaw in page.problems] == [f"/{where}"]


@pytest.mark.parametrize("number", NUMBERS)
def test_prompt_keeps_its_messages_where_its_description_cannot_be_read(number: bytes) -> None:
    body = b'{"description":%s,"messages":[{"role":"user","content":{"type":"text","text":"hi"}}]}' % number
    prompt = decode_prompt_result(body)
    assert (prompt.text, prompt.description) == ("user: hi", None)
    assert [flaw.path for flaw in prompt.problems] == ["/description"]


def test_completion_is_what_of_it_can_be_used() -> None:
    """MCP server/utilities/completion: partial results are tolerated."""
    found = decode_completion(Raw(b'{"completion":{"values":["a",7,"b"],"total":1e999,"hasMore":"perhaps"}}'))
    assert (found.values, found.total, found.has_more) == (("a", "b"), None, False)
    with pytest.raises(msgspec.DecodeError, match="completion"):
        decode_completion(Raw(b'{"completion":5}'))


def test_time_to_keep_that_no_float_holds_is_cut_to_the_longest() -> None:
    """An integer of 400 digits is read, and dividing it would overflow."""
    cache = ResultCache(clock=FakeClock())
    shelf = Shelf(cache, ("server", "r"), "owner")
    ticket = shelf.ticket("tools/list", {})
    shelf.put(ticket, "value", 10**400, "public")
    assert shelf.get(ticket) == "value"
