"""The contract of a transport as a reusable test: ``await check_transport(make)``, for our transports and for yours.

The channel under test must lead to a peer that behaves like ``respond``; ``PEER_PROGRAM`` is such a peer for pipes.
With pytest, parametrize over ``CHECKS`` to have each rule as a test of its own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final

from dragoman.protocol.actions import Close, CloseStream, Send
from dragoman.transports.base import Closed, Oversized, Received, Report, StreamEnded, Transport

FRAME_LIMIT: Final = 100_000
"""What ``make`` gets as the frame limit of the transport."""

WITHIN_S: Final = 10.0

Make = Callable[[int], Awaitable[Transport]]
"""Makes a fresh transport, not yet opened, with the given frame limit; its peer behaves like ``respond``."""


def respond(message: bytes) -> list[bytes] | None:
    """What the peer answers to a message, in order; ``None`` means that it ends.

    ``echo`` sends params back, ``many {n}`` n notifications and then the answer, ``big {size}`` an answer of that many bytes,
    ``end`` ends without an answer, ``never`` is not answered and ends nothing. Notifications (no id) are not answered.
    """
    asked = json.loads(message)
    method, params, request_id = asked["method"], asked.get("params", {}), asked.get("id")
    if method == "end":
        return None
    if request_id is None or method == "never":
        return []
    notices = [b'{"jsonrpc":"2.0","method":"note","params":{"n":%d}}' % n for n in range(params.get("n", 0) if method == "many" else 0)]
    result: Any = params
    if method == "big":
        bare = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": ""}, separators=(",", ":"))
        result = "x" * (params["size"] - len(bare))
    answer = json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}, separators=(",", ":"))
    return [*notices, answer.encode()]


PEER_PROGRAM: Final = r"""
import json, sys
for line in sys.stdin.buffer:
    asked = json.loads(line)
    method, params, request_id = asked["method"], asked.get("params", {}), asked.get("id")
    if method == "end":
        break
    if request_id is None or method == "never":
        continue
    out = [b'{"jsonrpc":"2.0","method":"note","params":{"n":%d}}\n' % n for n in range(params.get("n", 0) if method == "many" else 0)]
    result = params
    if method == "big":
        result = "x" * (params["size"] - len(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": ""}, separators=(",", ":"))))
    out.append(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}, separators=(",", ":")).encode() + b"\n")
    sys.stdout.buffer.write(b"".join(out))
    sys.stdout.buffer.flush()
