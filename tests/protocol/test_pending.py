"""The table of open requests: each leaves it once, and ids of another type are recognised only where one reading is left."""

from __future__ import annotations

import pytest

from dragoman.protocol.pending import PendingTable


def table(count: int = 7) -> PendingTable:
    pending = PendingTable()
    for _ in range(count):
        pending.open("tools/call")
    return pending


def test_ids_count_from_one_and_are_never_used_again() -> None:
    """MCP basic/index#requests: unique within a session."""
    pending = PendingTable()
    assert [pending.open("a"), pending.open("b")] == [1, 2]
    assert pending.settle(2) is not None
    assert pending.open("c") == 3


def test_request_settles_once() -> None:
    pending = table()
    entry = pending.settle(7)
    assert entry is not None
    assert entry.method == "tools/call"
    assert pending.settle(7) is None
    assert 7 not in pending
    assert len(pending) == 6


@pytest.mark.parametrize(
    ("stated", "meant"), [("7", 7), ("07", 7), ("8", None), ("seven", None), ("٧", None), ("7" * 20, None), ("", None)]
)
def test_string_is_an_alias_only_of_an_open_number(stated: str, meant: int | None) -> None:
    """Our choice: some servers turn numbers into strings; other scripts' digits and huge numbers are nobody's."""
    assert table().alias(stated) == meant


@pytest.mark.parametrize(
    ("request_id", "ours"), [(1, True), (7, True), ("7", True), (8, False), (0, False), (-1, False), ("8", False), ("x", False)]
)
def test_id_was_ours_also_when_written_as_a_string(request_id: int | str, ours: bool) -> None:
    """A late answer is no foreign one."""
    pending = table()
    pending.drain()
    assert pending.minted(request_id) is ours


def test_drain_takes_out_everything_oldest_first() -> None:
    pending = table(3)
    assert [request_id for request_id, _ in pending.drain()] == [1, 2, 3]
    assert len(pending) == 0
