"""A place for one server in a host: what it is, how it is doing, what it last offered, and its client, which may come and go."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from dragoman.errors import CallFailed, ConnectFailed, DragomanError, NotAllowed
from dragoman.policy.rules import Rules
from dragoman.runtime.catalog import Catalog
from dragoman.runtime.client import Client
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

SlotState = Literal["disabled", "not approved", "configured", "starting", "ready", "failed", "stopped"]

#: A server that did not start is left alone for so long: a burst of calls is one attempt, not a hundred.
RETRY_AFTER_S: Final = 1.0


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a host needs to know about a server.

    Attributes:
        make_client: Makes a fresh, unopened client; gets the host's options (name, version, handlers, eras).
        rules: Its tiers.
        timeout_s: Deadline of a call; ``None`` is the client's default.
        result_bytes: Longest result a call may bring.
        max_tools: Tools beyond this many are set aside.
        held_back: Why it may not start (a project file nobody approved), with the command to run; ``None`` if it may.
        when_down: Called after a client was closed, e.g. to close the log file.
    """

    name: str
    make_client: Callable[..., Client]
    rules: Rules
    timeout_s: float | None = None
    result_bytes: int = 1_000_000
    max_tools: int = 10_000
    enabled: bool = True
    held_back: str | None = None
    when_down: Callable[[], None] | None = None


Listed = Callable[["Slot", Client, tuple[Tool, ...]], None]
"""Told that the server listed its tools, for the first time or anew."""

Tried = Callable[["Slot", float, DragomanError | None], None]
"""Told how an attempt to reach the server went: milliseconds, and what went wrong."""


class Slot:
    """One server of a host.

    Args:
        spec: What it is.
        options: For ``spec.make_client``.
        listed, tried: Are told, on the event loop; they do not raise.

    Attributes:
        error: Why it did not start the last time.
        starts: How often it was started, or tried to.
    """

    def __init__(self, spec: ServerSpec, options: dict[str, Any], listed: Listed, tried: Tried) -> None:
        self.spec = spec
        self.state: SlotState = "configured"
        if not spec.enabled:
            self.state = "disabled"
        elif spec.held_back is not None:
            self.state = "not approved"
        self.error: DragomanError | None = None
        self.client: Client | None = None
        self.catalog: Catalog | None = None
        self.starts = 0
        self._options = options
        self._told_listed = listed
        self._tried = tried
        self._starting: asyncio.Task[Client] | None = None
        self._failed_at = 0.0
        self._was_up = False

    @property
    def name(self) -> str:
        """The configured name."""
        return self.spec.name

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """What was set aside when its tools were listed last."""
        return self.catalog.problems if self.catalog is not None else ()

    def obstacle(self) -> DragomanError | None:
        """Why it cannot be started right now, without trying; ``None`` if it is up or may be tried."""
        if self.state == "disabled":
            return NotAllowed(f"the server {self.name} is switched off", hint=f"dragoman enable {self.name}", server=self.name)
        if self.state == "not approved":
            return NotAllowed(str(self.spec.held_back), hint=f"on a terminal: dragoman enable {self.name}", server=self.name)
        if self.state == "stopped":
            return NotAllowed(f"the server {self.name} was stopped; nothing was sent", server=self.name)
        if self.state == "failed" and self.error is not None and time.monotonic() - self._failed_at < RETRY_AFTER_S:
            return self.error
        return None

    async def connected(self) -> Client:
        """A client that is up, started or started again where needed; one start at a time, whoever asks.

        Raises:
            NotAllowed: Switched off, not approved yet, or stopped, even while it was starting.
            TransportError, ProtocolError, ConfigError: It did not start.
        """
        client = self.client
        if client is not None and client.is_open:
            return client
        starting = self._starting
        if starting is None:
            if (obstacle := self.obstacle()) is not None:
                raise obstacle.with_traceback(None)  # the same error for many callers: it must not collect all their frames
            starting = self._starting = asyncio.create_task(self._start())
            starting.add_done_callback(self._started)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            task, obstacle = asyncio.current_task(), self.obstacle()
            if starting.cancelled() and obstacle is not None and task is not None and not task.cancelling():
                raise obstacle from None  # the start was cancelled by stop(), not the caller by its own
            raise

    async def _start(self) -> Client:
        self.state = "starting"
        self.starts += 1
        began = time.monotonic()
        client: Client | None = None
        catalog: Catalog | None = None
        try:
            await self._drop_client()
            client = self.spec.make_client(label=self.name, **self._options)
            await client.open()
            catalog = Catalog(client, functools.partial(self._listed, client))
            await catalog.refresh()
        except BaseException as exc:
            if catalog is not None:
                await catalog.close()
            if client is not None:
                await self._close(client)
            if self.state == "starting":
                self.state, self._failed_at = "failed", time.monotonic()
            if not isinstance(exc, DragomanError):
                raise
            error = self.error = self._not_started(exc)
            self._tried(self, (time.monotonic() - began) * 1000, error)
            if error is exc:
                raise
            raise error from exc
        self.client, self.catalog, self.error, self.state = client, catalog, None, "ready"
        if self._was_up:
            log.info("%s: restarted", self.name)
        self._was_up = True
        catalog.watch()
        self._tried(self, (time.monotonic() - began) * 1000, None)
        return client

    def _not_started(self, exc: DragomanError) -> DragomanError:
        """The error of a start: no call was sent, so it must not look like a call that perhaps ran."""
        if isinstance(exc, CallFailed):
            exc = ConnectFailed(f"{self.name} could not be used: {exc}", hint=exc.hint)
        exc.server = exc.server or self.name
        return exc

    def _started(self, task: asyncio.Task[Client]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # whoever awaited it has it; nobody else needs to be told

    def _listed(self, client: Client, tools: tuple[Tool, ...]) -> None:
        if len(tools) > self.spec.max_tools:
            log.warning("%s: lists %d tools, limit %d; the rest is set aside", self.name, len(tools), self.spec.max_tools)
            tools = tools[: self.spec.max_tools]
        self._told_listed(self, client, tools)

    async def stop(self) -> None:
        """Stop the server; it is not started again. Bounded; calls on their way to it end as lost or refused."""
        self.state = "stopped"
        starting = self._starting
        if starting is not None:
            starting.cancel()
            await asyncio.wait([starting], timeout=10.0)
        await self._drop_client()

    async def _drop_client(self) -> None:
        catalog, self.catalog = self.catalog, None
        client, self.client = self.client, None
        if catalog is not None:
            await catalog.close()
        if client is not None:
            await self._close(client)

    async def _close(self, client: Client) -> None:
        await client.close()
        if self.spec.when_down is not None:
            self.spec.when_down()