"""
"""The same for a child process: ``python -c PEER_PROGRAM``. Standard library only."""


class Reports:
    """A sink that remembers, and lets a test wait for what it needs."""

    def __init__(self) -> None:
        self.all: list[Report] = []
        self._closed: list[Closed] = []
        self._news = asyncio.Event()

    def __call__(self, report: Report) -> None:
        self.all.append(report)
        if isinstance(report, Closed):
            self._closed.append(report)
        self._news.set()

    def messages(self) -> list[Any]:
        """What was received, decoded."""
        return [json.loads(bytes(report.message)) for report in self.all if isinstance(report, Received)]

    def answers(self) -> list[Any]:
        """Ids of the answers, in the order they came."""
        return [message["id"] for message in self.messages() if "id" in message]

    def closed(self) -> list[Closed]:
        return self._closed[:]

    async def until(self, true: Callable[[], object], what: str) -> None:
        """Wait until ``true()``; looks again after each report."""
        try:
            async with asyncio.timeout(WITHIN_S):
                while not true():
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"waited {WITHIN_S:.0f} s for {what}; reported so far: {str(self.all)[:500]}") from None


def request(request_id: int, method: str, **params: Any) -> Send:
    """A request to the peer."""
    message = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}, separators=(",", ":"))
    return Send(message.encode(), request_id)


async def _opened(make: Make) -> tuple[Transport, Reports]:
    transport, reports = await make(FRAME_LIMIT), Reports()
    await transport.open(reports)
    return transport, reports


async def answers_arrive_whole_and_in_order(make: Make) -> None:
    """Messages of one stream arrive in the order they were sent; requests overtake each other only where the traits say so."""
    transport, reports = await _opened(make)
    for number in range(200):
        await transport.perform(request(number, "echo", text="\u2028 \x85 \U0001f600" * (number % 7)))
    await reports.until(lambda: len(reports.answers()) == 200, "200 answers")
    ids = reports.answers()
    assert (sorted(ids) if transport.traits.overtaking else ids) == list(range(200)), "answers in another order"
    await transport.perform(request(900, "many", n=500))
    await reports.until(lambda: 900 in reports.answers(), "the answer after 500 notifications")
    notes = [message["params"]["n"] for message in reports.messages() if message.get("method") == "note"]
    assert notes == list(range(500)), "notifications lost or in another order"
    await transport.close()


async def messages_of_many_tasks_do_not_mix(make: Make) -> None:
    """``perform`` may be awaited by any number of tasks at once, with messages larger than any buffer."""
    transport, reports = await _opened(make)
    texts = {number: chr(97 + number) * (number * 6_000) for number in range(16)}
    await asyncio.gather(*(transport.perform(request(number, "echo", text=text)) for number, text in texts.items()))
    await reports.until(lambda: len(reports.answers()) == 16, "16 answers")
    assert {message["id"]: message["result"]["text"] for message in reports.messages()} == texts, "a message was changed under way"
    await transport.close()


async def oversized_is_reported_and_the_next_message_is_whole(make: Make) -> None:
    """A message over the frame limit costs that message and nothing else."""
    transport, reports = await _opened(make)
    await transport.perform(request(1, "big", size=FRAME_LIMIT))
    await reports.until(lambda: reports.answers() == [1], "the answer of exactly the limit")
    await transport.perform(request(2, "big", size=FRAME_LIMIT + 1))
    await transport.perform(request(3, "big", size=20 * FRAME_LIMIT))
    await transport.perform(request(4, "echo"))
    await reports.until(lambda: 4 in reports.answers() and len(reports.all) >= 4, "the answer after two that were too long")
    await reports.until(lambda: sum(isinstance(report, Oversized) for report in reports.all) == 2, "two reports of too long messages")
    found = sorted((report for report in reports.all if isinstance(report, Oversized)), key=lambda report: report.size)
    assert [report.size for report in found] == [FRAME_LIMIT + 1, 20 * FRAME_LIMIT], "sizes of what was thrown away"
    for report in found:
        assert report.limit == FRAME_LIMIT, "the limit in the report"
        assert report.head.startswith(b'{"jsonrpc"'), "the head in the report"
        assert report.tail.endswith(b'xxx"}'), "the tail in the report"
        assert all(64 <= len(end) <= 4096 for end in (report.head, report.tail)), "how much of it is kept"
    await transport.close()


async def end_of_the_peer_is_a_report_not_an_exception(make: Make) -> None:
    """After opening a transport does not raise, and ``Closed`` comes once and last."""
    transport, reports = await _opened(make)
    await transport.perform(request(1, "echo"))
    await reports.until(lambda: reports.answers() == [1], "an answer")
    await transport.perform(request(2, "end"))
    if transport.traits.request_scoped_streams:
        await reports.until(lambda: 2 in [report.via for report in reports.all if isinstance(report, StreamEnded)], "the end of the stream")
        await transport.close()
    await reports.until(reports.closed, "Closed")
    count = len(reports.all)
    for number in range(3, 6):
        await transport.perform(request(number, "echo"))
    await transport.close()
    assert len(reports.all) == count, f"reported after Closed: {reports.all[count:]}"
    assert len(reports.closed()) == 1


async def close_may_be_called_again_and_from_any_task(make: Make) -> None:
    """Three tasks at once, a cancelled one, and once more afterwards: one end, one report."""
    transport, reports = await make(FRAME_LIMIT), Reports()
    await asyncio.create_task(transport.open(reports))
    impatient = asyncio.create_task(transport.close())
    await asyncio.sleep(0)
    impatient.cancel()
    async with asyncio.timeout(WITHIN_S):
        await asyncio.gather(*(asyncio.create_task(transport.close()) for _ in range(3)))
        await asyncio.gather(impatient, return_exceptions=True)
        await transport.close()
    assert len(reports.closed()) == 1, "Closed has been reported when close() returns, and once"
    assert reports.all[-1:] == reports.closed()


async def close_action_is_close(make: Make) -> None:
    """The engine says ``Close``; by then nothing more is wanted."""
    transport, reports = await _opened(make)
    await transport.perform(request(1, "echo"))
    await reports.until(lambda: reports.answers() == [1], "an answer")
    await transport.perform(Close("done"))
    await reports.until(reports.closed, "Closed")
    await transport.close()
    assert len(reports.closed()) == 1


async def nothing_is_reported_after_closed(make: Make) -> None:
    """Not even what was under way."""
    transport, reports = await _opened(make)
    await transport.perform(request(1, "many", n=5_000))
    await reports.until(lambda: reports.all, "the first notifications")
    async with asyncio.timeout(WITHIN_S):
        await transport.close()
    count = len(reports.all)
    assert isinstance(reports.all[-1], Closed)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(reports.all) == count


async def close_without_open_is_harmless(make: Make) -> None:
    """A driver cleans up what it could not open."""
    transport = await make(FRAME_LIMIT)
    await transport.close()
    await transport.close()


async def every_message_is_told_with_its_stream(make: Make) -> None:
    """``via`` is the request whose stream brought a message, so that no answer can settle another's request; elsewhere it is ``None``."""
    transport, reports = await _opened(make)
    scoped = transport.traits.request_scoped_streams
    await asyncio.gather(*(transport.perform(request(number, "many", n=number)) for number in range(8)))
    await reports.until(lambda: len(reports.answers()) == 8, "8 answers")
    if scoped:
        await reports.until(lambda: sum(isinstance(report, StreamEnded) for report in reports.all) == 8, "the ends of 8 streams")
    received = [report for report in reports.all if isinstance(report, Received)]
    answered = [(report.via, message["id"]) for report in received if "id" in (message := json.loads(bytes(report.message)))]
    assert sorted(answered, key=str) == sorted(((number if scoped else None, number) for number in range(8)), key=str), "whose stream"
    for number in range(8 if scoped else 0):
        kinds = [type(report) for report in reports.all if getattr(report, "via", None) == number]
        assert kinds == [Received] * (number + 1) + [StreamEnded], f"the stream of request {number}: its messages, then its end, once"
    await transport.close()


