"""What a search finds, in files with an index of texts, half of one, and none."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from dragoman.store import texts
from dragoman.store.records import AuditEntry
from dragoman.store.schema import open_database, open_read_only
from dragoman.store.search import Query, everything, search
from tests.store.entries import AT, edited, entry, written

Detail = dict[str, Any]


def call(number: int, detail: Detail, status: str = "ok", *, tool: str = "read_file", tier: str = "L0") -> list[AuditEntry]:
    """The records of one call as the chain writes them: what was asked for stands in the first, what became of it in the last."""
    known: Detail = {"call": f"call-{number}", "tool": tool, "tier": tier}
    return [
        entry(number, call=f"call-{number}", server=None, tool=f"files.{tool}", tier=None, detail=detail),
        entry(number, event="sending", **known),
        entry(number, event="ended", status=status, **known, detail={"duration_ms": 1.5}),
    ]


def audit(path: Path) -> None:
    written(
        path,
        *call(1, {"arguments": '{"path":"/tmp/Invoice 17.txt"}'}),
        *call(2, {"arguments": '{"say":"a \\"quoted\\" word"}'}, "denied", tool="send", tier="L2"),
        *call(3, {"arguments": '{"text":"发票 100%"}', "message": "plain \x1b[31m"}),
        *call(4, {"arguments": '{"path":"/tmp/invoice 4.txt"}'}, "refused"),
        entry(5, event="tier changed", call="", server="shop", detail={"how": "a terminal, invoice"}),
        *(entry(number, call=f"more-{number}", principal="bob", turn=None, detail={}) for number in range(10, 40)),
    )


def indexed(path: Path, steps: int) -> None:
    con = open_database(path)
    for _ in range(steps):
        texts.index_some(con, 7)
    con.close()


QUERIES: list[tuple[Query, list[str]]] = [
    (Query(text="invoice"), ["", "call-4", "call-1"]),
    (Query(text="INVOICE 17"), ["call-1"]),
    (Query(text='a "quoted" w'), ["call-2"]),
    (Query(text="发票"), ["call-3"]),
    (Query(text="票"), ["call-3"]),
    (Query(text="100%"), ["call-3"]),
    (Query(text="in_oice"), []),
    (Query(text="\x1b[31"), ["call-3"]),
    (Query(text="zq"), []),
    (Query(text="nothing like it"), []),
    (Query(text="invoice", status="ok"), ["call-1"]),
    (Query(text="invoice", tier="L0", server="files", since=AT + 2), ["call-4"]),
    (Query(text="invoice", server="shop"), [""]),
    (Query(text="invoice", principal="bob"), []),
    (Query(text="invoice", until=AT + 2), ["call-1"]),
    (Query(tool="send", status="denied"), ["call-2"]),
    (Query(tool="send", event="asked"), ["call-2"]),
    (Query(server="files", tool="send", event="asked"), ["call-2"]),
    (Query(server="files", event="asked", since=AT + 2, until=AT + 5), ["call-4", "call-3", "call-2"]),
    (Query(call="call-"), ["call-4"] * 3 + ["call-3"] * 3 + ["call-2"] * 3 + ["call-1"] * 3),
    (Query(call="more-1", text="invoice"), []),
    (Query(turn="turn-2"), []),
    (Query(status="unknown"), []),
]


@pytest.mark.parametrize("steps", [0, 1, 2, 40], ids=["no index of texts", "its beginning", "half of it", "all of it"])
def test_search_finds_the_same_whatever_the_index_reaches(steps: int, tmp_path: Path) -> None:
    """Our choice: the index only makes it quick. An export with the same question has the same records, the other way round."""
    path = tmp_path / "store.sqlite3"
    audit(path)
    indexed(path, steps)
    con = open_read_only(path)
    for query, calls in QUERIES:
        found = search(con, query, 50)
        assert [record.call for record in found] == calls, query
        assert list(everything(con, query)) == found[::-1], query
    assert [record.call for record in search(con, Query(text="invoice"), 2)] == ["", "call-4"]
    assert len(search(con, Query(), 5)) == 5
    con.close()


def test_search_finds_the_calls_that_a_crash_left_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    written(
        path,
        entry(1, event="sending", call="lost"),
        entry(2, event="sending", call="x"),
        entry(3, event="ended", call="x", status="unknown"),
    )
    con = open_read_only(path)
    assert [record.call for record in search(con, Query(status="unknown"), 5)] == ["x", "lost"]
    con.close()


def test_words_of_two_characters_are_found_in_the_index_and_not_by_reading_all(tmp_path: Path) -> None:
    """Chinese words often have two; runs of three that begin with them are asked for."""
    path = tmp_path / "store.sqlite3"
    audit(path)
    indexed(path, 40)
    con = open_read_only(path)
    found = texts.match(con, "发票")
    assert found is not None
    assert found[1] == '("发票 ")'
    con.close()


def test_a_record_edited_behind_the_index_is_not_found_by_what_it_said(tmp_path: Path) -> None:
    """The index only names candidates; the record is looked at."""
    path = tmp_path / "store.sqlite3"
    audit(path)
    indexed(path, 40)
    with edited(path) as con:
        con.execute("UPDATE audit SET detail = '{}' WHERE call = 'call-1'")
        assert [record.call for record in search(con, Query(text="invoice 17"), 5)] == []


def test_filters_read_the_index_of_columns_and_not_the_records(tmp_path: Path) -> None:
    """A million records have 450 MB, their columns 80."""
    path = tmp_path / "store.sqlite3"
    audit(path)
    plans: list[str] = []
    con = sqlite3.connect(path)
    con.set_trace_callback(plans.append)
    search(con, Query(principal="nobody", tool="send"), 5)
    con.set_trace_callback(None)
    (asked,) = [sql for sql in plans if "audit_facets" in sql]
    plan = con.execute(f"EXPLAIN QUERY PLAN {asked}").fetchall()
    assert "USING COVERING INDEX audit_facets" in plan[0][3]
    con.close()
