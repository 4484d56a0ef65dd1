"""Every client revision against every server revision on every channel: what is right, and that docs/matrix.md says what happens."""

from __future__ import annotations

import pytest

from dragoman.wire.revisions import ALL, LEGACY, MODERN, newest_mutual
from tests import matrix
from tests.matrix import CHANNELS, CLIENTS, Cell

OLDEST = LEGACY[-1]


def expected(channel: str, speaks: tuple[str, ...], pinned: str | None) -> Cell:
    """The right end, from the specification's rules for negotiation and from which revision has which transport."""
    if channel == "HTTP+SSE" and pinned not in (None, OLDEST, *MODERN):
        return "no channel", (), ()  # an endpoint of 2024-11-05 answers no POST
    if channel == "Streamable HTTP" and pinned == OLDEST:
        return "no channel", (), ()  # and what that revision calls for is a GET
    ours = ALL if pinned is None else (pinned,)
    agreed = newest_mutual(ours, speaks)
    if agreed is not None and not (channel == "HTTP+SSE" and agreed in MODERN):
        return "connected", (agreed,), ()
    if pinned in MODERN:
        return ("not spoken" if channel == "HTTP+SSE" else "mismatch"), (pinned,), ()  # what it does speak, it does not say
    return "mismatch", ours, speaks


@pytest.mark.parametrize("channel", CHANNELS)
async def test_client_and_server_find_the_newest_revision_of_both_or_say_what_each_speaks(channel: str) -> None:
    """MCP basic/lifecycle#version-negotiation, 2026-07-28 basic/versioning; the page is written by `python -m tests.matrix`."""
    cells = await matrix.section(channel)
    right = {(speaks, pinned): expected(channel, speaks, pinned) for speaks in matrix.servers_on(channel) for pinned in CLIENTS}
    assert cells == right
    assert matrix.table(channel, cells) in matrix.PAGE.read_text(encoding="utf-8"), "run python -m tests.matrix"


def test_page_has_the_sections_of_all_channels_and_its_head() -> None:
    """Nothing of it is written by hand."""
    page = matrix.PAGE.read_text(encoding="utf-8")
    assert page.startswith(matrix.HEAD)
    assert [line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")] == list(CHANNELS)
