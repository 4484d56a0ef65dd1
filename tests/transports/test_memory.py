"""Two joined ends in one process."""

from __future__ import annotations

import pytest

from dragoman.errors import LocalProtocolError
from dragoman.protocol.actions import CloseStream, Send
from dragoman.testing.transports import Reports
from dragoman.transports.base import Closed, Received
from dragoman.transports.memory import memory_pair


async def test_what_was_sent_before_the_other_end_opened_is_not_lost() -> None:
    """Either end may be first; a close comes after what was sent before it."""
    ours, theirs = memory_pair()
    await ours.open(Reports())
    await ours.perform(Send(b"{}"))
    await ours.close()
    reports = Reports()
    await theirs.open(reports)
    await reports.until(reports.closed, "Closed")
    assert reports.all == [Received(b"{}"), Closed("client closed the connection")]


async def test_reports_come_in_a_later_turn_of_the_loop() -> None:
    """An engine is never entered again while it drains its own actions."""
    ours, theirs = memory_pair()
    reports = Reports()
    await theirs.open(reports)
    await ours.open(Reports())
    await ours.perform(Send(b"1"))
    assert reports.all == []
    await reports.until(lambda: reports.all, "the message")


async def test_sender_that_never_waits_does_not_starve_the_other_end() -> None:
    """Memory stays bounded: the other end gets its turn while thousands are sent in one go."""
    ours, theirs = memory_pair()
    reports = Reports()
    await theirs.open(reports)
    await ours.open(Reports())
    for _ in range(1000):
        await ours.perform(Send(b"1"))
    assert len(reports.all) >= 800


async def test_using_an_end_out_of_order_is_our_own_mistake() -> None:
    """Sending before opening would hang for ever if it were ignored."""
    ours, _theirs = memory_pair()
    with pytest.raises(LocalProtocolError, match="not open yet"):
        await ours.perform(Send(b"{}"))
    await ours.perform(CloseStream(1))
    await ours.open(Reports())
    with pytest.raises(LocalProtocolError, match="opened before"):
        await ours.open(Reports())
