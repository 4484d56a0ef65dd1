"""The canonical form and the hashes over it."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.store.chain import MAX_DETAIL_BYTES, Row, canonical_json, genesis, plain, record_hash, seal
from tests.store.entries import entry

text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | text
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=20)


@given(values)
def test_canonical_json_reads_back_as_the_same_value_and_has_one_form(value: Any) -> None:
    """Our choice: whoever reads a detail and writes it again must get the bytes that were hashed."""
    once = canonical_json(value)
    again = msgspec.json.decode(once)
    assert again == value
    assert canonical_json(again) == once
    assert json.loads(once) == value


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | text, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=20
    )
)
def test_canonical_json_is_what_other_programs_make_with_sorted_keys(value: Any) -> None:
    """An auditor needs no Dragoman: Python's own json gives the same bytes (floats aside, whose exponents are spelled differently)."""
    theirs = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert json.loads(canonical_json(value)) == json.loads(theirs)
    if b"\\u" not in theirs and b"\\" not in theirs and b"\x7f" not in theirs:
        assert canonical_json(value) == theirs


def test_record_hash_can_be_recomputed_without_our_code() -> None:
    """The format that the module's first paragraph promises, made with the standard library alone."""
    row = seal(entry(3, detail={"b": [1, None], "a": "é"}), "w1", 7, "00" * 32)
    content = {name: value for name, value in row._asdict().items() if name not in ("hash", "detail")} | {"detail": json.loads(row.detail)}
    form = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert form.startswith('{"at":1800000003.25,"attempt":1,"call":"call-3","detail":{"a":"é","b":[1,null]},"event":"asked","prev":')
    assert '"v":1,' in form
    assert row.hash == hashlib.sha256(form.encode()).hexdigest()


def test_hash_of_a_known_record_never_changes() -> None:
    """Guards files that exist already: a change of libraries or fields must not make old audits look broken."""
    row = seal(entry(1), "w1", 1, genesis("w1"))
    assert genesis("w1") == hashlib.sha256(b"dragoman audit v1 w1").hexdigest()
    assert row.hash == "e132ab035c541ad2ca015963a666154481add02500f7637dd23febebe52dc427"


def test_every_column_is_part_of_the_hash() -> None:
    row = seal(entry(1, status="ok"), "w1", 1, genesis("w1"))
    for name in set(Row._fields) - {"hash"}:
        old = getattr(row, name)
        new = '{"number":2}' if name == "detail" else old + "x" if isinstance(old, str) else old + 1
        assert record_hash(Row(**{**row._asdict(), name: new})) != row.hash, name


@pytest.mark.parametrize(
    ("changes", "column", "expected"),
    [
        ({"detail": {"s": "a\ud800b"}}, "detail", '{"repaired":true,"s":"a?b"}'),
        ({"detail": {"o": object()}}, "detail", '{"o":"<object>","repaired":true}'),
        (
            {
                "detail": {
                    1: {
                        2,
                    }
                }
            },
            "detail",
            '{"1":[2],"repaired":true}',
        ),
        ({"detail": "no object"}, "detail", '{"repaired":true,"value":"no object"}'),
        ({"tool": "to\udfffol"}, "tool", "to?ol"),
        ({"at": math.nan}, "at", 0.0),
        ({"at": "yesterday"}, "at", 0.0),
        ({"attempt": 2**70}, "attempt", None),
    ],
)
def test_entry_that_cannot_be_stored_is_repaired_and_marked(changes: dict[str, Any], column: str, expected: object) -> None:
    """Our choice: a hostile or careless value must not be able to keep a call out of the audit."""
    row = seal(entry(1, **changes), "w1", 1, genesis("w1"))
    assert getattr(row, column) == expected
    assert '"repaired":true' in row.detail
    assert record_hash(row) == row.hash


def test_endless_detail_is_repaired() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert '"repaired":true' in seal(entry(1, detail=loop), "w1", 1, genesis("w1")).detail


def test_huge_detail_is_replaced_by_its_digest() -> None:
    row = seal(entry(1, detail={"text": "x" * MAX_DETAIL_BYTES}), "w1", 1, genesis("w1"))
    cut = json.loads(row.detail)
    assert cut["cut"] is True
    assert cut["bytes"] == MAX_DETAIL_BYTES + len('{"text":""}')
    assert len(row.detail) < 300


@given(values)
def test_plain_leaves_alone_what_is_json_already(value: Any) -> None:
    if all(-(2**63) <= number < 2**63 for number in _integers(value)):
        assert plain(value) == value


def _integers(value: Any) -> list[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in _integers(item)]
    return [value] if isinstance(value, int) else []
