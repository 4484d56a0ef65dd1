"""The soak for a minute, and that it would see what it looks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.soak.run import Soak

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("SOAK_S", "60"))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_call_ends_once_and_nothing_leaks_beside_fifty_bad_servers() -> None:
    """Our choice: 30 of 50 servers hang, die, babble or are killed; 64 callers. ``make soak`` does it for ten minutes."""
    argv = [sys.executable, "-m", "tests.soak.run", "--seconds", str(SECONDS)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert report["broken"] == []
    assert done.returncode == 0
    assert report["calls"] > 1000
    assert report["kills"] > 0
    assert {"ok", "CallTimeout", "ConnectionLost"} <= report["endings"].keys()


@pytest.mark.parametrize(
    ("ran", "claimed", "word"),
    [
        (["s00-1", "s00-1"], {"s00-1": "yes"}, "executed 2 times"),
        ([], {"s00-1": "yes"}, "never executed"),
        (["s00-1"], {"s00-1": "no"}, "said not to have left"),
    ],
)
def test_broken_promise_is_seen(tmp_path: Path, ran: list[str], claimed: dict[str, str], word: str) -> None:
    """The soak itself."""
    soak = Soak(tmp_path, servers=2, healthy=1, seed=1)
    (tmp_path / "s00.done").write_text("\n".join(ran))
    for call_id, ran_as in claimed.items():
        soak.claim(call_id, ran_as)
    soak.check_executions()
    assert len(soak.broken) == 1
    assert word in soak.broken[0]


def test_kept_promises_are_no_complaint(tmp_path: Path) -> None:
    """A call whose answer was lost may have run, or not."""
    soak = Soak(tmp_path, servers=2, healthy=1, seed=1)
    (tmp_path / "s00.done").write_text("s00-1\ns00-2\n")
    for call_id, ran_as in {"s00-1": "yes", "s00-2": "perhaps", "s00-3": "perhaps", "s00-4": "no"}.items():
        soak.claim(call_id, ran_as)
    soak.check_executions()
    assert soak.broken == []
