"""Looks after all servers of a host that are up, with one timer: asks the silent ones whether they live, and stops the unused ones.

Answered calls are proof of life, so a server in use is never asked. One that owes an answer is left to the deadline of that call: a server
that does one thing at a time may be busy with just that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

from dragoman.errors import AuthRequired, CallTimeout, ConnectFailed, ConnectionLost, DragomanError
from dragoman.runtime import vitals
from dragoman.runtime.client import Client
from dragoman.runtime.slots import Slot

log = logging.getLogger("dragoman")

#: In a row, and the server counts as dead.
MISSES: Final = 3
#: For the answer to one heartbeat.
ANSWER_S: Final = 10.0
#: How often the host looks, at most and at least.
_LONGEST_TICK_S: Final = 15.0
_SHORTEST_TICK_S: Final = 0.05


class _Watch:
    """One connection: what was seen of it last."""

    __slots__ = ("answers", "asked", "client", "heard_at", "misses", "used_at")

    def __init__(self, client: Client, now: float) -> None:
        self.client = client
        self.heard_at = self.used_at = now
        self.answers = vitals.traffic(client).answers
        self.misses = 0
        self.asked: asyncio.Task[None] | None = None


class Heartbeat:
    """The timer and what it does.

    Args:
        slots: The servers, as they are at each moment.
        also: Called at each tick.
    """

    def __init__(self, slots: Callable[[], Iterable[Slot]], also: Callable[[], None] | None = None) -> None:
        self._slots, self._also = slots, also
        self._watched: dict[str, _Watch] = {}
        self._resting: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def start(self) -> None:
        """Begin to look, on the running loop."""
        if self._timer is None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(self._tick_s(), self._tick)

    async def close(self) -> None:
        """Look no more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = [*self._resting, *(watch.asked for watch in self._watched.values() if watch.asked is not None)]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1.0)

    def _tick_s(self) -> float:
        """A quarter of the shortest time that anybody wants to be exact."""
        times = [time for slot in self._slots() for time in (slot.spec.heartbeat_s, slot.spec.idle_stop_s) if time]
        return max(min([_LONGEST_TICK_S, *(time / 4 for time in times)]), _SHORTEST_TICK_S)

    def _tick(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        seen: dict[str, _Watch] = {}
        for slot in self._slots():
            client = slot.client
            if client is None or slot.state != "ready":
                continue
            watch = self._watched.get(slot.name)
            if watch is None or watch.client is not client:
                watch = _Watch(client, now)
            seen[slot.name] = watch
            try:
                self._look(slot, client, watch, now)
            except Exception:  # one server must not keep the others from being looked after
                log.exception("%s could not be looked after", slot.name)
        self._watched = seen
        if any(not slot.spec.remote for slot in self._slots()):
            from dragoman.transports.guardian import GUARDIAN  # loaded with the first program that was started

            GUARDIAN.look()
        if self._also is not None:
            self._also()
        self.start()

    def _look(self, slot: Slot, client: Client, watch: _Watch, now: float) -> None:
        if not client.is_open:
            if not vitals.is_reopening(client):  # it was to be opened anew, and that failed
                slot.lost(ConnectFailed(f"{slot.name}: the connection could not be made again", server=slot.name))
            return
        traffic = vitals.traffic(client)
        answered = traffic.answers != watch.answers
        if answered or traffic.owed:
            watch.heard_at = now
            if answered:
                watch.misses = 0
            if watch.asked is None:
                watch.used_at = now
        watch.answers = traffic.answers
        if watch.asked is not None:
            return
        spec = slot.spec
        if spec.idle_stop_s is not None and not slot.listeners and now - watch.used_at >= spec.idle_stop_s:
            task = asyncio.get_running_loop().create_task(slot.rest())
            self._resting.add(task)
            task.add_done_callback(self._resting.discard)
        elif spec.heartbeat_s and now - watch.heard_at >= spec.heartbeat_s:
            watch.asked = asyncio.get_running_loop().create_task(self._ask(slot, client, watch))

    async def _ask(self, slot: Slot, client: Client, watch: _Watch) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await client.ping(timeout_s=min(ANSWER_S, slot.spec.heartbeat_s))
        except AuthRequired as exc:
            slot.refused(exc)
        except (ConnectionLost, CallTimeout) as exc:
            watch.misses += 1
            log.info("%s: heartbeat %d of %d missed: %s", slot.name, watch.misses, MISSES, exc)
            if watch.misses >= MISSES:
                reason = f"{slot.name} answered none of {MISSES} heartbeats and counts as dead"
                slot.lost(ConnectFailed(reason, server=slot.name, hint=f"dragoman logs {slot.name}"))
        except DragomanError as exc:
            watch.misses = 0  # "method not found" is an answer, and so is one that cannot be read
            log.debug("%s: heartbeat: %s", slot.name, exc)
            slot.answered((loop.time() - began) * 1000)
        else:
            watch.misses = 0
            slot.answered((loop.time() - began) * 1000)
        finally:
            watch.heard_at = loop.time()
            watch.answers = vitals.traffic(client).answers
            watch.asked = None
