"""What a connection with a pinned revision leaves behind."""

from __future__ import annotations

import sys
from pathlib import Path

from dragoman.runtime.client import Client
from dragoman.runtime.eras import RememberedEras

DUAL = [sys.executable, str(Path(__file__).parent.parent / "servers" / "dual.py")]


async def test_pinned_revision_does_not_teach_which_era_a_server_prefers() -> None:
    """Found by a dual-era server that was taken for legacy for seven days after one connection pinned to 2025-11-25."""
    eras = RememberedEras()
    async with Client(DUAL, revision="2025-11-25", eras=eras) as client:
        assert client.server.era == "legacy"
    async with Client(DUAL, eras=eras) as client:
        assert client.server.era == "modern"
