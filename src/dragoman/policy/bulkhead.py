"""How many calls may be with a server at one time, and in all; the others wait their turn, bounded in number and time.

In order of arrival for each server, and servers take turns: one that is slow fills its own places and nobody else's. What gets
no place is refused by name; nothing of it was sent.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from dragoman.clock import Clock
from dragoman.errors import ServerBusy
from dragoman.policy.chain import Call, CallNext, Outcome
from dragoman.policy.ports import Resolved
from dragoman.wire.escape import escape_inline

TOTAL: Final = 512


class LaneRule(msgspec.Struct, frozen=True):
    """For one server: calls at one time, calls that wait for a place, and seconds that each of them waits."""

    concurrent: int = 64
    queue: int = 256
    queue_s: float = 30.0


LaneRuleOf = Callable[[str], LaneRule]


class _Lane:
    """The places of one server."""

    __slots__ = ("limit", "queue", "rule", "running", "server")

    def __init__(self, server: str, rule: LaneRule) -> None:
        self.server, self.rule = server, rule
        self.limit = rule.concurrent
        self.running = 0
        self.queue: deque[asyncio.Future[None]] = deque()


class Places:
    """The places of all servers. Used from one event loop.

    Whenever there is a place in all, whoever waits does so for a place of its own server: a place that gets free is given away at
    once. So a newcomer that finds both passes nobody by.

    Args:
        rule_of: The rule of a server, looked up when it is first used.
        total: Calls at one time, over all servers.

    Attributes:
        running: Calls at this moment.
    """

    def __init__(self, clock: Clock, rule_of: LaneRuleOf | None = None, total: int = TOTAL) -> None:
        self._clock = clock
        self.rule_of: LaneRuleOf = rule_of if rule_of is not None else _default_rule
        self.total = total
        self.running = 0
        self.ring: deque[_Lane] = deque()  # those with a queue, the one whose turn is next first
        self._lanes: dict[str, _Lane] = {}

    def lane(self, server: str) -> _Lane:
        """The lane of a server."""
        lane = self._lanes.get(server)
        if lane is None:
            lane = self._lanes[server] = _Lane(server, self.rule_of(server))
        return lane

    def drop(self, server: str) -> None:
        """Forget a server that was removed; calls of it that run or wait go on as they are."""
        self._lanes.pop(server, None)

    def waiting(self, server: str) -> int:
        """How many calls wait for a place at a server."""
        lane = self._lanes.get(server)
        return len(lane.queue) if lane is not None else 0

    async def wait(self, call: Call, lane: _Lane) -> Call:
        """Wait for a place and take it; the call with what is left of its time.

        Raises:
            ServerBusy: Too many wait already, or there was none in time.
        """
        if len(lane.queue) >= lane.rule.queue:
            raise self._busy(lane, f"and {len(lane.queue)} more wait, limit {lane.rule.queue}", "queue")
        began = self._clock.monotonic()
        wait_s = lane.rule.queue_s if call.timeout_s is None else min(lane.rule.queue_s, call.timeout_s)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not lane.queue:
            self.ring.append(lane)
        lane.queue.append(place)
        try:
            # Not wait_for: it may give a place away that was granted in the moment of its time-out.
            await asyncio.wait([place], timeout=wait_s)
        except BaseException:
            if not self._give_up(place, lane):
                self.leave(lane)  # it was given a place, which somebody else can use
            raise
        if self._give_up(place, lane):
            own = wait_s < lane.rule.queue_s
            raise self._busy(lane, f"and none of them ended within {wait_s:g} s", "timeout_s" if own else "queue_s")
        if call.timeout_s is None:
            return call
        left_s = max(call.timeout_s - (self._clock.monotonic() - began), 0.001)
        most_s = call.max_timeout_s
        return msgspec.structs.replace(
            call, timeout_s=left_s, max_timeout_s=None if most_s is None else max(most_s - (call.timeout_s - left_s), left_s)
        )

    def _give_up(self, place: asyncio.Future[None], lane: _Lane) -> bool:
        """Wait no longer; false if the place was given already."""
        if place.done():
            return False
        lane.queue.remove(place)
        if not lane.queue:
            self.ring.remove(lane)
        return True

    def leave(self, lane: _Lane) -> None:
        """Give a place back."""
        lane.running -= 1
        self.running -= 1
        if self.ring:
            self._hand_on()

    def _hand_on(self) -> None:
        """Give free places to those who wait: the servers in turn, the calls of each in order."""
        passed = 0
        while self.ring and self.running < self.total and passed < len(self.ring):
            lane = self.ring.popleft()
            if lane.running >= lane.limit:
                self.ring.append(lane)
                passed += 1
                continue
            passed = 0
            lane.running += 1
            self.running += 1
            lane.queue.popleft().set_result(None)
            if lane.queue:
                self.ring.append(lane)

    def _busy(self, lane: _Lane, why: str, key: str) -> ServerBusy:
        shown = escape_inline(lane.server)
        if lane.running >= lane.limit:
            many, where = f"{lane.running} calls are with the server {shown} (limit {lane.limit})", f"servers.{shown}.limits.concurrent"
        else:
            many, where = f"{self.running} calls are on their way to all servers (limit {self.total})", "policy.concurrent"
        also = f" or servers.{shown}.limits.{key}" if key != "timeout_s" else " or the timeout"
        return ServerBusy(
            f"{many}, {why}; nothing was sent",
            layer=Bulkhead.name,
            hint=f"make fewer calls at one time, call again later, or raise {where}{also}",
            server=lane.server,
        )


class Bulkhead:
    """The layer: a place before, given back after, whatever happened."""

    name = "bulkhead"

    def __init__(self, places: Places) -> None:
        self._places = places

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        places = self._places
        lane = places.lane(call.server)
        if lane.running < lane.limit and places.running < places.total and not lane.queue:
            lane.running += 1
            places.running += 1
        else:
            call = await places.wait(call, lane)
        try:
            return await call_next(call)
        finally:
            places.leave(lane)

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        rule = self._places.rule_of(found.server)
        return (
            f"{rule.concurrent} calls of {found.server} at one time, {self._places.total} in all; "
            f"up to {rule.queue} wait, {rule.queue_s:g} s each"
        )


def _default_rule(server: str) -> LaneRule:
    return LaneRule()
