"""The benchmark of the audit runs, and its figures are of what it says."""

from __future__ import annotations

import pytest

from bench import audit


def test_a_small_audit_is_written_searched_verified_and_pruned(capsys: pytest.CaptureFixture[str]) -> None:
    """Every query answers and the chains are whole; how quick it is says nothing here."""
    assert audit.main(["--records", "3000", "--runs", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3,000 records, ")
    for name in audit.QUERIES:
        assert f"| search: {name} |" in out
    assert "records/s, whole |" in out
    assert "goals (search ≤ 200 ms, verify ≥ 50,000 records/s): " in out