async def closing_one_stream_leaves_the_others(make: Make) -> None:
    """``CloseStream`` ends the stream of one request where it has one, and is nothing elsewhere."""
    transport, reports = await _opened(make)
    for number in (1, 2):
        await transport.perform(request(number, "never"))
    await transport.perform(request(3, "echo"))
    await reports.until(lambda: 3 in reports.answers(), "an answer while two wait")
    await asyncio.create_task(transport.perform(CloseStream(1)))
    await transport.perform(CloseStream(1))
    await transport.perform(CloseStream(77))
    await transport.perform(request(4, "echo"))
    await reports.until(lambda: 4 in reports.answers(), "an answer after a stream was closed")
    assert not any(isinstance(report, StreamEnded) and report.via == 2 for report in reports.all), "another stream was closed"
    assert not reports.closed(), "closing a stream ended everything"
    await transport.close()


async def cancelled_sender_tears_no_message(make: Make) -> None:
    """The message is sent whole or not at all, and the ones after it arrive."""
    transport, reports = await _opened(make)
    sender = asyncio.create_task(transport.perform(request(1, "echo", text="y" * (FRAME_LIMIT - 200))))
    others = [asyncio.create_task(transport.perform(request(number, "echo", text="z" * 90_000))) for number in range(2, 12)]
    await asyncio.sleep(0)
    for task in (sender, *others[::2]):
        task.cancel()
    await asyncio.gather(sender, *others, return_exceptions=True)
    await transport.perform(request(100, "echo"))
    await reports.until(lambda: {3, 5, 7, 9, 11, 100} <= set(reports.answers()), "the answers to those who were not cancelled")
    assert all(set(message["result"].get("text", "")) <= {"y", "z"} for message in reports.messages()), "a torn message"
    await transport.close()


CHECKS: Final = (
    answers_arrive_whole_and_in_order,
    messages_of_many_tasks_do_not_mix,
    oversized_is_reported_and_the_next_message_is_whole,
    end_of_the_peer_is_a_report_not_an_exception,
    close_may_be_called_again_and_from_any_task,
    close_action_is_close,
    nothing_is_reported_after_closed,
    close_without_open_is_harmless,
    every_message_is_told_with_its_stream,
    closing_one_stream_leaves_the_others,
    cancelled_sender_tears_no_message,
)
"""Every rule as an async function of ``make``; each raises ``AssertionError``."""


async def check_transport(make: Make) -> None:
    """Hold a transport against the contract; the error names the rule that it breaks.

    Args:
        make: Called once for each rule.

    Raises:
        AssertionError: With the rule's name in its notes.
    """
    for check in CHECKS:
        try:
            await check(make)
        except AssertionError as exc:
            exc.add_note(f"rule: {check.__name__.replace('_', ' ')}")
            raise
