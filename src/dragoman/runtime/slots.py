"""A place for one server in a host: what it is, how it is doing, what it last offered, and its client, which may come and go."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol

import msgspec

from dragoman.errors import ConnectFailed, DragomanError, NotAllowed
from dragoman.policy.rules import Rules
from dragoman.runtime.catalog import Catalog
from dragoman.runtime.client import Client
from dragoman.wire.flaw import Flaw
from dragoman.wire.listing import Tool

log = logging.getLogger("dragoman")

SlotState = Literal["disabled", "not approved", "configured", "starting", "ready", "failed", "stopped"]

RETRY_AFTER_S = 1.0


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a host needs to know about a server.

    Attributes:
        make_client: Makes a fresh, unopened client; gets the host's options (name, version, handlers, eras).
        rules: Its tiers.
        timeout_s: Deadline of a call; ``None`` is the client's default.
        result_bytes: Longest result a call may bring.
        max_tools: Tools beyond this many are set aside.
        held_back: Why it may not start (a project file nobody approved), with the command to run; ``None`` if it may.
    """

    name: str
    make_client: Callable[..., Client]
    rules: Rules
    timeout_s: float | None = None
    result_bytes: int = 1_000_000
    max_tools: int = 10_000
    enabled: bool = True
    held_back: str | None = None


class SlotObserver(Protocol):
    """Who wants to know how slots are doing."""

    def on_tools(self, slot: Slot, tools: tuple[Tool, ...]) -> None:
        """The server listed its tools, for the first time or anew."""
        ...

    async def on_health(self, slot: Slot, ok: bool, ms: float, error: str | None) -> None:
        """A connection was tried."""
        ...


class Slot:
    """One server of a host.

    Args:
        spec: What it is.
        options: For ``spec.make_client``.
        observer: Is told.
    """

    def __init__(self, spec: ServerSpec, options: dict[str, Any], observer: SlotObserver) -> None:
        self.spec = spec
        self.state: SlotState = "configured"
        if not spec.enabled:
            self.state = "disabled"
        elif spec.held_back is not None:
            self.state = "not approved"
        self.error: DragomanError | None = None
        self.client: Client | None = None
        self.catalog: Catalog | None = None
        self.flaws: tuple[Flaw, ...] = ()
        self.starts = 0
        self._options = options
        self._observer = observer
        self._starting: asyncio.Task[Client] | None = None
        self._failed_at = 0.0

    @property
    def name(self) -> str:
        """The configured name."""
        return self.spec.name

    async def connected(self) -> Client:
        """A client that is up, started or started again where needed; one start at a time, whoever asks.

        Raises:
            NotAllowed: Switched off, or not approved yet.
            TransportError, ProtocolError, CallFailed: It did not start.
        """
        client = self.client
        if client is not None and client.is_open:
            return client
        if self._starting is None:
            self._refuse_if_held_back()
            if self.error is not None and time.monotonic() - self._failed_at < RETRY_AFTER_S:
                raise self.error
            self._starting = asyncio.create_task(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    def _refuse_if_held_back(self) -> None:
        if not self.spec.enabled:
            raise NotAllowed(f"the server {self.name} is switched off", hint=f"dragoman enable {self.name}", server=self.name)
        if self.spec.held_back is not None:
            raise NotAllowed(self.spec.held_back, hint=f"on a terminal: dragoman enable {self.name}", server=self.name)
        if self.state == "stopped":
            raise NotAllowed(f"the host is closed; the server {self.name} is not started again", server=self.name)

    async def _start(self) -> Client:
        again = self.starts > 0
        self.starts += 1
        self.state = "starting"
        await self._drop_client()
        began = time.monotonic()
        client: Client | None = None
        try:
            client = self.spec.make_client(label=self.name, **self._options)
            await client.open()
            catalog = Catalog(client, self._listed)
            await catalog.refresh()
        except DragomanError as exc:
            if client is not None:
                await client.close()
            self.state, self.error, self._failed_at = "failed", exc, time.monotonic()
            exc.server = exc.server or self.name
            await self._observer.on_health(self, False, (time.monotonic() - began) * 1000, str(exc))
            raise
        except BaseException:
            if client is not None:
                await client.close()
            self.state = "stopped"
            raise
        self.client, self.catalog, self.error, self.state = client, catalog, None, "ready"
        self.flaws = catalog.problems
        if again:
            log.info("%s: restarted", self.name)
        catalog.watch()
        await self._observer.on_health(self, True, (time.monotonic() - began) * 1000, None)
        return client

    def _started(self, task: asyncio.Task[Client]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # whoever awaited it has it; nobody else needs to be told

    def _listed(self, tools: tuple[Tool, ...]) -> None:
        if len(tools) > self.spec.max_tools:
            log.warning("%s: lists %d tools, limit %d; the rest is set aside", self.name, len(tools), self.spec.max_tools)
            tools = tools[: self.spec.max_tools]
        self._observer.on_tools(self, tools)

    async def check(self, timeout_s: float) -> None:
        """Ask whether it answers; starts it where needed.

        Raises:
            DragomanError: It does not.
        """
        client = await self.connected()
        began = time.monotonic()
        try:
            await client.ping(timeout_s=timeout_s)
        except DragomanError as exc:
            await self._observer.on_health(self, False, (time.monotonic() - began) * 1000, str(exc))
            raise
        if not client.is_open:
            raise ConnectFailed(f"{self.name} is gone", server=self.name)

    async def stop(self) -> None:
        """Stop the server; it is not started again."""
        self.state = "stopped"
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting], timeout=10.0)
        await self._drop_client()

    async def _drop_client(self) -> None:
        if self.catalog is not None:
            await self.catalog.close()
            self.catalog = None
        if self.client is not None:
            await self.client.close()
            self.client = None
