"""The conformance suite itself: it passes what is right and names the rule that a wrong transport breaks."""

from __future__ import annotations

import asyncio
import json

import pytest

from dragoman.protocol.actions import STDIO, Close, CloseStream, Performable, Send, Traits
from dragoman.testing import transports as suite
from dragoman.testing.transports import check_transport, respond
from dragoman.transports.base import Closed, Oversized, Received, Sink, Transport


class Echo:
    """A channel that answers by itself; ``flaw`` names what it does wrong."""

    traits: Traits = STDIO
    label = "echo"

    def __init__(self, frame_limit: int, flaw: str = "") -> None:
        self.limit, self.flaw = frame_limit, flaw
        self.report: Sink | None = None

    async def open(self, report: Sink) -> None:
        self.report = report

    async def perform(self, action: Performable) -> None:
        if isinstance(action, Close) and self.flaw != "ignores Close":
            await self.close()
        if isinstance(action, CloseStream) and self.flaw == "closes everything":
            self.end()
        if not isinstance(action, Send):
            return
        if self.report is None:
            if self.flaw == "raises":
                raise BrokenPipeError
            return
        answers = respond(action.message)
        if answers is None:
            self.end()
            return
        if self.flaw == "reorders":
            answers.reverse()
        for answer in answers:
            self.deliver(answer)

    def deliver(self, answer: bytes) -> None:
        report = self.report
        assert report is not None
        if self.flaw == "mixes" and len(answer) > 50_000:
            answer = answer.replace(b"p", b"o")
        if len(answer) > self.limit and self.flaw != "no limit":
            report(Oversized(answer[:4096], answer[-4096:], len(answer), self.limit))
            if self.flaw == "ends at oversized":
                self.end()
        else:
            report(Received(answer, 7 if self.flaw == "names a stream" else None))

    def end(self) -> None:
        report = self.report
        if report is not None:
            self.report = report if self.flaw == "closes twice" else None
            report(Closed("over"))
            if self.flaw == "reports late":
                asyncio.get_running_loop().call_soon(report, Received(b"{}"))

    async def close(self) -> None:
        self.end()


async def test_right_transport_passes() -> None:
    """The smallest right one."""

    async def make(frame_limit: int) -> Transport:
        return Echo(frame_limit)

    await check_transport(make)


@pytest.mark.parametrize(
    ("flaw", "rule"),
    [
        ("reorders", "answers arrive whole and in order"),
        ("mixes", "messages of many tasks do not mix"),
        ("no limit", "oversized is reported and the next message is whole"),
        ("ends at oversized", "oversized is reported and the next message is whole"),
        ("closes twice", "end of the peer is a report not an exception"),
        ("names a stream", "every message is told with its stream"),
        ("closes everything", "closing one stream leaves the others"),
        ("ignores Close", "close action is close"),
    ],
)
async def test_wrong_transport_is_told_which_rule_it_breaks(flaw: str, rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule can fail."""
    monkeypatch.setattr(suite, "WITHIN_S", 0.2)

    async def make(frame_limit: int) -> Transport:
        return Echo(frame_limit, flaw)

    with pytest.raises(AssertionError) as caught:
        await check_transport(make)
    assert caught.value.__notes__ == [f"rule: {rule}"]


async def test_transport_that_reports_after_the_end_is_caught() -> None:
    """Even if it does so only after ``close`` has returned."""

    async def make(frame_limit: int) -> Transport:
        return Echo(frame_limit, "reports late")

    with pytest.raises(AssertionError):
        await suite.nothing_is_reported_after_closed(make)


async def test_transport_that_raises_after_the_end_is_caught() -> None:
    """A broken pipe is a report."""

    async def make(frame_limit: int) -> Transport:
        return Echo(frame_limit, "raises")

    with pytest.raises(BrokenPipeError):
        await suite.end_of_the_peer_is_a_report_not_an_exception(make)


@pytest.mark.parametrize("size", [100, 101, 5000])
def test_big_answers_are_as_big_as_asked(size: int) -> None:
    """The limit's edge is tested with answers of exact size."""
    [answer] = respond(json.dumps({"id": 7, "method": "big", "params": {"size": size}}).encode()) or []
    assert len(answer) == size
