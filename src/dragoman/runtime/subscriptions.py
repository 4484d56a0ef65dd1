"""Hearing of changes: one face over ``subscriptions/listen`` and over what legacy servers send unasked.

A subscription ends gracefully (the server said so, or we closed), or with the error of what was lost. Where only its stream
broke, or the connection was made again, it is asked for again, and everything it covers counts as changed.

Source: MCP 2026-07-28 basic/patterns/subscriptions; up to 2025-11-25 server/resources#subscriptions and list_changed.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, Self

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.errors import CallTimeout, ConnectionLost, DragomanError, LocalProtocolError
from dragoman.runtime.caching import outers
from dragoman.wire.envelope import RequestId
from dragoman.wire.methods import (
    ACKNOWLEDGED,
    META_SUBSCRIPTION,
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
)

if TYPE_CHECKING:
    from dragoman.runtime.driver import Driver
    from dragoman.runtime.link import Link

log = logging.getLogger("dragoman")

Kind = Literal["tools", "prompts", "resources", "resource"]

MAX_WAITING: Final = 1_024
LISTEN: Final = "subscriptions/listen"
_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 30.0
_UNSUBSCRIBE_S: Final = 2.0
_KINDS: Final[dict[str, Kind]] = {
    TOOLS_CHANGED: "tools",
    PROMPTS_CHANGED: "prompts",
    RESOURCES_CHANGED: "resources",
    RESOURCE_UPDATED: "resource",
}


class Change(msgspec.Struct, frozen=True):
    """Something changed on the server, or may have.

    Attributes:
        kind: A list (``tools``, ``prompts``, ``resources``), or one ``resource``.
        uri: Which resource; it may be a part of the one that was asked for.
        missed: Nobody said so: changes may have been missed while the connection was gone.
    """

    kind: Kind
    uri: str | None = None
    missed: bool = False


class Filter(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What to hear of, as it is sent."""

    tools_list_changed: bool = False
    prompts_list_changed: bool = False
    resources_list_changed: bool = False
    resource_subscriptions: tuple[str, ...] = ()

    def covers(self, kind: Kind) -> bool:
        """Whether changes of this kind were asked for at all."""
        if kind == "resource":
            return bool(self.resource_subscriptions)
        return bool(getattr(self, f"{kind}_list_changed"))

    def without(self, other: Filter) -> Filter:
        """What is here and not in ``other``."""
        there = frozenset(other.resource_subscriptions)
        uris = tuple(uri for uri in self.resource_subscriptions if uri not in there)
        names = ("tools_list_changed", "prompts_list_changed", "resources_list_changed")
        tools, prompts, resources = (getattr(self, name) and not getattr(other, name) for name in names)
        return Filter(tools, prompts, resources, uris)

    def changes(self, *, missed: bool) -> Iterable[Change]:
        """One of each that it covers."""
        lists: tuple[Kind, ...] = ("tools", "prompts", "resources")
        yield from (Change(kind, None, missed) for kind in lists if self.covers(kind))
        yield from (Change("resource", uri, missed) for uri in self.resource_subscriptions)


class _Meta(msgspec.Struct):
    subscription: int | str | UnsetType = msgspec.field(default=UNSET, name=META_SUBSCRIPTION)


class _Notice(msgspec.Struct):
    meta: _Meta | None = msgspec.field(default=None, name="_meta")
    uri: str | None = None
    notifications: dict[str, Any] | None = None


_decode: Final = msgspec.json.Decoder(_Notice).decode


