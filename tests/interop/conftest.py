"""Everything in this folder is an interop test and says so by its marker; without the installs it fails, it does not skip."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import Host

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark by folder, so that no test here can forget it and reach `make quick`."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    """A host with store and audit and without servers; nobody approves."""
    config = tmp_path / "dragoman.toml"
    config.write_text("[servers]\n")
    async with Host.from_config(config, cwd=tmp_path) as opened:
        yield opened