class Changes:
    """One subscription: enter it, then iterate over its changes. Equal changes that wait are one.

    Attributes:
        wanted: What was asked for.
        granted: What the server agreed to tell, ``None`` before it said so. Ask again now and then for what is ``missing``.
        ended: How it ended: ``finished`` and ``cancelled`` by the server, ``closed`` by us, ``lost``; ``None`` while it runs.
    """

    def __init__(self, link: Link, wanted: Filter, timeout_s: float) -> None:
        self.wanted = wanted
        self.granted: Filter | None = None
        self.ended: Literal["finished", "cancelled", "closed", "lost"] | None = None
        self._link, self._timeout_s = link, timeout_s
        self._id: RequestId | None = None
        self._waiting: dict[Change, None] = {}
        self._stir = asyncio.Event()
        self._ready = asyncio.Event()
        self._error: DragomanError | None = None
        self._runner: asyncio.Task[None] | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._entered = False
        self._subscribed: list[str] = []
        self._uris = frozenset(wanted.resource_subscriptions)

    @property
    def missing(self) -> Filter:
        """What was asked for and not granted."""
        return self.wanted.without(self.granted or Filter())

    # --- a context and an iterator ------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Ask for it, and wait until the server has agreed.

        Raises:
            CallFailed, LocalProtocolError: It did not.
        """
        session = self._link._connected()
        if self._entered:
            raise LocalProtocolError("a subscription is entered once", hint="call listen() again")
        if asyncio.get_running_loop() is not session.driver.loop:
            raise LocalProtocolError(f"{session.label} lives on another event loop; listen there")
        self._entered = True
        session.observers.append(self._take)
        session.endings.append(self._connection_ended)
        try:
            if session.peer.era == "modern":
                await self._listen()
            else:
                await self._subscribe(session.peer.capabilities)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        while not self._waiting:
            if self.ended is not None:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._stir.clear()
            await self._stir.wait()
        change = next(iter(self._waiting))
        del self._waiting[change]
        return change

    async def close(self) -> None:
        """End it; the server is told. Idempotent and bounded."""
        session = self._link._session
        if self._take in session.observers:
            session.observers.remove(self._take)
            session.endings.remove(self._connection_ended)
        running = self.ended is None
        self._end("closed")
        if self._runner is not None and not self._runner.done():
            self._runner.cancel()
            await asyncio.wait([self._runner], timeout=_UNSUBSCRIBE_S)
        subscribed, self._subscribed = self._subscribed, []
        for uri in subscribed:
            if self._link._uris.release(uri) and running and self._link.is_open:
                try:
                    await self._link._request("resources/unsubscribe", {"uri": uri}, _UNSUBSCRIBE_S)
                except DragomanError as exc:
                    log.debug("%s: %s could not be unsubscribed: %s", session.label, uri, exc)

    # --- legacy -------------------------------------------------------------------------------------------------

    async def _subscribe(self, capabilities: dict[str, Any]) -> None:
        def tells(name: str, member: str) -> bool:
            value = capabilities.get(name)
            return isinstance(value, dict) and bool(value.get(member))

        wanted = self.wanted
        granted: list[str] = []
        now = asyncio.get_running_loop().time
        ends = now() + self._timeout_s
        if tells("resources", "subscribe"):
            for uri in wanted.resource_subscriptions:
                self._subscribed.append(uri)
                if self._link._uris.take(uri):
                    await self._link._request("resources/subscribe", {"uri": uri}, max(ends - now(), 0.001))
                granted.append(uri)
        self.granted = Filter(
            wanted.tools_list_changed and tells("tools", "listChanged"),
            wanted.prompts_list_changed and tells("prompts", "listChanged"),
            wanted.resources_list_changed and tells("resources", "listChanged"),
            tuple(granted),
        )

    # --- modern -------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        runner = self._runner = asyncio.create_task(self._run())
        ready = asyncio.create_task(self._ready.wait())
        try:
            # The wait below is bounded where the caller bounds it; the catalog does not.
            timeout_s = None if self._timeout_s == float("inf") else self._timeout_s
            await asyncio.wait([runner, ready], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self.granted is None:
            if self._error is not None:
                raise self._error
            if not runner.done():
                label = self._link.label
                raise CallTimeout(f"{label} did not acknowledge {LISTEN} within {self._timeout_s:g} s", self._timeout_s, server=label)

    async def _run(self) -> None:
        body = {"notifications": msgspec.to_builtins(self.wanted)}
        while True:
            driver = await self._link._reopening.ready()
            try:
                await self._link._request(LISTEN, body, float("inf"), opened=self._opened)
            except ConnectionLost as exc:
                if not await self._goes_on(exc, driver):
                    return
            except DragomanError as exc:
                self._end("lost", exc)
                return
            else:
                self._end("finished")
                return

    async def _goes_on(self, exc: ConnectionLost, driver: Driver) -> bool:
        """Whether to ask again, after the right time."""
        session = self._link._session
        if driver.connection.state == "closed":
            now = await self._link._reopening.ready()
            if now is driver or now.connection.state == "closed":
                self._end("closed") if session.closed else self._end("lost", exc)
                return False
            return True
        if not driver.connection.traits.request_scoped_streams:
            self._end("cancelled")  # the only way that a single request is lost there
            return False
        if self.granted is None:
            self._end("lost", exc)
            return False
        pause_s, self._pause_s = self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        log.debug("%s: a subscription was cut; asking again in about %g s", session.label, pause_s)
        await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # so that many clients do not come back at once
        return True

    def _opened(self, request_id: RequestId) -> None:
        self._id = request_id
        self._ready.clear()

    # --- what arrives, inside the reader ------------------------------------------------------------------------

    def _take(self, method: str, params: Raw) -> None:
        kind = _KINDS.get(method)
        if kind is None and method != ACKNOWLEDGED:
            return
        try:
            notice = _decode(params)
        except (msgspec.DecodeError, RecursionError):
            return
        stated = notice.meta.subscription if notice.meta is not None else UNSET
        ours = stated == self._id  # "2" is not 2
        if self._runner is not None and not ours and stated is not UNSET:
            return  # of another subscription
        if kind is not None:
            if self._runner is not None and ours and not self._ready.is_set():
                self._link._session.driver.violations["before-acknowledged"] += 1
            if self.wanted.covers(kind) and (ours or kind != "resource" or self._concerns(notice.uri)):
                self._put(Change(kind, notice.uri if kind == "resource" else None))
        elif ours:
            again = self.granted is not None
            self.granted = _granted(notice.notifications or {})
            self._pause_s = _FIRST_PAUSE_S
            self._ready.set()
            if again:
                for change in self.wanted.changes(missed=True):
                    self._put(change)

    def _concerns(self, uri: str | None) -> bool:
        return uri is not None and any(outer in self._uris for outer in outers(uri))

    def _put(self, change: Change) -> None:
        self._waiting[change] = None
        # Nobody reads, and it names ever new resources: all of them may have changed. They are not that many more each time.
        if len(self._waiting) > MAX_WAITING + len(self._uris):
            self._waiting = dict.fromkeys(self.wanted.changes(missed=True))
        self._stir.set()

    def _connection_ended(self, reason: str) -> None:
        if self._runner is None:
            session = self._link._session
            if session.closed:
                self._end("closed")
            else:
                self._end("lost", ConnectionLost(f"{session.label} tells no more changes: {reason}", server=session.label, maybe_ran="no"))

    def _end(self, how: Literal["finished", "cancelled", "closed", "lost"], error: DragomanError | None = None) -> None:
        if self.ended is None:
            self.ended, self._error = how, error
            self._stir.set()


def _granted(said: dict[str, Any]) -> Filter:
    uris = said.get("resourceSubscriptions")
    names = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
    tools, prompts, resources = (said.get(name) is True for name in names)
    return Filter(tools, prompts, resources, tuple(uri for uri in uris if isinstance(uri, str)) if isinstance(uris, list) else ())


class Uris:
    """How many subscriptions want each resource, on a server that knows only one for all."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __contains__(self, uri: str) -> bool:
        return uri in self._counts

    def take(self, uri: str) -> bool:
        """One more; whether it is the first."""
        self._counts[uri] = self._counts.get(uri, 0) + 1
        return self._counts[uri] == 1

    def release(self, uri: str) -> bool:
        """One less; whether it was the last."""
        left = self._counts.get(uri, 0) - 1
        if left > 0:
            self._counts[uri] = left
            return False
        self._counts.pop(uri, None)
        return left == 0
